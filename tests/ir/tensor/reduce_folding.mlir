// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @sum_over_nothing
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @sum_over_nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = sinter.sum %x [] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// A reduction over a dimension of size 1 still drops this dimension.
// CHECK-LABEL: func.func @sum_of_one
// CHECK: sinter.sum
func.func @sum_of_one(%x: tensor<1x3xf32>) -> tensor<3xf32> {
  %0 = sinter.sum %x [0] : tensor<1x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
