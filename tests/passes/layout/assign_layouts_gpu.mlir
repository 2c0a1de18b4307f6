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

// A pool alone changes its layout too.
// CHECK-LABEL: func.func @pool
// CHECK: sinter.avg_pool2d %{{.*}} layout nhwc {{.*}} -> tensor<2x4x4x3xf16>
func.func @pool(%x: tensor<2x3x8x8xf16>) -> tensor<2x3x4x4xf16> {
  %y = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<2x3x8x8xf16> -> tensor<2x3x4x4xf16>
  return %y : tensor<2x3x4x4xf16>
}
