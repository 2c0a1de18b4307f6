// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-group-batch-norm=groups=2 | FileCheck %s
// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-group-batch-norm=groups=2 --sinter-decompose | FileCheck %s --check-prefix=PARTS

// CHECK: sinter.batch_norm_training {{.*}} dim 1 {epsilon = 1.000000e-05 : f64, groups = 2 : i64}
// PARTS: sinter.reshape %{{.*}} : tensor<8x3x2x2xf32> -> tensor<2x4x3x2x2xf32>
// PARTS: sinter.sum %{{.*}} [1, 3, 4] : tensor<2x4x3x2x2xf32> -> tensor<2x3xf32>
// PARTS: sinter.reshape %{{.*}} : tensor<2x4x3x2x2xf32> -> tensor<8x3x2x2xf32>
// PARTS: sinter.sum %{{.*}} [0] : tensor<2x3xf32> -> tensor<3xf32>
func.func @f(%x: tensor<8x3x2x2xf32>, %s: tensor<3xf32>) -> (tensor<8x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %y, %m, %v = sinter.batch_norm_training %x, %s, %s dim 1 {epsilon = 1.0e-5} : (tensor<8x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y, %m, %v : tensor<8x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

func.func @f(%x: tensor<7x3xf32>, %s: tensor<3xf32>) -> tensor<7x3xf32> {
  // expected-error @below {{normalises 'tensor<7x3xf32>', whose batch is not 2 equal parts; choose a batch that is a multiple of 2, or set batch_norm = BatchStatistics::kSynchronized}}
  %y, %m, %v = sinter.batch_norm_training %x, %s, %s dim 1 {epsilon = 1.0e-5} : (tensor<7x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<7x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<7x3xf32>
}
