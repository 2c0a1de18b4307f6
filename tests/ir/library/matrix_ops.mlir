// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @factors
func.func @factors(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>, %c: tensor<5x3xf64>) {
  // CHECK: sinter.cholesky %{{.*}} : tensor<2x3x3xf32>
  %0 = sinter.cholesky %a : tensor<2x3x3xf32>
  // CHECK: sinter.qr %{{.*}} : tensor<5x3xf64> -> tensor<5x3xf64>, tensor<3x3xf64>
  %1:2 = sinter.qr %c : tensor<5x3xf64> -> tensor<5x3xf64>, tensor<3x3xf64>
  // CHECK: sinter.qr_complete %{{.*}} : tensor<5x3xf64> -> tensor<5x5xf64>, tensor<5x3xf64>
  %2:2 = sinter.qr_complete %c : tensor<5x3xf64> -> tensor<5x5xf64>, tensor<5x3xf64>
  // CHECK: sinter.eigh %{{.*}} : tensor<2x3x3xf32> -> tensor<2x3xf32>, tensor<2x3x3xf32>
  %3:2 = sinter.eigh %a : tensor<2x3x3xf32> -> tensor<2x3xf32>, tensor<2x3x3xf32>
  // CHECK: sinter.svd %{{.*}} : tensor<2x3x4xf32> -> tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x4xf32>
  %4:3 = sinter.svd %b : tensor<2x3x4xf32> -> tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x4xf32>
  // CHECK: sinter.lu %{{.*}} : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xi32>
  %5:2 = sinter.lu %a : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xi32>
  return
}

// CHECK-LABEL: func.func @systems
func.func @systems(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>, %c: tensor<2x4x3xf32>) {
  // CHECK: sinter.triangular_solve %{{.*}}, %{{.*}} {transpose, unit_diagonal, upper} : tensor<2x3x3xf32>, tensor<2x3x4xf32>
  %0 = sinter.triangular_solve %a, %b {upper, transpose, unit_diagonal} : tensor<2x3x3xf32>, tensor<2x3x4xf32>
  // CHECK: sinter.triangular_solve %{{.*}}, %{{.*}} {right} : tensor<2x3x3xf32>, tensor<2x4x3xf32>
  %1 = sinter.triangular_solve %a, %c {right} : tensor<2x3x3xf32>, tensor<2x4x3xf32>
  // CHECK: sinter.solve %{{.*}}, %{{.*}} {transpose} : tensor<2x3x3xf32>, tensor<2x3x4xf32>
  %2 = sinter.solve %a, %b {transpose} : tensor<2x3x3xf32>, tensor<2x3x4xf32>
  return
}
