// RUN: sinter-opt %s --sinter-fuse-scatter-add --canonicalize | FileCheck %s

// A table's gradient from rows is added to a matmul's gradient directly, not to zeros.
// CHECK-LABEL: func.func @scatter_add
// CHECK-SAME: (%[[I:.*]]: tensor<6xi32>, %[[U:.*]]: tensor<6x4xf32>, %[[P:.*]]: tensor<9x4xf32>)
// CHECK-NEXT: %[[R:.*]] = sinter.scatter_add %[[P]][%[[I]]], %[[U]] dim 0
// CHECK-NEXT: return %[[R]]
func.func @scatter_add(%i: tensor<6xi32>, %u: tensor<6x4xf32>, %p: tensor<9x4xf32>) -> tensor<9x4xf32> {
  %zeros = sinter.constant dense<0.0> : tensor<9x4xf32>
  %rows = sinter.scatter_add %zeros[%i], %u dim 0 : tensor<9x4xf32>, tensor<6xi32>, tensor<6x4xf32>
  %r = sinter.add %p, %rows : tensor<9x4xf32>
  return %r : tensor<9x4xf32>
}

// No fusion if the sums have another reader, or if they do not start from zeros.
// CHECK-LABEL: func.func @scatter_add_apart
// CHECK: sinter.constant
// CHECK: sinter.scatter_add
// CHECK: sinter.add
// CHECK: sinter.scatter_add
// CHECK: sinter.add
func.func @scatter_add_apart(%i: tensor<6xi32>, %u: tensor<6x4xf32>, %p: tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) {
  %zeros = sinter.constant dense<0.0> : tensor<9x4xf32>
  %rows = sinter.scatter_add %zeros[%i], %u dim 0 : tensor<9x4xf32>, tensor<6xi32>, tensor<6x4xf32>
  %r = sinter.add %p, %rows : tensor<9x4xf32>
  %onto = sinter.scatter_add %p[%i], %u dim 0 : tensor<9x4xf32>, tensor<6xi32>, tensor<6x4xf32>
  %s = sinter.add %p, %onto : tensor<9x4xf32>
  return %r, %rows, %s : tensor<9x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>
}

// Rows that are constant have no device before place-constants; their sum with a placed tensor has its device.
// CHECK-LABEL: func.func @constant_rows
// CHECK: sinter.scatter_add {{.*}} dim 0 {sinter.device = #sinter.device<gpu, 0>}
func.func @constant_rows(%p: tensor<9x4xf32> {sinter.device = #sinter.device<gpu, 0>}) -> tensor<9x4xf32> {
  %zeros = sinter.constant dense<0.0> : tensor<9x4xf32>
  %i = sinter.iota 0 : tensor<6xi32>
  %u = sinter.constant dense<1.0> : tensor<6x4xf32>
  %rows = sinter.scatter_add %zeros[%i], %u dim 0 : tensor<9x4xf32>, tensor<6xi32>, tensor<6x4xf32>
  %r = sinter.add %p, %rows {sinter.device = #sinter.device<gpu, 0>} : tensor<9x4xf32>
  return %r : tensor<9x4xf32>
}
