// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @ranks(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{multiplies 'tensor<2x3xf32>' and 'tensor<3xf32>'; expected equal ranks of at least 2}}
  %c = sinter.matmul %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %c : tensor<2xf32>
}

// -----

func.func @elements(%a: tensor<2x3xf32>, %b: tensor<3x4xf64>) -> tensor<2x4xf32> {
  // expected-error@+1 {{has operand 1 of element type 'f64'; expected 'f32' as the first operand has}}
  %c = sinter.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf64>) -> tensor<2x4xf32>
  return %c : tensor<2x4xf32>
}

// -----

func.func @inner(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{multiplies 2x3 by 4x3 matrices; expected equal inner dimensions}}
  %c = sinter.matmul %a, %b {transpose_b} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return %c : tensor<2x3xf32>
}

// -----

func.func @batches(%a: tensor<5x2x3xf32>, %b: tensor<1x3x4xf32>) -> tensor<5x2x4xf32> {
  // expected-error@+1 {{multiplies batches [5] and [1]; expected equal leading dimensions}}
  %c = sinter.matmul %a, %b : (tensor<5x2x3xf32>, tensor<1x3x4xf32>) -> tensor<5x2x4xf32>
  return %c : tensor<5x2x4xf32>
}

// -----

func.func @result(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{has a result of shape [4, 2]; expected [2, 4]}}
  %c = sinter.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return %c : tensor<4x2xf32>
}

// -----

func.func @bias(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %bias: tensor<2xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{has a bias of shape [2]; expected [4]}}
  %c = sinter.matmul %a, %b bias %bias : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return %c : tensor<2x4xf32>
}

// -----

func.func @integer_activation(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) -> tensor<2x4xi32> {
  // expected-error@+1 {{applies gelu to 'i32'; expected a floating-point element type}}
  %c = sinter.matmul %a, %b activation gelu : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return %c : tensor<2x4xi32>
}

// -----

func.func @math(%a: tensor<2x3xf64>, %b: tensor<3x4xf64>) -> tensor<2x4xf64> {
  // expected-error@+1 {{has math mode tf32 for 'f64'; expected ieee, the other modes are for f32}}
  %c = sinter.matmul %a, %b math tf32 : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return %c : tensor<2x4xf64>
}

// -----

func.func @result_element(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{has a result of element type 'f64'; expected 'f32' as the first operand has}}
  %c = sinter.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf64>
  return
}

// -----

func.func @narrow_result_element(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>) {
  // expected-error@+1 {{has a result of element type 'f16'; expected 'bf16' as the first operand has, or 'f32'}}
  %c = sinter.matmul %a, %b : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf16>
  return
}

// -----

func.func @bias_element(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>, %bias: tensor<4xbf16>) {
  // expected-error@+1 {{has a bias of element type 'bf16'; expected 'f32' as the result has}}
  %c = sinter.matmul %a, %b bias %bias : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<2x4xf32>
  return
}

// -----

func.func @addend(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %d: tensor<4x2xf32>) {
  // expected-error@+1 {{has an addend of type 'tensor<4x2xf32>'; expected 'tensor<2x4xf32>' as the result has}}
  %c = sinter.matmul %a, %b addend %d : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @scale(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %s: tensor<1xf32>) {
  // expected-error@+1 {{has a scale of type 'tensor<1xf32>'; expected 'tensor<f32>'}}
  %c = sinter.matmul %a, %b scale %s : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @integer_scale(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>, %s: tensor<f32>) {
  // expected-error@+1 {{has a scale for a matmul of 'i32'; expected a floating-point element type}}
  %c = sinter.matmul %a, %b scale %s : (tensor<2x3xi32>, tensor<3x4xi32>, tensor<f32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @gradient_of_no_activation(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %x: tensor<2x4xf32>) {
  // expected-error@+1 {{has the gradient of no activation; expected an activation, or the op matmul}}
  %c = sinter.matmul_grad %a, %b preactivation %x activation none : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @preactivation_type(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>, %x: tensor<2x4xf32>) {
  // expected-error@+1 {{has a preactivation of type 'tensor<2x4xf32>'; expected 'tensor<2x4xbf16>' as the result has}}
  %c = sinter.matmul_grad %a, %b preactivation %x activation relu : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<2x4xf32>) -> tensor<2x4xbf16>
  return
}

// -----

func.func @image_rank(%x: tensor<3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<4x6x6xf32> {
  // expected-error@+1 {{has images of type 'tensor<3x8x8xf32>'; expected rank 4}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<4x6x6xf32>
  return %y : tensor<4x6x6xf32>
}

// -----

func.func @strides(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error@+1 {{has strides [1, 0]; expected 2 numbers [height, width] from 1 to 2147483647}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 0>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @padding(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error@+1 {{has padding [1, 1]; expected 4 numbers [top, bottom, left, right] from 0 to 2147483647}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @groups(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error@+1 {{has 2 groups for 3 input and 4 output channels; expected a number of groups that divides both}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @channels(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error@+1 {{has weights [4, 4, 3, 3] for images of 4 channels in 2 groups; expected 2 input channels, the second dimension}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64}
    : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @empty_window(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x0x3xf32>) -> tensor<1x4x8x6xf32> {
  // expected-error@+1 {{has weights [4, 3, 0, 3]; expected a window of at least 1x1}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8xf32>, tensor<4x3x0x3xf32>) -> tensor<1x4x8x6xf32>
  return %y : tensor<1x4x8x6xf32>
}

// -----

func.func @does_not_fit(%x: tensor<1x3x4x4xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x1x1xf32> {
  // expected-error@+1 {{has a window 3x3 with dilations [2, 2] that does not fit into images of 4x4 with padding [0, 0, 0, 0]}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 2, 2>, groups = 1 : i64}
    : (tensor<1x3x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x1x1xf32>
  return %y : tensor<1x4x1x1xf32>
}

// -----

// The windows skip the last row and column: floor((8 - 3) / 2) + 1 = 3.
func.func @outputs(%x: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32> {
  // expected-error@+1 {{relates images [1, 8, 8, 3] and weights [4, 3, 3, 3] to outputs [1, 4, 4, 4]; expected outputs [1, 3, 3, 4]}}
  %y = sinter.conv2d %x, %w layout nhwc {strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  return %y : tensor<1x4x4x4xf32>
}

// -----

func.func @conv_bias(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error@+1 {{has a bias of shape [3]; expected [4]}}
  %y = sinter.conv2d %x, %w bias %b {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @gradient_activation(%g: tensor<1x4x6x6xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x3x8x8xf32> {
  // expected-error@+1 {{has an activation; expected none on a gradient}}
  %y = sinter.conv2d_input_grad %g, %w {activation = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x4x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  return %y : tensor<1x3x8x8xf32>
}

// -----

func.func @pool_padding(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x5x4xf32> {
  // expected-error@+1 {{has padding [2, 0, 0, 0] for a window of [2, 2]; expected padding smaller than the window}}
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 2, 0, 0, 0>}
    : tensor<1x3x8x8xf32> -> tensor<1x3x5x4xf32>
  return %y : tensor<1x3x5x4xf32>
}

// -----

func.func @pool_outputs(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  // expected-error@+1 {{relates images [1, 3, 8, 8] to outputs [1, 3, 8, 8]; expected outputs [1, 3, 4, 4]}}
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x3x8x8xf32> -> tensor<1x3x8x8xf32>
  return %y : tensor<1x3x8x8xf32>
}

// -----

func.func @pool_does_not_fit(%x: tensor<1x3x2x8xf32>) -> tensor<1x3x1x4xf32> {
  // expected-error@+1 {{has a window [3, 2] that does not fit into images of 2x8 with padding [0, 0, 0, 0]}}
  %y = sinter.avg_pool2d %x {window = array<i64: 3, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x3x2x8xf32> -> tensor<1x3x1x4xf32>
  return %y : tensor<1x3x1x4xf32>
}

// -----

func.func @pool_elements(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf64> {
  // expected-error@+1 {{relates images of 'f32' to outputs of 'f64'; expected one element type}}
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x3x8x8xf32> -> tensor<1x3x4x4xf64>
  return %y : tensor<1x3x4x4xf64>
}

// -----

// A position is stored in 8 bits.
func.func @pool_positions(%x: tensor<1x1x32x32xf32>) -> tensor<1x1x1x1xf32> {
  // expected-error@+1 {{has a window of [17, 17]; expected at most 256 elements}}
  %y, %p = sinter.max_pool2d %x {window = array<i64: 17, 17>, strides = array<i64: 17, 17>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x1x32x32xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1x1xui8>
  return %y : tensor<1x1x1x1xf32>
}

// -----

func.func @pool_position_shape(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error@+1 {{has positions of shape [1, 1, 4, 4]; expected [1, 1, 2, 2]}}
  %y, %p = sinter.max_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x4x4xui8>
  return %y : tensor<1x1x2x2xf32>
}

// -----

func.func @unblocked_images(%x: tensor<16x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x6x6x16xf32> {
  // expected-error@+1 {{has images of type 'tensor<16x4x8x8xf32>'; expected rank 5}}
  %0 = sinter.conv2d %x, %w layout nchw16n {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<16x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6x16xf32>
  return %0 : tensor<1x6x6x6x16xf32>
}

// -----

func.func @wrong_block(%x: tensor<2x4x8x8x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<2x6x6x6x8xf32> {
  // expected-error@+1 {{has images of type 'tensor<2x4x8x8x8xf32>' in layout nchw16n; expected f32 and a last dimension of 16}}
  %0 = sinter.conv2d %x, %w layout nchw16n {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6x8xf32>
  return %0 : tensor<2x6x6x6x8xf32>
}

// -----

func.func @blocked_activation(%x: tensor<1x4x8x8x16xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x6x6x16xf32> {
  // expected-error@+1 {{applies gelu in layout nchw16n; expected relu or none}}
  %0 = sinter.conv2d %x, %w activation gelu layout nchw16n {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x4x8x8x16xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6x16xf32>
  return %0 : tensor<1x6x6x6x16xf32>
}

// -----

func.func @blocked_output(%x: tensor<2x4x8x8x16xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x6x6x16xf32> {
  // expected-error@+1 {{relates images [2, 4, 8, 8, 16] and weights [6, 4, 3, 3] to outputs [1, 6, 6, 6, 16]; expected outputs [2, 6, 6, 6, 16]}}
  %0 = sinter.conv2d %x, %w layout nchw16n {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8x16xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6x16xf32>
  return %0 : tensor<1x6x6x6x16xf32>
}

// -----

func.func @blocked_elements(%x: tensor<2x4x8x8x16xbf16>, %w: tensor<6x4x3x3xbf16>) -> tensor<2x6x6x6x16xbf16> {
  // expected-error@+1 {{has images of type 'tensor<2x4x8x8x16xbf16>' in layout nchw16n; expected f32 and a last dimension of 16}}
  %0 = sinter.conv2d %x, %w layout nchw16n {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8x16xbf16>, tensor<6x4x3x3xbf16>) -> tensor<2x6x6x6x16xbf16>
  return %0 : tensor<2x6x6x6x16xbf16>
}

// -----

func.func @large_images(%x: tensor<1x1x1x2147483648xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x1x2147483648xf32> {
  // expected-error@+1 {{has images of type 'tensor<1x1x1x2147483648xf32>'; expected dimensions up to 2147483647}}
  %0 = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x1x2147483648xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x2147483648xf32>
  return %0 : tensor<1x1x1x2147483648xf32>
}

// -----

func.func @large_strides(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32> {
  // expected-error@+1 {{has strides [1, 2147483648]; expected 2 numbers [height, width] from 1 to 2147483647}}
  %0 = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 1, 2147483648>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x1x4x4xf32> -> tensor<1x1x1x1xf32>
  return %0 : tensor<1x1x1x1xf32>
}

// -----

func.func @wide_result_of_i32(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) {
  // expected-error@+1 {{has a result of element type 'i64'; expected 'i32' as the first operand has}}
  %c = sinter.matmul %a, %b : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi64>
  return
}

// -----

func.func @wide_result_of_i8(%a: tensor<2x3xi8>, %b: tensor<3x4xi8>) {
  // expected-error@+1 {{has a result of element type 'i16'; expected 'i8' as the first operand has, or 'i32'}}
  %c = sinter.matmul %a, %b : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi16>
  return
}

// -----

func.func @quantized_rank(%a: tensor<64xf32>, %w: tensor<4x64xi8>, %s: tensor<4x1xf32>) {
  // expected-error@+1 {{takes 'tensor<64xf32>', 'tensor<4x64xi8>' and scales 'tensor<4x1xf32>'; expected rank 2}}
  %c = sinter.quantized_matmul %a, %w scale %s : (tensor<64xf32>, tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @quantized_pairs(%a: tensor<2x40xf32>, %w: tensor<4x20xui8>, %s: tensor<4x1xf32>) {
  // expected-error@+1 {{has rows of 40 numbers of four bits; expected a multiple of 32}}
  %c = sinter.quantized_matmul %a, %w scale %s : (tensor<2x40xf32>, tensor<4x20xui8>, tensor<4x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @quantized_bytes(%a: tensor<2x64xf32>, %w: tensor<4x64xui8>, %s: tensor<4x1xf32>) {
  // expected-error@+1 {{has rows of 64 bytes for 64 columns of x; expected 32}}
  %c = sinter.quantized_matmul %a, %w scale %s : (tensor<2x64xf32>, tensor<4x64xui8>, tensor<4x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @quantized_scales(%a: tensor<2x64xf32>, %w: tensor<4x64xi8>, %s: tensor<4x4xf32>) {
  // expected-error@+1 {{has scales [4, 4] for 4 rows of 64; expected 4x1, or a row of scales of which each is for a multiple of 32 elements}}
  %c = sinter.quantized_matmul %a, %w scale %s : (tensor<2x64xf32>, tensor<4x64xi8>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @quantized_result(%a: tensor<2x64xf32>, %w: tensor<4x64xi8>, %s: tensor<4x1xf32>) {
  // expected-error@+1 {{has a result of shape [4, 2]; expected [2, 4]}}
  %c = sinter.quantized_matmul %a, %w scale %s : (tensor<2x64xf32>, tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @quantized_element(%a: tensor<2x64xf32>, %w: tensor<4x64xi8>, %s: tensor<4x1xf32>) {
  // expected-error@+1 {{failed to verify that all of {x, result} have same element type}}
  %c = sinter.quantized_matmul %a, %w scale %s : (tensor<2x64xf32>, tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<2x4xbf16>
  return
}

// -----

func.func @scaled_matmul_rows(%a: tensor<3x16xf8E4M3FN>, %b: tensor<5x32xf8E4M3FN>, %s: tensor<f32>) -> tensor<3x5xbf16> {
  // expected-error@+1 {{'sinter.scaled_matmul' op multiplies 'tensor<3x16xf8E4M3FN>' and 'tensor<5x32xf8E4M3FN>'; expected rank 2 and rows of equal lengths}}
  %y = sinter.scaled_matmul %a, %b scales %s, %s : (tensor<3x16xf8E4M3FN>, tensor<5x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}

// -----

func.func @scaled_matmul_scales(%a: tensor<3x16xf8E4M3FN>, %b: tensor<5x16xf8E4M3FN>, %s: tensor<f32>, %t: tensor<5xf32>) -> tensor<3x5xbf16> {
  // expected-error@+1 {{'sinter.scaled_matmul' op has scales of type 'tensor<f32>' and 'tensor<5xf32>'; expected rank 0 for both, or [3] and [5]}}
  %y = sinter.scaled_matmul %a, %b scales %s, %t : (tensor<3x16xf8E4M3FN>, tensor<5x16xf8E4M3FN>, tensor<f32>, tensor<5xf32>) -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}

// -----

func.func @scaled_matmul_result(%a: tensor<3x16xf8E4M3FN>, %b: tensor<5x16xf8E4M3FN>, %s: tensor<f32>) -> tensor<5x3xbf16> {
  // expected-error@+1 {{'sinter.scaled_matmul' op has a result of shape [5, 3]; expected [3, 5]}}
  %y = sinter.scaled_matmul %a, %b scales %s, %s : (tensor<3x16xf8E4M3FN>, tensor<5x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<5x3xbf16>
  return %y : tensor<5x3xbf16>
}

// -----

func.func @float8_matmul_rank(%a: tensor<2x3x16xbf16>, %b: tensor<2x16x5xbf16>) -> tensor<2x3x5xbf16> {
  // expected-error@+1 {{'sinter.float8_matmul' op multiplies 'tensor<2x3x16xbf16>' and 'tensor<2x16x5xbf16>'; expected rank 2}}
  %y = sinter.float8_matmul %a, %b recipe tensorwise : (tensor<2x3x16xbf16>, tensor<2x16x5xbf16>) -> tensor<2x3x5xbf16>
  return %y : tensor<2x3x5xbf16>
}

// -----

func.func @float8_matmul_inner(%a: tensor<3x16xbf16>, %b: tensor<5x16xbf16>) -> tensor<3x5xbf16> {
  // expected-error@+1 {{'sinter.float8_matmul' op multiplies 'tensor<3x16xbf16>' and 'tensor<5x16xbf16>'; expected equal inner dimensions}}
  %y = sinter.float8_matmul %a, %b recipe tensorwise : (tensor<3x16xbf16>, tensor<5x16xbf16>) -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}

// -----

func.func @float8_matmul_gradient(%a: tensor<3x16xbf16>, %b: tensor<16x5xbf16>) -> tensor<3x5xbf16> {
  // expected-error@+1 {{'sinter.float8_matmul' op has gradient 2; expected the number of an operand, 0 or 1, or -1 for none}}
  %y = sinter.float8_matmul %a, %b recipe tensorwise {gradient = 2 : i64} : (tensor<3x16xbf16>, tensor<16x5xbf16>) -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}
