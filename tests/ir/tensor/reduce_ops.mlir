// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<2x3x4xf32>, %b: tensor<2x3xi1>) {
  // CHECK: sinter.sum %{{.*}} [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  %0 = sinter.sum %x [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  // CHECK: sinter.prod %{{.*}} [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>
  %1 = sinter.prod %x [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>
  // CHECK: sinter.max %{{.*}} [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>
  %2 = sinter.max %x [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>
  // CHECK: sinter.min %{{.*}} [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  %3 = sinter.min %x [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  // CHECK: sinter.any %{{.*}} [0] : tensor<2x3xi1> -> tensor<3xi1>
  %4 = sinter.any %b [0] : tensor<2x3xi1> -> tensor<3xi1>
  // CHECK: sinter.all %{{.*}} [1] : tensor<2x3xi1> -> tensor<2xi1>
  %5 = sinter.all %b [1] : tensor<2x3xi1> -> tensor<2xi1>
  // CHECK: sinter.argmax %{{.*}} dim 1 : tensor<2x3x4xf32> -> tensor<2x4xi64>
  %6 = sinter.argmax %x dim 1 : tensor<2x3x4xf32> -> tensor<2x4xi64>
  // CHECK: sinter.argmin %{{.*}} dim 2 : tensor<2x3x4xf32> -> tensor<2x3xi32>
  %7 = sinter.argmin %x dim 2 : tensor<2x3x4xf32> -> tensor<2x3xi32>
  // CHECK: sinter.mean %{{.*}} [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  %8 = sinter.mean %x [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  // CHECK: sinter.logsumexp %{{.*}} [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  %9 = sinter.logsumexp %x [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  // CHECK: sinter.norm %{{.*}} [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  %10 = sinter.norm %x [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
  // CHECK: sinter.cumsum %{{.*}} dim 0 : tensor<2x3x4xf32>
  %11 = sinter.cumsum %x dim 0 : tensor<2x3x4xf32>
  // CHECK: sinter.cumsum %{{.*}} dim 1 {reverse} : tensor<2x3x4xf32>
  %12 = sinter.cumsum %x dim 1 {reverse} : tensor<2x3x4xf32>
  // CHECK: sinter.top_k %{{.*}} k 2 : tensor<2x3x4xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi32>
  %13:2 = sinter.top_k %x k 2 : tensor<2x3x4xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi32>
  // CHECK: sinter.sort %{{.*}} descending : tensor<2x3x4xf32> -> tensor<2x3x4xf32>, tensor<2x3x4xi32>
  %14:2 = sinter.sort %x descending : tensor<2x3x4xf32> -> tensor<2x3x4xf32>, tensor<2x3x4xi32>
  return
}
