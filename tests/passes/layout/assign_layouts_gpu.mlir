// Image layouts on a GPU: 16-bit convolutions are channels-last, for the matrix units. Others take the layout
// that needs the least transposes.
// RUN: sinter-opt %s --device=gpu:0 --sinter-assign-layouts --canonicalize --cse | FileCheck %s
// RUN: not sinter-opt %s --device=gpu:0 --pass-pipeline="builtin.module(func.func(sinter-assign-layouts{layout=nchw16n}))" 2>&1 | FileCheck %s --check-prefix=BLOCKS

// BLOCKS: 'sinter.conv2d' op cannot be in layout nchw16n: it runs on a GPU; choose auto or nhwc

// CHECK-LABEL: func.func @f32
// CHECK-NOT: transpose
// CHECK-NOT: nhwc
// CHECK: return
func.func @f32(%x: tensor<16x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<16x4x6x6xf32> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<16x4x6x6xf32>
  return %y : tensor<16x4x6x6xf32>
}

// CHECK-LABEL: func.func @bf16
// CHECK: sinter.transpose %{{.*}} [0, 2, 3, 1]
// CHECK: sinter.conv2d %{{.*}} layout nhwc {{.*}} -> tensor<64x56x56x64xbf16>
// CHECK: sinter.transpose %{{.*}} [0, 3, 1, 2]
func.func @bf16(%x: tensor<64x64x58x58xbf16>, %w: tensor<64x64x3x3xbf16>) -> tensor<64x64x56x56xbf16> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<64x64x58x58xbf16>, tensor<64x64x3x3xbf16>) -> tensor<64x64x56x56xbf16>
  return %y : tensor<64x64x56x56xbf16>
}

// A small one has a kernel in both layouts, and needs no transposes.
// CHECK-LABEL: func.func @small_bf16
// CHECK-NOT: transpose
// CHECK-NOT: nhwc
// CHECK: return
func.func @small_bf16(%x: tensor<16x3x8x8xbf16>, %w: tensor<4x3x3x3xbf16>) -> tensor<16x4x6x6xbf16> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x3x8x8xbf16>, tensor<4x3x3x3xbf16>) -> tensor<16x4x6x6xbf16>
  return %y : tensor<16x4x6x6xbf16>
}

// A pool alone keeps its layout: the transposes would take longer than what they gain.
// CHECK-LABEL: func.func @pool
// CHECK-NOT: nhwc
// CHECK: return
func.func @pool(%x: tensor<2x3x8x8xf16>) -> tensor<2x3x4x4xf16> {
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<2x3x8x8xf16> -> tensor<2x3x4x4xf16>
  return %y : tensor<2x3x4x4xf16>
}

// A pool between transposes of images with channels last needs none of them, in any type.
// CHECK-LABEL: func.func @pool_of_channels_last
// CHECK-NOT: transpose
// CHECK: sinter.max_pool2d %{{.*}} layout nhwc
// CHECK-NOT: transpose
// CHECK: return
func.func @pool_of_channels_last(%x: tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32> {
  %t = sinter.transpose %x [0, 3, 1, 2] : tensor<2x8x8x3xf32> -> tensor<2x3x8x8xf32>
  %y, %p = sinter.max_pool2d %t {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>
  %z = sinter.transpose %y [0, 2, 3, 1] : tensor<2x3x4x4xf32> -> tensor<2x4x4x3xf32>
  return %z : tensor<2x4x4x3xf32>
}

// So does a convolution with its bias and relu.
// CHECK-LABEL: func.func @conv_of_channels_last
// CHECK-NOT: transpose
// CHECK: sinter.conv2d %{{.*}} layout nhwc math tf32
// CHECK-NOT: transpose
// CHECK: return
func.func @conv_of_channels_last(%x: tensor<3x12x16x128xf32>, %w: tensor<3x128x5x5xf32>, %b: tensor<3xf32>) -> tensor<3x12x16x3xf32> {
  %t = sinter.transpose %x [0, 3, 1, 2] : tensor<3x12x16x128xf32> -> tensor<3x128x12x16xf32>
  %y = sinter.conv2d %t, %w math tf32 {strides = array<i64: 1, 1>, padding = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<3x128x12x16xf32>, tensor<3x128x5x5xf32>) -> tensor<3x3x12x16xf32>
  %bias = sinter.broadcast %b [1] : tensor<3xf32> -> tensor<3x3x12x16xf32>
  %s = sinter.add %y, %bias : tensor<3x3x12x16xf32>
  %r = sinter.relu %s : tensor<3x3x12x16xf32>
  %z = sinter.transpose %r [0, 2, 3, 1] : tensor<3x3x12x16xf32> -> tensor<3x12x16x3xf32>
  return %z : tensor<3x12x16x3xf32>
}

// A pool that shares its order with a convolution follows it; one behind a reshape decides alone.
// CHECK-LABEL: func.func @groups
// CHECK: sinter.conv2d %{{.*}} layout nhwc
// CHECK: sinter.max_pool2d %{{.*}} layout nhwc
// CHECK: sinter.reshape
// CHECK: sinter.avg_pool2d
// CHECK-NOT: nhwc
// CHECK: return
func.func @groups(%x: tensor<64x64x58x58xbf16>, %w: tensor<64x64x3x3xbf16>) -> tensor<32x128x2x2xbf16> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<64x64x58x58xbf16>, tensor<64x64x3x3xbf16>) -> tensor<64x64x56x56xbf16>
  %m, %p = sinter.max_pool2d %y {window = array<i64: 14, 14>, strides = array<i64: 14, 14>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<64x64x56x56xbf16> -> tensor<64x64x4x4xbf16>, tensor<64x64x4x4xui8>
  %r = sinter.reshape %m : tensor<64x64x4x4xbf16> -> tensor<32x128x4x4xbf16>
  %z = sinter.avg_pool2d %r {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<32x128x4x4xbf16> -> tensor<32x128x2x2xbf16>
  return %z : tensor<32x128x2x2xbf16>
}

// Gradients of few channels in tf32 keep the layout of their own kernels.
// CHECK-LABEL: func.func @gradient_of_few_channels
// CHECK: sinter.conv2d_weight_grad
// CHECK-NOT: nhwc
// CHECK: return
func.func @gradient_of_few_channels(%x: tensor<256x28x28x2xf32>, %g: tensor<256x20x26x26xf32>) -> tensor<20x2x3x3xf32> {
  %t = sinter.transpose %x [0, 3, 1, 2] : tensor<256x28x28x2xf32> -> tensor<256x2x28x28xf32>
  %dw = sinter.conv2d_weight_grad %t, %g math tf32 {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<256x2x28x28xf32>, tensor<256x20x26x26xf32>) -> tensor<20x2x3x3xf32>
  return %dw : tensor<20x2x3x3xf32>
}
