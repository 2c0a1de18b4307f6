// Image layouts on a GPU. 16-bit types are channels-last, for the matrix units; others keep their layout.
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
// CHECK: sinter.conv2d %{{.*}} layout nhwc {{.*}} -> tensor<16x6x6x4xbf16>
// CHECK: sinter.transpose %{{.*}} [0, 3, 1, 2]
func.func @bf16(%x: tensor<16x3x8x8xbf16>, %w: tensor<4x3x3x3xbf16>) -> tensor<16x4x6x6xbf16> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x3x8x8xbf16>, tensor<4x3x3x3xbf16>) -> tensor<16x4x6x6xbf16>
  return %y : tensor<16x4x6x6xbf16>
}

// Channels of images and weights are padded with zeros to eight; the gradients are sliced back.
// CHECK-LABEL: func.func @pads
// CHECK: %[[X:.*]] = sinter.pad {{.*}} low [0, 0, 0, 0] high [0, 0, 0, 5] {{.*}} -> tensor<16x8x8x8xbf16>
// CHECK: %[[W:.*]] = sinter.pad {{.*}} high [0, 5, 0, 0] {{.*}} -> tensor<16x8x3x3xbf16>
// CHECK: %[[Y:.*]] = sinter.conv2d %[[X]], %[[W]] layout nhwc {{.*}} -> tensor<16x6x6x16xbf16>
// CHECK: %[[DX:.*]] = sinter.conv2d_input_grad %[[Y]], %[[W]] layout nhwc {{.*}} -> tensor<16x8x8x8xbf16>
// CHECK: sinter.slice %[[DX]] {{.*}} -> tensor<16x8x8x3xbf16>
// CHECK: %[[DW:.*]] = sinter.conv2d_weight_grad %[[X]], %[[Y]] layout nhwc {{.*}} -> tensor<16x8x3x3xbf16>
// CHECK: sinter.slice %[[DW]] {{.*}} -> tensor<16x3x3x3xbf16>
func.func @pads(%x: tensor<16x3x8x8xbf16>, %w: tensor<16x3x3x3xbf16>) -> (tensor<16x3x8x8xbf16>, tensor<16x3x3x3xbf16>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x3x8x8xbf16>, tensor<16x3x3x3xbf16>) -> tensor<16x16x6x6xbf16>
  %dx = sinter.conv2d_input_grad %y, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x16x6x6xbf16>, tensor<16x3x3x3xbf16>) -> tensor<16x3x8x8xbf16>
  %dw = sinter.conv2d_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<16x3x8x8xbf16>, tensor<16x16x6x6xbf16>) -> tensor<16x3x3x3xbf16>
  return %dx, %dw : tensor<16x3x8x8xbf16>, tensor<16x3x3x3xbf16>
}

// A strided convolution becomes one over blocks of 2 x 2 pixels with zero padding. These have 12 channels and
// 4 channels of zeros. The weights are rearranged in the same way.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[SPLIT:.*]] = sinter.reshape %arg0 : tensor<2x3x16x12xbf16> -> tensor<2x3x8x2x6x2xbf16>
// CHECK: %[[GATHERED:.*]] = sinter.transpose %[[SPLIT]] [0, 2, 4, 3, 5, 1]
// CHECK: %[[PADDED:.*]] = sinter.pad %[[GATHERED]] {{.*}} low [0, 2, 2, 0, 0, 0] high [0, 1, 1, 0, 0, 1]
// CHECK: %[[X:.*]] = sinter.reshape %[[PADDED]] {{.*}} -> tensor<2x11x9x16xbf16>
// CHECK: sinter.pad %arg1 {{.*}} low [0, 0, 1, 1] high [0, 1, 0, 0] {{.*}} -> tensor<8x4x8x8xbf16>
// CHECK: sinter.conv2d %[[X]], %{{.*}} layout nhwc {{{.*}}padding = array<i64: 0, 0, 0, 0>, {{.*}}strides = array<i64: 1, 1>} : (tensor<2x11x9x16xbf16>, tensor<8x16x4x4xbf16>) -> tensor<2x8x6x8xbf16>
// CHECK: sinter.conv2d_weight_grad %[[X]], {{.*}} -> tensor<8x16x4x4xbf16>
// CHECK: sinter.slice %{{.*}} [0, 0, 1, 1] [8, 3, 8, 8] {{.*}} -> tensor<8x3x7x7xbf16>
func.func @blocks(%x: tensor<2x3x16x12xbf16>, %w: tensor<8x3x7x7xbf16>) -> (tensor<2x8x8x6xbf16>, tensor<8x3x7x7xbf16>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x3x16x12xbf16>, tensor<8x3x7x7xbf16>) -> tensor<2x8x8x6xbf16>
  %dw = sinter.conv2d_weight_grad %x, %y {strides = array<i64: 2, 2>, padding = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x3x16x12xbf16>, tensor<2x8x8x6xbf16>) -> tensor<8x3x7x7xbf16>
  return %y, %dw : tensor<2x8x8x6xbf16>, tensor<8x3x7x7xbf16>
}

// A pool alone changes its layout too.
// CHECK-LABEL: func.func @pool
// CHECK: sinter.avg_pool2d %{{.*}} layout nhwc {{.*}} -> tensor<2x4x4x3xf16>
func.func @pool(%x: tensor<2x3x8x8xf16>) -> tensor<2x3x4x4xf16> {
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<2x3x8x8xf16> -> tensor<2x3x4x4xf16>
  return %y : tensor<2x3x4x4xf16>
}
