// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = sinter.reshape %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = sinter.transpose %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = sinter.broadcast %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = sinter.slice %x [0, 0] [2, 3] [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = sinter.concat %x dim 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[R:.*]] = sinter.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<4x6xf32>
// CHECK-NEXT: %[[T:.*]] = sinter.transpose %[[X]] [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT: return %[[R]], %[[X]], %[[T]], %[[X]]
func.func @twice(%x: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>) {
  %0 = sinter.reshape %x : tensor<2x3x4xf32> -> tensor<24xf32>
  %1 = sinter.reshape %0 : tensor<24xf32> -> tensor<4x6xf32>
  %2 = sinter.reshape %0 : tensor<24xf32> -> tensor<2x3x4xf32>
  %3 = sinter.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %4 = sinter.transpose %3 [1, 0, 2] : tensor<4x2x3xf32> -> tensor<2x4x3xf32>
  %5 = sinter.transpose %3 [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  return %1, %2, %4, %5 : tensor<4x6xf32>, tensor<2x3x4xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @broadcast_twice
// CHECK-SAME: %[[X:.*]]: tensor<1x3xf32>
// CHECK-NEXT: %[[B:.*]] = sinter.broadcast %[[X]] [1, 2] : tensor<1x3xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: return %[[B]]
func.func @broadcast_twice(%x: tensor<1x3xf32>) -> tensor<4x2x3xf32> {
  %0 = sinter.broadcast %x [0, 1] : tensor<1x3xf32> -> tensor<2x3xf32>
  %1 = sinter.broadcast %0 [1, 2] : tensor<2x3xf32> -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// A broadcast that permutes dimensions is not the identity, even if the types are equal.
// CHECK-LABEL: func.func @square
// CHECK: sinter.broadcast
func.func @square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = sinter.broadcast %x [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @constants
// CHECK-DAG: sinter.constant dense<2.000000e+00> : tensor<3x2xf32>
// CHECK-DAG: sinter.constant dense<2.000000e+00> : tensor<4x2x3xf32>
// CHECK-DAG: sinter.constant dense<2.000000e+00> : tensor<1x3xf32>
// CHECK-DAG: sinter.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
// CHECK-NOT: sinter.transpose
// CHECK-NOT: sinter.broadcast
// CHECK-NOT: sinter.slice
// CHECK-NOT: sinter.reshape
func.func @constants() -> (tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<1x3xf32>, tensor<2x2xi32>) {
  %splat = sinter.constant dense<2.0> : tensor<2x3xf32>
  %values = sinter.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %0 = sinter.transpose %splat [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = sinter.broadcast %splat [1, 2] : tensor<2x3xf32> -> tensor<4x2x3xf32>
  %2 = sinter.slice %splat [1, 0] [2, 3] [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
  %3 = sinter.reshape %values : tensor<4xi32> -> tensor<2x2xi32>
  return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<1x3xf32>, tensor<2x2xi32>
}

// A bias is reshaped to [C, 1, 1] before it is broadcast: the reshape goes away.
// CHECK-LABEL: func.func @broadcast_of_added_unit_dims
// CHECK-SAME: %[[X:.*]]: tensor<20xf32>
// CHECK: sinter.broadcast %[[X]] [1] : tensor<20xf32> -> tensor<4x20x3x3xf32>
func.func @broadcast_of_added_unit_dims(%x: tensor<20xf32>) -> tensor<4x20x3x3xf32> {
  %0 = sinter.reshape %x : tensor<20xf32> -> tensor<20x1x1xf32>
  %1 = sinter.broadcast %0 [1, 2, 3] : tensor<20x1x1xf32> -> tensor<4x20x3x3xf32>
  return %1 : tensor<4x20x3x3xf32>
}
