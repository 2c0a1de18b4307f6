// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @transforms
func.func @transforms(%a: tensor<2x8x2xf32>, %b: tensor<5xf64>, %c: tensor<3x3x2xf64>) {
  // CHECK: sinter.fft %{{.*}} : tensor<2x8x2xf32>
  %0 = sinter.fft %a : tensor<2x8x2xf32>
  // CHECK: sinter.fft %{{.*}} {inverse} : tensor<2x8x2xf32>
  %1 = sinter.fft %a {inverse} : tensor<2x8x2xf32>
  // CHECK: sinter.rfft %{{.*}} : tensor<5xf64> -> tensor<3x2xf64>
  %2 = sinter.rfft %b : tensor<5xf64> -> tensor<3x2xf64>
  // CHECK: sinter.irfft %{{.*}} : tensor<3x3x2xf64> -> tensor<3x4xf64>
  %3 = sinter.irfft %c : tensor<3x3x2xf64> -> tensor<3x4xf64>
  // CHECK: sinter.irfft %{{.*}} : tensor<3x3x2xf64> -> tensor<3x5xf64>
  %4 = sinter.irfft %c : tensor<3x3x2xf64> -> tensor<3x5xf64>
  return
}
