// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @random
func.func @random(%seed: tensor<i64>, %step: tensor<i64>) {
  // CHECK: sinter.random_uniform %{{.*}}, %{{.*}} stream 0 low -1.000000e+00 high 1.000000e+00 : tensor<i64>, tensor<i64> -> tensor<2x3xf32>
  %0 = sinter.random_uniform %seed, %step stream 0 low -1.0 high 1.0 : tensor<i64>, tensor<i64> -> tensor<2x3xf32>
  // CHECK: sinter.random_normal %{{.*}}, %{{.*}} stream 1 mean 0.000000e+00 stddev 1.000000e+00 : tensor<i64>, tensor<i64> -> tensor<4xbf16>
  %1 = sinter.random_normal %seed, %step stream 1 mean 0.0 stddev 1.0 : tensor<i64>, tensor<i64> -> tensor<4xbf16>
  // CHECK: sinter.random_bernoulli %{{.*}}, %{{.*}} stream 2 probability 5.000000e-01 : tensor<i64>, tensor<i64> -> tensor<4xi1>
  %2 = sinter.random_bernoulli %seed, %step stream 2 probability 0.5 : tensor<i64>, tensor<i64> -> tensor<4xi1>
  // CHECK: sinter.random_permutation %{{.*}}, %{{.*}} stream 4294967295 : tensor<i64>, tensor<i64> -> tensor<10xi32>
  %3 = sinter.random_permutation %seed, %step stream 4294967295 : tensor<i64>, tensor<i64> -> tensor<10xi32>
  // CHECK: sinter.random_bernoulli %{{.*}}, %{{.*}} stream 2 probability 5.000000e-01 origin[%{{.*}}, %{{.*}}] of [8, 5] : tensor<i64>, tensor<i64> -> tensor<4x5xi1>
  %4 = sinter.random_bernoulli %seed, %step stream 2 probability 0.5 origin [%seed, %step] of [8, 5] : tensor<i64>, tensor<i64> -> tensor<4x5xi1>
  return
}
