// RUN: sinter-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @select
// CHECK-SAME: %[[C:.*]]: tensor<2xi1>, %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
func.func @select(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = sinter.constant dense<true> : tensor<2xi1>
  %false = sinter.constant dense<false> : tensor<2xi1>
  %0 = sinter.select %true, %x, %y : tensor<2xi1>, tensor<2xf32>
  %1 = sinter.select %false, %x, %y : tensor<2xi1>, tensor<2xf32>
  %2 = sinter.select %c, %x, %x : tensor<2xi1>, tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @cast
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: %[[H:.*]] = sinter.cast
// CHECK-NEXT: %[[F:.*]] = sinter.cast
// CHECK-NEXT: return %[[X]], %[[F]]
func.func @cast(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = sinter.cast %x : tensor<2xf32> -> tensor<2xf32>
  // A low-precision type in between rounds.
  %1 = sinter.cast %x : tensor<2xf32> -> tensor<2xbf16>
  %2 = sinter.cast %1 : tensor<2xbf16> -> tensor<2xf32>
  return %0, %2 : tensor<2xf32>, tensor<2xf32>
}
