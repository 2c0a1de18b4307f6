// RUN: sinter-opt %s --split-input-file --sinter-drop-unit-dims --mlir-print-local-scope | FileCheck %s

// A batch norm of one group runs on four-dimensional images, on the device of its ops.
// CHECK-LABEL: func.func @group
// CHECK-SAME: (%[[X:.*]]: tensor<4x3x2x2xf32>, %[[S:.*]]: tensor<3xf32>)
// CHECK: %[[M:.*]] = sinter.sum %[[X]] [0, 2, 3] {sinter.device = #sinter.device<gpu, 1>} : tensor<4x3x2x2xf32> -> tensor<3xf32>
// CHECK: %[[N:.*]] = sinter.constant dense<1.600000e+01> : tensor<3xf32>
// CHECK: %[[A:.*]] = sinter.div %[[M]], %[[N]] {sinter.device = #sinter.device<gpu, 1>} : tensor<3xf32>
// CHECK: %[[B:.*]] = sinter.broadcast %[[A]] [1] {sinter.device = #sinter.device<gpu, 1>} : tensor<3xf32> -> tensor<4x3x2x2xf32>
// CHECK: %[[C:.*]] = sinter.sub %[[X]], %[[B]] {sinter.device = #sinter.device<gpu, 1>} : tensor<4x3x2x2xf32>
// CHECK: %[[T:.*]] = sinter.broadcast %[[S]] [1]{{.*}} : tensor<3xf32> -> tensor<4x3x2x2xf32>
// CHECK: %[[D:.*]] = sinter.mul %[[C]], %[[T]]{{.*}} : tensor<4x3x2x2xf32>
// CHECK-NEXT: return %[[D]], %[[A]] : tensor<4x3x2x2xf32>, tensor<3xf32>
#gpu1 = #sinter.device<gpu, 1>
func.func @group(%x: tensor<4x3x2x2xf32>, %s: tensor<3xf32>) -> (tensor<4x3x2x2xf32>, tensor<3xf32>) {
  %g = sinter.reshape %x {sinter.device = #gpu1} : tensor<4x3x2x2xf32> -> tensor<1x4x3x2x2xf32>
  %m = sinter.sum %g [1, 3, 4] {sinter.device = #gpu1} : tensor<1x4x3x2x2xf32> -> tensor<1x3xf32>
  %n = sinter.constant dense<16.0> : tensor<1x3xf32>
  %a = sinter.div %m, %n {sinter.device = #gpu1} : tensor<1x3xf32>
  %b = sinter.broadcast %a [0, 2] {sinter.device = #gpu1} : tensor<1x3xf32> -> tensor<1x4x3x2x2xf32>
  %c = sinter.sub %g, %b {sinter.device = #gpu1} : tensor<1x4x3x2x2xf32>
  %t = sinter.broadcast %s [2] {sinter.device = #gpu1} : tensor<3xf32> -> tensor<1x4x3x2x2xf32>
  %d = sinter.mul %c, %t {sinter.device = #gpu1} : tensor<1x4x3x2x2xf32>
  %y = sinter.reshape %d {sinter.device = #gpu1} : tensor<1x4x3x2x2xf32> -> tensor<4x3x2x2xf32>
  %mean = sinter.sum %a [0] {sinter.device = #gpu1} : tensor<1x3xf32> -> tensor<3xf32>
  return %y, %mean : tensor<4x3x2x2xf32>, tensor<3xf32>
}

// -----

// Ops of other kinds read the value with the unit dimension. A value that has this dimension loses it when it
// meets values without it.
// CHECK-LABEL: func.func @others
// CHECK-SAME: (%[[X:.*]]: tensor<4x3xf32>, %[[Y:.*]]: tensor<1x4x3xf32>)
// CHECK: %[[Z:.*]] = sinter.reshape %[[Y]] : tensor<1x4x3xf32> -> tensor<4x3xf32>
// CHECK: %[[A:.*]] = sinter.add %[[X]], %[[Z]] : tensor<4x3xf32>
// CHECK: %[[B:.*]] = sinter.reshape %[[A]] : tensor<4x3xf32> -> tensor<1x4x3xf32>
// CHECK: %[[C:.*]] = sinter.cumsum %[[B]] dim 1 : tensor<1x4x3xf32>
// CHECK: %[[D:.*]] = sinter.sum %[[A]] [0, 1] : tensor<4x3xf32> -> tensor<f32>
// CHECK: return %[[C]], %[[D]]
func.func @others(%x: tensor<4x3xf32>, %y: tensor<1x4x3xf32>) -> (tensor<1x4x3xf32>, tensor<f32>) {
  %g = sinter.reshape %x : tensor<4x3xf32> -> tensor<1x4x3xf32>
  %a = sinter.add %g, %y : tensor<1x4x3xf32>
  %c = sinter.cumsum %a dim 1 : tensor<1x4x3xf32>
  %d = sinter.sum %a [0, 1, 2] : tensor<1x4x3xf32> -> tensor<f32>
  return %c, %d : tensor<1x4x3xf32>, tensor<f32>
}

// -----

// Values without a unit dimension, or with one from the start, do not change.
// CHECK-LABEL: func.func @none
// CHECK: sinter.reshape %{{.*}} : tensor<2x4xf32> -> tensor<1x8xf32>
// CHECK: sinter.neg %{{.*}} : tensor<1x8xf32>
// CHECK: sinter.exp %{{.*}} : tensor<1x8xf32>
func.func @none(%x: tensor<2x4xf32>, %y: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %a = sinter.reshape %x : tensor<2x4xf32> -> tensor<1x8xf32>
  %b = sinter.neg %a : tensor<1x8xf32>
  %c = sinter.exp %y : tensor<1x8xf32>
  return %b, %c : tensor<1x8xf32>, tensor<1x8xf32>
}
