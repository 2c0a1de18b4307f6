// RUN: sinter-opt %s --sinter-assign-layouts --canonicalize --cse | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline="builtin.module(func.func(sinter-assign-layouts{layout=nchw}))" | FileCheck %s --check-prefix=NCHW
// RUN: not sinter-opt %s --pass-pipeline="builtin.module(func.func(sinter-assign-layouts{layout=chwn}))" 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: there is no layout 'chwn'; expected auto, nchw, nhwc or nchw16n

// Bias, batch norm statistics, relu and the residual stay in the new layout. With one input channel the input
// is only reshaped; one transpose remains, at the flattening.
// CHECK-LABEL: func.func @network
// CHECK-SAME: (%[[X:.*]]: tensor<2x1x8x8xf32>, %[[W:.*]]: tensor<4x1x3x3xf32>, %[[W2:.*]]: tensor<4x4x3x3xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-NOT: sinter.transpose
// CHECK: %[[IN:.*]] = sinter.reshape %[[X]] : tensor<2x1x8x8xf32> -> tensor<2x8x8x1xf32>
// CHECK: %[[Y:.*]] = sinter.conv2d %[[IN]], %[[W]] layout nhwc {{.*}} -> tensor<2x8x8x4xf32>
// CHECK: sinter.broadcast %{{.*}} [3] : tensor<4xf32> -> tensor<2x8x8x4xf32>
// CHECK: sinter.sum %{{.*}} [0, 1, 2] : tensor<2x8x8x4xf32> -> tensor<4xf32>
// CHECK: sinter.conv2d
// CHECK: sinter.max_pool2d %{{.*}} layout nhwc {{.*}} -> tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>
// CHECK: sinter.transpose %{{.*}} [0, 3, 1, 2] : tensor<2x4x4x4xf32>
// CHECK-NEXT: sinter.reshape
// NCHW-LABEL: func.func @network
// NCHW-NOT: nhwc
func.func @network(%x: tensor<2x1x8x8xf32>, %w: tensor<4x1x3x3xf32>, %w2: tensor<4x4x3x3xf32>, %b: tensor<4xf32>) -> (tensor<2x64xf32>, tensor<4xf32>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x8x8xf32>
  %bb = sinter.broadcast %b [1] : tensor<4xf32> -> tensor<2x4x8x8xf32>
  %yb = sinter.add %y, %bb : tensor<2x4x8x8xf32>
  %zero = sinter.constant dense<0.0> : tensor<2x4x8x8xf32>
  %r = sinter.maximum %yb, %zero : tensor<2x4x8x8xf32>
  %s = sinter.sum %r [0, 2, 3] : tensor<2x4x8x8xf32> -> tensor<4xf32>
  %z = sinter.conv2d %r, %w2 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  %res = sinter.add %z, %r : tensor<2x4x8x8xf32>
  %m, %p = sinter.max_pool2d %res {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>
  %f = sinter.reshape %m : tensor<2x4x4x4xf32> -> tensor<2x64xf32>
  return %f, %s : tensor<2x64xf32>, tensor<4xf32>
}

// Gradients: weights keep their layout, images change theirs, results return to the user's layout.
// CHECK-LABEL: func.func @gradients
// CHECK-DAG: %[[DX:.*]] = sinter.conv2d_input_grad %{{.*}}, %{{.*}} layout nhwc {{.*}} : (tensor<2x6x6x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x8x8x3xf32>
// CHECK-DAG: %[[DW:.*]] = sinter.conv2d_weight_grad %{{.*}}, %{{.*}} layout nhwc {{.*}} : (tensor<2x8x8x3xf32>, tensor<2x6x6x4xf32>) -> tensor<4x3x3x3xf32>
// CHECK-DAG: %[[BACK:.*]] = sinter.transpose %[[DX]] [0, 3, 1, 2]
// CHECK: return %[[BACK]], %[[DW]]
func.func @gradients(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %g: tensor<2x4x6x6xf32>) -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) {
  %dx = sinter.conv2d_input_grad %g, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x4x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  %dw = sinter.conv2d_weight_grad %x, %g {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x3x8x8xf32>, tensor<2x4x6x6xf32>) -> tensor<4x3x3x3xf32>
  return %dx, %dw : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>
}

// Pads, slices, concats and reversals follow the new layout. A random op keeps its layout: its numbers depend
// on it.
// CHECK-LABEL: func.func @moves
// CHECK-DAG: sinter.pad {{.*}} low [0, 1, 0, 0] high [0, 0, 2, 0] {{.*}} -> tensor<1x5x6x2xf32>
// CHECK-DAG: sinter.concat {{.*}} dim 3
// CHECK-DAG: sinter.slice {{.*}} [0, 1, 0, 0] [1, 5, 4, 4]
// CHECK-DAG: sinter.reverse {{.*}} [1]
// CHECK-DAG: sinter.random_uniform {{.*}} -> tensor<1x4x4x4xf32>
// CHECK-DAG: sinter.argmax {{.*}} dim 3 : tensor<1x4x4x4xf32> -> tensor<1x4x4xi64>
// CHECK: return
func.func @moves(%x: tensor<1x2x4x4xf32>, %seed: tensor<i64>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4xi64>) {
  %a = sinter.avg_pool2d %x {window = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %p = sinter.pad %a value 0.0 low [0, 0, 1, 0] high [0, 0, 0, 2] interior [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x5x6xf32>
  %c = sinter.concat %p, %p dim 1 : (tensor<1x2x5x6xf32>, tensor<1x2x5x6xf32>) -> tensor<1x4x5x6xf32>
  %s = sinter.slice %c [0, 0, 1, 0] [1, 4, 5, 4] [1, 1, 1, 1] : tensor<1x4x5x6xf32> -> tensor<1x4x4x4xf32>
  %r = sinter.reverse %s [2] : tensor<1x4x4x4xf32>
  %u = sinter.random_uniform %seed, %seed stream 0 low 0.0 high 1.0 : tensor<i64>, tensor<i64> -> tensor<1x4x4x4xf32>
  %y = sinter.mul %r, %u : tensor<1x4x4x4xf32>
  %best = sinter.argmax %y dim 1 : tensor<1x4x4x4xf32> -> tensor<1x4x4xi64>
  return %y, %best : tensor<1x4x4x4xf32>, tensor<1x4x4xi64>
}

// Without image ops nothing changes. The user's transpose stays.
// CHECK-LABEL: func.func @no_images
// CHECK-NEXT: sinter.transpose
// CHECK-NEXT: sinter.exp
// CHECK-NEXT: return
func.func @no_images(%x: tensor<1x2x3x4xf32>) -> tensor<1x3x4x2xf32> {
  %t = sinter.transpose %x [0, 2, 3, 1] : tensor<1x2x3x4xf32> -> tensor<1x3x4x2xf32>
  %y = sinter.exp %t : tensor<1x3x4x2xf32>
  return %y : tensor<1x3x4x2xf32>
}

// An input is shared by two devices. Each device converts only its own rows to the new layout, because both
// receive the input in the user's layout.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%[[X:.*]]: tensor<4x3x8x8xf32>
// CHECK: %[[X1:.*]] = sinter.copy %[[X]] to <cpu, 1> because input : tensor<4x3x8x8xf32>
// CHECK: %[[P:.*]] = sinter.slice %[[X1]] [2, 0, 0, 0] [4, 3, 8, 8] {{.*}} -> tensor<2x3x8x8xf32>
// CHECK: sinter.transpose %[[P]] [0, 2, 3, 1] {sinter.device = #sinter.device<cpu, 1>} : tensor<2x3x8x8xf32> -> tensor<2x8x8x3xf32>
// CHECK: sinter.conv2d {{.*}} layout nhwc
func.func @shared(%x: tensor<4x3x8x8xf32> {sinter.input = "x", sinter.device = #sinter.device<cpu, 0>}, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32> {
  %x1 = sinter.copy %x to <cpu, 1> because input : tensor<4x3x8x8xf32>
  %p = sinter.slice %x1 [2, 0, 0, 0] [4, 3, 8, 8] [1, 1, 1, 1] {sinter.device = #sinter.device<cpu, 1>} : tensor<4x3x8x8xf32> -> tensor<2x3x8x8xf32>
  %y = sinter.conv2d %p, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64,
    sinter.device = #sinter.device<cpu, 1>} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  return %y : tensor<2x4x6x6xf32>
}
