// RUN: sinter-opt %s --sinter-assign-layouts --sinter-pad-channels --canonicalize --cse | FileCheck %s

// Channels of images and weights of large convolutions are padded with zeros to eight; the gradients are sliced back.
// CHECK-LABEL: func.func @pads
// CHECK: %[[X:.*]] = sinter.pad {{.*}} low [0, 0, 0, 0] high [0, 0, 0, 5] {{.*}} -> tensor<65536x8x8x8xbf16>
// CHECK: %[[W:.*]] = sinter.pad {{.*}} high [0, 5, 0, 0] {{.*}} -> tensor<16x8x3x3xbf16>
// CHECK: %[[Y:.*]] = sinter.conv2d %[[X]], %[[W]] layout nhwc {{.*}} -> tensor<65536x6x6x16xbf16>
// CHECK: %[[DX:.*]] = sinter.conv2d_input_grad %[[Y]], %[[W]] layout nhwc {{.*}} -> tensor<65536x8x8x8xbf16>
// CHECK: sinter.slice %[[DX]] {{.*}} -> tensor<65536x8x8x3xbf16>
// CHECK: %[[DW:.*]] = sinter.conv2d_weight_grad %[[X]], %[[Y]] layout nhwc {{.*}} -> tensor<16x8x3x3xbf16>
// CHECK: sinter.slice %[[DW]] {{.*}} -> tensor<16x3x3x3xbf16>
func.func @pads(%x: tensor<65536x3x8x8xbf16> {sinter.device = #sinter.device<gpu, 0>}, %w: tensor<16x3x3x3xbf16> {sinter.device = #sinter.device<gpu, 0>}) -> (tensor<65536x3x8x8xbf16>, tensor<16x3x3x3xbf16>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<65536x3x8x8xbf16>, tensor<16x3x3x3xbf16>) -> tensor<65536x16x6x6xbf16>
  %dx = sinter.conv2d_input_grad %y, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<65536x16x6x6xbf16>, tensor<16x3x3x3xbf16>) -> tensor<65536x3x8x8xbf16>
  %dw = sinter.conv2d_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<65536x3x8x8xbf16>, tensor<65536x16x6x6xbf16>) -> tensor<16x3x3x3xbf16>
  return %dx, %dw : tensor<65536x3x8x8xbf16>, tensor<16x3x3x3xbf16>
}

// CPUs, f32 and whole eights stay as they are.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: sinter.pad
// CHECK: return
func.func @stays(%x: tensor<2x8x8x3xbf16>, %w: tensor<16x3x3x3xbf16>,
                 %e: tensor<2x8x8x8xbf16> {sinter.device = #sinter.device<gpu, 0>}, %v: tensor<16x8x3x3xbf16> {sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<2x6x6x16xbf16>, tensor<2x6x6x16xbf16>) {
  %y = sinter.conv2d %x, %w layout nhwc {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x8x8x3xbf16>, tensor<16x3x3x3xbf16>) -> tensor<2x6x6x16xbf16>
  %z = sinter.conv2d %e, %v layout nhwc {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<2x8x8x8xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x6x6x16xbf16>
  return %y, %z : tensor<2x6x6x16xbf16>, tensor<2x6x6x16xbf16>
}
