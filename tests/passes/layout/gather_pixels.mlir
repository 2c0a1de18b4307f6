// RUN: sinter-opt %s --sinter-assign-layouts --sinter-gather-pixels --canonicalize --cse | FileCheck %s

// A strided convolution becomes one over blocks of 2 x 2 pixels with zero padding. These have 12 channels and
// 4 channels of zeros. The weights are rearranged in the same way.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[SPLIT:.*]] = sinter.reshape %arg0 {{.*}} : tensor<65536x3x16x12xbf16> -> tensor<65536x3x8x2x6x2xbf16>
// CHECK: %[[GATHERED:.*]] = sinter.transpose %[[SPLIT]] [0, 2, 4, 3, 5, 1]
// CHECK: %[[PADDED:.*]] = sinter.pad %[[GATHERED]] {{.*}} low [0, 2, 2, 0, 0, 0] high [0, 1, 1, 0, 0, 1]
// CHECK: %[[X:.*]] = sinter.reshape %[[PADDED]] {{.*}} -> tensor<65536x11x9x16xbf16>
// CHECK: sinter.pad %arg1 {{.*}} low [0, 0, 1, 1] high [0, 1, 0, 0] {{.*}} -> tensor<8x4x8x8xbf16>
// CHECK: sinter.conv2d %[[X]], %{{.*}} layout nhwc {{{.*}}padding = array<i64: 0, 0, 0, 0>, {{.*}}strides = array<i64: 1, 1>} : (tensor<65536x11x9x16xbf16>, tensor<8x16x4x4xbf16>) -> tensor<65536x8x6x8xbf16>
// CHECK: sinter.conv2d_weight_grad %[[X]], {{.*}} -> tensor<8x16x4x4xbf16>
// CHECK: sinter.slice %{{.*}} [0, 0, 1, 1] [8, 3, 8, 8] {{.*}} -> tensor<8x3x7x7xbf16>
func.func @blocks(%x: tensor<65536x3x16x12xbf16> {sinter.device = #sinter.device<gpu, 0>}, %w: tensor<8x3x7x7xbf16> {sinter.device = #sinter.device<gpu, 0>}) -> (tensor<65536x8x8x6xbf16>, tensor<8x3x7x7xbf16>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<65536x3x16x12xbf16>, tensor<8x3x7x7xbf16>) -> tensor<65536x8x8x6xbf16>
  %dw = sinter.conv2d_weight_grad %x, %y {strides = array<i64: 2, 2>, padding = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<65536x3x16x12xbf16>, tensor<65536x8x8x6xbf16>) -> tensor<8x3x7x7xbf16>
  return %y, %dw : tensor<65536x8x8x6xbf16>, tensor<8x3x7x7xbf16>
}

// A convolution without a stride, and one on a CPU, keep their pixels.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: sinter.pad
// CHECK: return
func.func @stays(%x: tensor<2x3x16x12xbf16> {sinter.device = #sinter.device<gpu, 0>}, %w: tensor<8x3x7x7xbf16> {sinter.device = #sinter.device<gpu, 0>}) -> tensor<2x8x16x12xbf16> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
    : (tensor<2x3x16x12xbf16>, tensor<8x3x7x7xbf16>) -> tensor<2x8x16x12xbf16>
  return %y : tensor<2x8x16x12xbf16>
}
// CHECK-LABEL: func.func @on_cpu
// CHECK-NOT: sinter.pad
// CHECK: return
func.func @on_cpu(%x: tensor<2x3x16x12xbf16>, %w: tensor<8x3x7x7xbf16>) -> tensor<2x8x8x6xbf16> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x3x16x12xbf16>, tensor<8x3x7x7xbf16>) -> tensor<2x8x8x6xbf16>
  return %y : tensor<2x8x8x6xbf16>
}
