// RUN: sinter-opt %s --split-input-file --sinter-assign-layouts --canonicalize --cse | FileCheck %s
// RUN: sinter-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(sinter-assign-layouts{layout=nchw16n}))" -verify-diagnostics -o /dev/null

// Bias, relu, the sums over the images and the bias gradient stay in blocks of 16. One transpose converts the
// input, and one converts back at the flattening.
// CHECK-LABEL: func.func @network
// CHECK-SAME: (%[[X:.*]]: tensor<32x1x8x8xf32>, %[[W:.*]]: tensor<4x1x3x3xf32>, %{{.*}}: tensor<4xf32>)
// CHECK: %[[CUT:.*]] = sinter.reshape %[[X]] : tensor<32x1x8x8xf32> -> tensor<2x16x1x8x8xf32>
// CHECK: %[[IN:.*]] = sinter.transpose %[[CUT]] [0, 2, 3, 4, 1]
// CHECK-NOT: sinter.transpose
// CHECK: sinter.conv2d %[[IN]], %[[W]] layout nchw16n {{.*}} -> tensor<2x4x8x8x16xf32>
// CHECK: sinter.broadcast %{{.*}} [1] : tensor<4xf32> -> tensor<2x4x8x8x16xf32>
// CHECK: sinter.sum %{{.*}} [0, 2, 3, 4] : tensor<2x4x8x8x16xf32> -> tensor<4xf32>
// CHECK: sinter.max_pool2d %{{.*}} layout nchw16n {{.*}} -> tensor<2x4x4x4x16xf32>, tensor<2x4x4x4x16xui8>
// CHECK: sinter.transpose %{{.*}} [0, 4, 1, 2, 3] : tensor<2x4x4x4x16xf32>
// CHECK-NEXT: sinter.reshape %{{.*}} -> tensor<32x64xf32>
func.func @network(%x: tensor<32x1x8x8xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<4xf32>) -> (tensor<32x64xf32>, tensor<4xf32>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<32x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<32x4x8x8xf32>
  %bb = sinter.broadcast %b [1] : tensor<4xf32> -> tensor<32x4x8x8xf32>
  %yb = sinter.add %y, %bb : tensor<32x4x8x8xf32>
  %zero = sinter.constant dense<0.0> : tensor<32x4x8x8xf32>
  %r = sinter.maximum %yb, %zero : tensor<32x4x8x8xf32>
  %s = sinter.sum %r [0, 2, 3] : tensor<32x4x8x8xf32> -> tensor<4xf32>
  %m, %p = sinter.max_pool2d %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<32x4x8x8xf32> -> tensor<32x4x4x4xf32>, tensor<32x4x4x4xui8>
  %f = sinter.reshape %m : tensor<32x4x4x4xf32> -> tensor<32x64xf32>
  return %f, %s : tensor<32x64xf32>, tensor<4xf32>
}

// -----

// Gradients: weights keep their order.
// CHECK-LABEL: func.func @gradients
// CHECK-DAG: %[[DX:.*]] = sinter.conv2d_input_grad %{{.*}}, %{{.*}} layout nchw16n {{.*}} : (tensor<1x4x6x6x16xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x8x8x16xf32>
// CHECK-DAG: %[[DW:.*]] = sinter.conv2d_weight_grad %{{.*}}, %{{.*}} layout nchw16n {{.*}} : (tensor<1x3x8x8x16xf32>, tensor<1x4x6x6x16xf32>) -> tensor<4x3x3x3xf32>
// CHECK-DAG: %[[BACK:.*]] = sinter.transpose %[[DX]] [0, 4, 1, 2, 3]
// CHECK-DAG: %[[USER:.*]] = sinter.reshape %[[BACK]] {{.*}} -> tensor<16x3x8x8xf32>
// CHECK: return %[[USER]], %[[DW]]
func.func @gradients(%x: tensor<16x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %g: tensor<16x4x6x6xf32>) -> (tensor<16x3x8x8xf32>, tensor<4x3x3x3xf32>) {
  %dx = sinter.conv2d_input_grad %g, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x4x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<16x3x8x8xf32>
  %dw = sinter.conv2d_weight_grad %x, %g {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x3x8x8xf32>, tensor<16x4x6x6xf32>) -> tensor<4x3x3x3xf32>
  return %dx, %dw : tensor<16x3x8x8xf32>, tensor<4x3x3x3xf32>
}

// -----

// Ops that move data along other dimensions follow the new layout. An op that cuts the batch gets the user's
// layout. A batch dimension that survives a reduction, or is broadcast, is split and then merged again.
// CHECK-LABEL: func.func @moves
// CHECK-DAG: sinter.conv2d {{.*}} -> tensor<2x2x4x4x16xf32>
// CHECK-DAG: sinter.pad {{.*}} low [0, 0, 1, 0, 0] high [0, 0, 0, 2, 0] {{.*}} -> tensor<2x2x5x6x16xf32>
// CHECK-DAG: sinter.slice {{.*}} [0, 0, 1, 0, 0] [2, 2, 5, 4, 16] [1, 1, 1, 1, 1]
// CHECK-DAG: sinter.reverse {{.*}} [2]
// CHECK-DAG: sinter.sum {{.*}} [2, 3] : tensor<2x2x4x4x16xf32> -> tensor<2x2x16xf32>
// CHECK-DAG: sinter.broadcast {{.*}} [0, 1, 4] : tensor<2x2x16xf32> -> tensor<2x2x4x4x16xf32>
// CHECK-DAG: sinter.slice {{.*}} [1, 0, 0, 0] [32, 2, 4, 4] [1, 1, 1, 1]
// CHECK-DAG: sinter.argmax {{.*}} dim 1 : tensor<2x2x4x4x16xf32> -> tensor<2x4x4x16xi64>
// CHECK-DAG: sinter.argmax {{.*}} dim 0 : tensor<32x2x4x4xf32> -> tensor<2x4x4xi64>
func.func @moves(%x: tensor<32x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> (tensor<31x2x4x4xf32>, tensor<32x4x4xi64>, tensor<2x4x4xi64>) {
  %a = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<32x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<32x2x4x4xf32>
  %p = sinter.pad %a value 0.0 low [0, 0, 1, 0] high [0, 0, 0, 2] interior [0, 0, 0, 0] : tensor<32x2x4x4xf32> -> tensor<32x2x5x6xf32>
  %s = sinter.slice %p [0, 0, 1, 0] [32, 2, 5, 4] [1, 1, 1, 1] : tensor<32x2x5x6xf32> -> tensor<32x2x4x4xf32>
  %r = sinter.reverse %s [2] : tensor<32x2x4x4xf32>
  %sum = sinter.sum %r [2, 3] : tensor<32x2x4x4xf32> -> tensor<32x2xf32>
  %back = sinter.broadcast %sum [0, 1] : tensor<32x2xf32> -> tensor<32x2x4x4xf32>
  %y = sinter.mul %r, %back : tensor<32x2x4x4xf32>
  %cut = sinter.slice %y [1, 0, 0, 0] [32, 2, 4, 4] [1, 1, 1, 1] : tensor<32x2x4x4xf32> -> tensor<31x2x4x4xf32>
  %channel = sinter.argmax %y dim 1 : tensor<32x2x4x4xf32> -> tensor<32x4x4xi64>
  %image = sinter.argmax %y dim 0 : tensor<32x2x4x4xf32> -> tensor<2x4x4xi64>
  return %cut, %channel, %image : tensor<31x2x4x4xf32>, tensor<32x4x4xi64>, tensor<2x4x4xi64>
}

// -----

// CHECK-LABEL: func.func @small_batch
// CHECK: sinter.conv2d {{.*}} layout nhwc
func.func @small_batch(%x: tensor<20x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<20x2x4x4xf32> {
  // expected-error @+1 {{cannot be in layout nchw16n: its batch is 20, not a multiple of 16; choose auto or nhwc}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<20x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<20x2x4x4xf32>
  return %y : tensor<20x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @half_precision
// CHECK: sinter.conv2d {{.*}} layout nhwc
func.func @half_precision(%x: tensor<16x2x4x4xbf16>, %w: tensor<2x2x1x1xbf16>) -> tensor<16x2x4x4xbf16> {
  // expected-error @+1 {{cannot be in layout nchw16n: its images are not of f32; choose auto or nhwc}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x2x4x4xbf16>, tensor<2x2x1x1xbf16>) -> tensor<16x2x4x4xbf16>
  return %y : tensor<16x2x4x4xbf16>
}

// -----

// CHECK-LABEL: func.func @large_weights
// CHECK: sinter.conv2d {{.*}} layout nhwc
func.func @large_weights(%x: tensor<16x256x4x4xf32>, %w: tensor<256x256x3x3xf32>) -> tensor<16x256x2x2xf32> {
  // expected-error @+1 {{cannot be in layout nchw16n: its weights are larger than 1 MiB; choose auto or nhwc}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x256x4x4xf32>, tensor<256x256x3x3xf32>) -> tensor<16x256x2x2xf32>
  return %y : tensor<16x256x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @groups
// CHECK: sinter.conv2d {{.*}} layout nhwc
func.func @groups(%x: tensor<16x2x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<16x2x4x4xf32> {
  // expected-error @+1 {{cannot be in layout nchw16n: it has groups; choose auto or nhwc}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64}
    : (tensor<16x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<16x2x4x4xf32>
  return %y : tensor<16x2x4x4xf32>
}

// -----

// A pool alone does not repay the transposes.
// CHECK-LABEL: func.func @pool
// CHECK: sinter.avg_pool2d {{.*}} layout nhwc
func.func @pool(%x: tensor<16x2x4x4xf32>) -> tensor<16x2x2x2xf32> {
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<16x2x4x4xf32> -> tensor<16x2x2x2xf32>
  return %y : tensor<16x2x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @no_images
// CHECK: sinter.conv2d {{.*}} layout nhwc
func.func @no_images(%x: tensor<0x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<0x2x4x4xf32> {
  // expected-error @+1 {{cannot be in layout nchw16n: its images are empty; choose auto or nhwc}}
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<0x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<0x2x4x4xf32>
  return %y : tensor<0x2x4x4xf32>
}
