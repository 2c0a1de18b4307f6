// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @logic
func.func @logic(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi32> {
  // CHECK: sinter.compare eq %{{.*}}, %{{.*}} : tensor<3xf32> -> tensor<3xi1>
  %0 = sinter.compare eq %x, %y : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.compare ne
  %1 = sinter.compare ne %x, %y : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.compare lt
  %2 = sinter.compare lt %x, %y : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.compare le
  %3 = sinter.compare le %x, %y : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.compare gt
  %4 = sinter.compare gt %x, %y : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.compare ge
  %5 = sinter.compare ge %x, %y : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.logical_and %{{.*}}, %{{.*}} : tensor<3xi1>
  %6 = sinter.logical_and %0, %1 : tensor<3xi1>
  // CHECK: sinter.logical_or %{{.*}}, %{{.*}} : tensor<3xi1>
  %7 = sinter.logical_or %6, %2 : tensor<3xi1>
  // CHECK: sinter.logical_xor %{{.*}}, %{{.*}} : tensor<3xi1>
  %8 = sinter.logical_xor %7, %3 : tensor<3xi1>
  // CHECK: sinter.logical_not %{{.*}} : tensor<3xi1>
  %9 = sinter.logical_not %8 : tensor<3xi1>
  // CHECK: sinter.is_nan %{{.*}} : tensor<3xf32> -> tensor<3xi1>
  %10 = sinter.is_nan %x : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.is_finite %{{.*}} : tensor<3xf32> -> tensor<3xi1>
  %11 = sinter.is_finite %x : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.is_inf %{{.*}} : tensor<3xf32> -> tensor<3xi1>
  %15 = sinter.is_inf %x : tensor<3xf32> -> tensor<3xi1>
  // CHECK: sinter.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<3xi1>, tensor<3xf32>
  %12 = sinter.select %9, %x, %y : tensor<3xi1>, tensor<3xf32>
  // CHECK: sinter.clamp %{{.*}} {high = 1.000000e+00 : f64, low = -1.000000e+00 : f64} : tensor<3xf32>
  %13 = sinter.clamp %12 {low = -1.0 : f64, high = 1.0 : f64} : tensor<3xf32>
  // CHECK: sinter.cast %{{.*}} : tensor<3xf32> -> tensor<3xi32>
  %14 = sinter.cast %13 : tensor<3xf32> -> tensor<3xi32>
  // CHECK: sinter.bitwise_and %{{.*}}, %{{.*}} : tensor<3xi32>
  %16 = sinter.bitwise_and %14, %14 : tensor<3xi32>
  // CHECK: sinter.bitwise_or
  %17 = sinter.bitwise_or %16, %14 : tensor<3xi32>
  // CHECK: sinter.bitwise_xor
  %18 = sinter.bitwise_xor %17, %14 : tensor<3xi32>
  // CHECK: sinter.bitwise_not %{{.*}} : tensor<3xi32>
  %19 = sinter.bitwise_not %18 : tensor<3xi32>
  // CHECK: sinter.shift_left
  %20 = sinter.shift_left %19, %14 : tensor<3xi32>
  // CHECK: sinter.shift_right
  %21 = sinter.shift_right %20, %14 : tensor<3xi32>
  return %21 : tensor<3xi32>
}
