// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x3x4xf32>, %row: tensor<1x4xf32>) {
  // CHECK: sinter.reshape %{{.*}} : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %0 = sinter.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  // CHECK: sinter.transpose %{{.*}} [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = sinter.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK: sinter.broadcast %{{.*}} [1, 2] : tensor<1x4xf32> -> tensor<2x3x4xf32>
  %2 = sinter.broadcast %row [1, 2] : tensor<1x4xf32> -> tensor<2x3x4xf32>
  // CHECK: sinter.slice %{{.*}} [0, 1, 0] [2, 3, 4] [1, 1, 3] : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
  %3 = sinter.slice %x [0, 1, 0] [2, 3, 4] [1, 1, 3] : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
  // CHECK: sinter.concat %{{.*}}, %{{.*}} dim 1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  %4 = sinter.concat %x, %2 dim 1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  // CHECK: sinter.split %{{.*}} dim 2 : tensor<2x3x4xf32> -> tensor<2x3x1xf32>, tensor<2x3x3xf32>
  %5:2 = sinter.split %x dim 2 : tensor<2x3x4xf32> -> tensor<2x3x1xf32>, tensor<2x3x3xf32>
  // CHECK: sinter.pad %{{.*}} value -1.000000e+00 low [1, 0] high [0, 2] interior [0, 1] : tensor<1x4xf32> -> tensor<2x9xf32>
  %6 = sinter.pad %row value -1.0 low [1, 0] high [0, 2] interior [0, 1] : tensor<1x4xf32> -> tensor<2x9xf32>
  // CHECK: sinter.reverse %{{.*}} [0, 2] : tensor<2x3x4xf32>
  %7 = sinter.reverse %x [0, 2] : tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @makes
func.func @makes(%origin: tensor<i64>) {
  // CHECK: sinter.constant dense<2.000000e+00> : tensor<3xf32>
  %0 = sinter.constant dense<2.0> : tensor<3xf32>
  // CHECK: sinter.constant dense<[1, 2]> : tensor<2xi64>
  %1 = sinter.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: sinter.iota 1 : tensor<2x3xi32>
  %2 = sinter.iota 1 : tensor<2x3xi32>
  // CHECK: sinter.iota 1 origin %{{.*}} : tensor<2x3xi32>
  %3 = sinter.iota 1 origin %origin : tensor<2x3xi32>
  return
}

// CHECK-LABEL: func.func @indexed
func.func @indexed(%x: tensor<5x4xf32>, %i: tensor<2x3xi64>, %j: tensor<7x4xi32>, %u: tensor<2x3x4xf32>) {
  // CHECK: sinter.gather %{{.*}}[%{{.*}}] dim 0 : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  %0 = sinter.gather %x[%i] dim 0 : tensor<5x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  // CHECK: sinter.take_along %{{.*}}[%{{.*}}] dim 0 : tensor<5x4xf32>, tensor<7x4xi32> -> tensor<7x4xf32>
  %1 = sinter.take_along %x[%j] dim 0 : tensor<5x4xf32>, tensor<7x4xi32> -> tensor<7x4xf32>
  // CHECK: sinter.scatter_add %{{.*}}[%{{.*}}], %{{.*}} dim 0 : tensor<5x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>
  %2 = sinter.scatter_add %x[%i], %u dim 0 : tensor<5x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>
  // CHECK: sinter.scatter set %{{.*}}[%{{.*}}], %{{.*}} dim 0 : tensor<5x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>
  %s = sinter.scatter set %x[%i], %u dim 0 : tensor<5x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>
  // CHECK: sinter.one_hot %{{.*}} : tensor<2x3xi64> -> tensor<2x3x10xf32>
  %3 = sinter.one_hot %i : tensor<2x3xi64> -> tensor<2x3x10xf32>
  return
}
