// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @dimension(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{has dimension 2, but 'tensor<4x8xf32>' has rank 2}}
  %r = sinter.softmax %x dim 2 : tensor<4x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

func.func @result(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{has a result of type 'tensor<8x4xf32>'; expected 'tensor<4x8xf32>'}}
  %r = sinter.log_softmax %x dim 1 : tensor<4x8xf32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

func.func @labels(%x: tensor<4x8xf32>, %labels: tensor<8xi64>) -> tensor<f32> {
  // expected-error@+1 {{has logits of type 'tensor<4x8xf32>' and labels of type 'tensor<8xi64>'; expected logits [..., classes] and labels [...]}}
  %r = sinter.softmax_cross_entropy mean %x, %labels : tensor<4x8xf32>, tensor<8xi64> -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @reduction(%x: tensor<4x8xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  // expected-error@+1 {{has a result of type 'tensor<f32>'; expected 'tensor<4xf32>'}}
  %r = sinter.softmax_cross_entropy none %x, %labels : tensor<4x8xf32>, tensor<4xi64> -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @norm_rank(%x: tensor<f32>, %c: tensor<1xf32>) -> tensor<f32> {
  // expected-error@+1 {{normalises 'tensor<f32>'; expected rank 1 or more}}
  %r = sinter.rms_norm %x, %c {epsilon = 1.0e-5 : f64} : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @norm_offset(%x: tensor<4x8xf32>, %c: tensor<8xf32>, %d: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{has offset of type 'tensor<4xf32>'; expected 'tensor<8xf32>'}}
  %r = sinter.layer_norm %x, %c, %d {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

func.func @epsilon(%x: tensor<4x8xf32>, %c: tensor<8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{has epsilon -1.000000e+00; expected a finite number of at least 0}}
  %r = sinter.rms_norm %x, %c {epsilon = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

func.func @probability(%x: tensor<16xf32>, %s: tensor<i64>) -> tensor<16xf32> {
  // expected-error@+1 {{drops with probability 1.000000e+00; expected one in [0, 1)}}
  %y = sinter.dropout %x, %s, %s stream 7 {probability = 1.0 : f64} : tensor<16xf32>, tensor<i64>, tensor<i64> -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

func.func @seed(%x: tensor<16xf32>, %s: tensor<1xi64>, %t: tensor<i64>) -> tensor<16xf32> {
  // expected-error@+1 {{has a seed of type 'tensor<1xi64>' and a step of type 'tensor<i64>'; expected rank 0}}
  %y = sinter.dropout %x, %s, %t stream 7 {probability = 0.5 : f64} : tensor<16xf32>, tensor<1xi64>, tensor<i64> -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

func.func @target(%x: tensor<4xf32>, %t: tensor<4xf64>) -> tensor<f32> {
  // expected-error@+1 {{has a target of type 'tensor<4xf64>'; expected 'tensor<4xf32>'}}
  %r = sinter.mse_loss mean %x, %t : (tensor<4xf32>, tensor<4xf64>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @delta(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error@+1 {{has delta 0.000000e+00; expected a finite number above 0}}
  %r = sinter.huber_loss mean %x, %x {delta = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %r : tensor<f32>
}
