// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @neutral(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<2xf32>
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %0 = sinter.add %x, %zero : tensor<2xf32>
  %1 = sinter.add %zero, %x : tensor<2xf32>
  %2 = sinter.sub %x, %zero : tensor<2xf32>
  %3 = sinter.mul %one, %x : tensor<2xf32>
  %4 = sinter.mul %x, %one : tensor<2xf32>
  %5 = sinter.div %x, %one : tensor<2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @integers
// CHECK-SAME: %[[X:.*]]: tensor<2xui8>
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @integers(%x: tensor<2xui8>) -> (tensor<2xui8>, tensor<2xui8>) {
  %zero = sinter.constant dense<0> : tensor<2xui8>
  %one = sinter.constant dense<1> : tensor<2xui8>
  %0 = sinter.add %x, %zero : tensor<2xui8>
  %1 = sinter.mul %x, %one : tensor<2xui8>
  return %0, %1 : tensor<2xui8>, tensor<2xui8>
}

// CHECK-LABEL: func.func @double_neg
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: return %[[X]]
func.func @double_neg(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sinter.neg %x : tensor<2xf32>
  %1 = sinter.neg %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Folds that would lose a NaN or an infinity do not happen.
// CHECK-LABEL: func.func @kept
// CHECK: sinter.mul
// CHECK: sinter.sub
// CHECK: sinter.div
// CHECK: sinter.sub
func.func @kept(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<2xf32>
  %mixed = sinter.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %0 = sinter.mul %x, %zero : tensor<2xf32>
  %1 = sinter.sub %x, %x : tensor<2xf32>
  %2 = sinter.div %x, %x : tensor<2xf32>
  %3 = sinter.sub %x, %mixed : tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
