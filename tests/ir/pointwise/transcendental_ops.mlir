// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @transcendental
func.func @transcendental(%x: tensor<5xf32>) -> tensor<5xf32> {
  // CHECK: sinter.exp %{{.*}} : tensor<5xf32>
  %0 = sinter.exp %x : tensor<5xf32>
  // CHECK: sinter.expm1 %{{.*}} : tensor<5xf32>
  %1 = sinter.expm1 %0 : tensor<5xf32>
  // CHECK: sinter.log %{{.*}} : tensor<5xf32>
  %2 = sinter.log %1 : tensor<5xf32>
  // CHECK: sinter.log1p %{{.*}} : tensor<5xf32>
  %3 = sinter.log1p %2 : tensor<5xf32>
  // CHECK: sinter.sqrt %{{.*}} : tensor<5xf32>
  %4 = sinter.sqrt %3 : tensor<5xf32>
  // CHECK: sinter.rsqrt %{{.*}} : tensor<5xf32>
  %5 = sinter.rsqrt %4 : tensor<5xf32>
  // CHECK: sinter.square %{{.*}} : tensor<5xf32>
  %6 = sinter.square %5 : tensor<5xf32>
  // CHECK: sinter.reciprocal %{{.*}} : tensor<5xf32>
  %7 = sinter.reciprocal %6 : tensor<5xf32>
  // CHECK: sinter.sin %{{.*}} : tensor<5xf32>
  %8 = sinter.sin %7 : tensor<5xf32>
  // CHECK: sinter.cos %{{.*}} : tensor<5xf32>
  %9 = sinter.cos %8 : tensor<5xf32>
  // CHECK: sinter.tan %{{.*}} : tensor<5xf32>
  %10 = sinter.tan %9 : tensor<5xf32>
  // CHECK: sinter.tanh %{{.*}} : tensor<5xf32>
  %11 = sinter.tanh %10 : tensor<5xf32>
  // CHECK: sinter.erf %{{.*}} : tensor<5xf32>
  %12 = sinter.erf %11 : tensor<5xf32>
  // CHECK: sinter.exp2 %{{.*}} : tensor<5xf32>
  %13 = sinter.exp2 %12 : tensor<5xf32>
  // CHECK: sinter.log2 %{{.*}} : tensor<5xf32>
  %14 = sinter.log2 %13 : tensor<5xf32>
  // CHECK: sinter.log10 %{{.*}} : tensor<5xf32>
  %15 = sinter.log10 %14 : tensor<5xf32>
  // CHECK: sinter.asin %{{.*}} : tensor<5xf32>
  %16 = sinter.asin %15 : tensor<5xf32>
  // CHECK: sinter.acos %{{.*}} : tensor<5xf32>
  %17 = sinter.acos %16 : tensor<5xf32>
  // CHECK: sinter.atan %{{.*}} : tensor<5xf32>
  %18 = sinter.atan %17 : tensor<5xf32>
  // CHECK: sinter.sinh %{{.*}} : tensor<5xf32>
  %19 = sinter.sinh %18 : tensor<5xf32>
  // CHECK: sinter.cosh %{{.*}} : tensor<5xf32>
  %20 = sinter.cosh %19 : tensor<5xf32>
  // CHECK: sinter.asinh %{{.*}} : tensor<5xf32>
  %21 = sinter.asinh %20 : tensor<5xf32>
  // CHECK: sinter.acosh %{{.*}} : tensor<5xf32>
  %22 = sinter.acosh %21 : tensor<5xf32>
  // CHECK: sinter.atanh %{{.*}} : tensor<5xf32>
  %23 = sinter.atanh %22 : tensor<5xf32>
  return %23 : tensor<5xf32>
}
