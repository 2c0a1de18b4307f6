// RUN: sinter-opt %s -split-input-file -verify-diagnostics

func.func @dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.sum' op has dimension 2, but 'tensor<2x3xf32>' has rank 2}}
  %0 = sinter.sum %x [2] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.prod' op names dimension 1 twice}}
  %0 = sinter.prod %x [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.max' op names dimension 0 after 1: the order is ascending}}
  %0 = sinter.max %x [1, 0] : tensor<2x3xf32> -> tensor<f32>
  return
}

// -----

func.func @result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.min' op of 'tensor<2x3xf32>' gives 'tensor<3xf32>', not 'tensor<1x3xf32>'}}
  %0 = sinter.min %x [0] : tensor<2x3xf32> -> tensor<1x3xf32>
  return
}

// -----

func.func @not_bool(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{operand #0 must be a static tensor of rank 0 to 8 of i1}}
  %0 = sinter.any %x [0] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @all_result(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{'sinter.all' op of 'tensor<2x3xi1>' gives 'tensor<3xi1>', not 'tensor<2xi1>'}}
  %0 = sinter.all %x [0] : tensor<2x3xi1> -> tensor<2xi1>
  return
}

// -----

func.func @arg_dim(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.argmax' op has dimension -1, but 'tensor<2x3xf32>' has rank 2}}
  %0 = sinter.argmax %x dim -1 : tensor<2x3xf32> -> tensor<2xi64>
  return
}

// -----

func.func @arg_empty(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{'sinter.argmin' op along dimension 1 of 'tensor<2x0xf32>', which has no elements}}
  %0 = sinter.argmin %x dim 1 : tensor<2x0xf32> -> tensor<2xi64>
  return
}

// -----

func.func @arg_result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.argmax' op of 'tensor<2x3xf32>' gives 'tensor<2xi32>', not 'tensor<3xi32>'}}
  %0 = sinter.argmax %x dim 1 : tensor<2x3xf32> -> tensor<3xi32>
  return
}

// -----

func.func @mean(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.mean' op of 'tensor<2x3xf32>' gives 'tensor<2xf32>', not 'tensor<2xf64>'}}
  %0 = sinter.mean %x [1] : tensor<2x3xf32> -> tensor<2xf64>
  return
}

// -----

func.func @logsumexp(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.logsumexp' op has dimension 5, but 'tensor<2x3xf32>' has rank 2}}
  %0 = sinter.logsumexp %x [5] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @norm(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.norm' op names dimension 0 twice}}
  %0 = sinter.norm %x [0, 0] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @cumsum(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.cumsum' op has dimension 2, but 'tensor<2x3xf32>' has rank 2}}
  %0 = sinter.cumsum %x dim 2 : tensor<2x3xf32>
  return
}

// -----

func.func @top_k(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.top_k' op takes the 4 largest of 3 elements; expected 1 to as many, of fewer than 2^31}}
  %0, %1 = sinter.top_k %x k 4 : tensor<2x3xf32> -> tensor<2x4xf32>, tensor<2x4xi32>
  return
}

// -----

func.func @top_k(%x: tensor<f32>) {
  // expected-error @+1 {{'sinter.top_k' op takes elements of 'tensor<f32>'; expected rank 1 or more}}
  %0, %1 = sinter.top_k %x k 1 : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

func.func @top_k(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.top_k' op has results 'tensor<2x2xf32>' and 'tensor<2x1xi32>'; expected the operand's type and i32, with a last dimension of 2}}
  %0, %1 = sinter.top_k %x k 2 : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x1xi32>
  return
}

// -----

func.func @sort(%x: tensor<f32>) {
  // expected-error @+1 {{'sinter.sort' op sorts elements of 'tensor<f32>'; expected rank 1 or more}}
  %0, %1 = sinter.sort %x : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

func.func @sort(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'sinter.sort' op has results 'tensor<2x2xf32>' and 'tensor<2x3xi32>'; expected the operand's type, and i32 of its shape}}
  %0, %1 = sinter.sort %x : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x3xi32>
  return
}
