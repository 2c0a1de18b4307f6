// RUN: sinter-opt %s --split-input-file --sinter-differentiate --verify-diagnostics

func.func @no_gradient(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %m, %p = sinter.max_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>
  // expected-error@+1 {{'sinter.max_pool2d_grad' op has no gradient; use StopGradient if that is intended}}
  %back = sinter.max_pool2d_grad %m, %p {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8> -> tensor<1x1x4x4xf32>
  %loss = sinter.sum %back [0, 1, 2, 3] : tensor<1x1x4x4xf32> -> tensor<f32>
  // expected-note@+1 {{the gradient is wanted here}}
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %g : tensor<1x1x4x4xf32>
}

// -----

func.func @activation_inside(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'sinter.matmul' op applies gelu to its result and has no gradient; expected the activation as an op of its own}}
  %c = sinter.matmul %a, %b activation gelu : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %loss = sinter.sum %c [0, 1] : tensor<2x4xf32> -> tensor<f32>
  // expected-note@+1 {{the gradient is wanted here}}
  %g = sinter.gradients %loss wrt %a : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %g : tensor<2x3xf32>
}

// -----

func.func @kernel_without_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'sinter.elementwise_kernel' op "twice" has no gradient; give the kernel one, ElementwiseOptions::gradient, or use StopGradient if that is intended}}
  %z = sinter.elementwise_kernel "twice"(%x) {parameters = ["x", "z"], raw = array<i1: false, false>, n = 4 : i64,
    body = "z = 2 * x"} : (tensor<4xf32>) -> tensor<4xf32>
  %loss = sinter.sum %z [0] : tensor<4xf32> -> tensor<f32>
  // expected-note@+1 {{the gradient is wanted here}}
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>
func.func @largest(%x: tensor<2xf32> {sinter.device = #d0}, %y: tensor<2xf32> {sinter.device = #d1}) -> tensor<2xf32> {
  // expected-error@+1 {{'sinter.all_reduce' op combines by max and has no gradient; expected sum or mean, or use StopGradient if that is intended}}
  %a = sinter.all_reduce max %x over [#d0, #d1] channel 0 {sinter.device = #d0} : (tensor<2xf32>) -> tensor<2xf32>
  %b = sinter.all_reduce max %y over [#d0, #d1] channel 0 {sinter.device = #d1} : (tensor<2xf32>) -> tensor<2xf32>
  %loss = sinter.sum %a [0] {sinter.device = #d0} : tensor<2xf32> -> tensor<f32>
  // expected-note@+1 {{the gradient is wanted here}}
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}

// -----

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>
func.func @apart(%x: tensor<2xf32> {sinter.device = #d0}, %y: tensor<2xf32> {sinter.device = #d1}) -> tensor<2xf32> {
  // expected-error@+1 {{'sinter.all_reduce' op has no gradient, because its members do not lie next to each other}}
  %a = sinter.all_reduce sum %x over [#d0, #d1] channel 0 {sinter.device = #d0} : (tensor<2xf32>) -> tensor<2xf32>
  %loss = sinter.sum %a [0] {sinter.device = #d0} : tensor<2xf32> -> tensor<f32>
  %b = sinter.all_reduce sum %y over [#d0, #d1] channel 0 {sinter.device = #d1} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-note@+1 {{the gradient is wanted here}}
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}

// -----

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>
func.func @sent(%x: tensor<2xf32> {sinter.device = #d0}) -> tensor<2xf32> {
  // expected-error@+1 {{'sinter.send' op has no gradient; expected a copy, or use StopGradient if that is intended}}
  sinter.send %x over [#d0, #d1] channel 0 {sinter.device = #d0} : tensor<2xf32>
  %y = sinter.recv over [#d0, #d1] channel 0 {sinter.device = #d1} : tensor<2xf32>
  %loss = sinter.sum %y [0] {sinter.device = #d1} : tensor<2xf32> -> tensor<f32>
  // expected-note@+1 {{the gradient is wanted here}}
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}
