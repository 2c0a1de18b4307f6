// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-decompose{device=gpu:0 float8 float8-rows},canonicalize,cse))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-decompose{device=gpu:0 float8},canonicalize,cse))' | FileCheck %s --check-prefix=ADA
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-decompose,canonicalize,cse))' | FileCheck %s --check-prefix=CPU

// Largest magnitude of each row, then of all; scale, clamp and cast; the weights turn to rows of k.
// CHECK-LABEL: func.func @tensorwise
// CHECK-SAME: (%[[X:.*]]: tensor<16x64xbf16>, %[[W:.*]]: tensor<64x32xbf16>)
// CHECK: %[[A:.*]] = sinter.abs %[[X]]
// CHECK: %[[ROWS:.*]] = sinter.max %[[A]] [1] : tensor<16x64xbf16> -> tensor<16xbf16>
// CHECK: sinter.max %[[ROWS]] [0] : tensor<16xbf16> -> tensor<bf16>
// CHECK: sinter.maximum
// CHECK: sinter.minimum
// CHECK: %[[XQ:.*]] = sinter.cast %{{.*}} : tensor<16x64xf32> -> tensor<16x64xf8E4M3FN>
// CHECK: %[[WQ:.*]] = sinter.cast %{{.*}} : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>
// CHECK: %[[WT:.*]] = sinter.transpose %[[WQ]] [1, 0]
// CHECK: sinter.scaled_matmul %[[XQ]], %[[WT]] scales %{{.*}}, %{{.*}} {fast} : (tensor<16x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x32xbf16>
// A CPU multiplies the rounded numbers in bf16, and scales the sums in f32.
// CPU-LABEL: func.func @tensorwise
// CPU: sinter.matmul %{{.*}} {transpose_b} : (tensor<16x64xbf16>, tensor<32x64xbf16>) -> tensor<16x32xf32>
// CPU: sinter.cast %{{.*}} : tensor<16x32xf32> -> tensor<16x32xbf16>
// CPU-NOT: scaled_matmul
func.func @tensorwise(%x: tensor<16x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<16x32xbf16> {
  %y = sinter.float8_matmul %x, %w recipe tensorwise : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  return %y : tensor<16x32xbf16>
}

// A gradient is of f8E5M2, and its product is summed in full.
// CHECK-LABEL: func.func @tensorwise_gradient
// CHECK: sinter.scaled_matmul %{{.*}} : (tensor<16x32xf8E5M2>, tensor<64x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x64xbf16>
func.func @tensorwise_gradient(%g: tensor<16x32xbf16>, %w: tensor<64x32xbf16>) -> tensor<16x64xbf16> {
  %y = sinter.float8_matmul %g, %w recipe tensorwise {transpose_b, gradient = 0 : i64} : (tensor<16x32xbf16>, tensor<64x32xbf16>) -> tensor<16x64xbf16>
  return %y : tensor<16x64xbf16>
}

// A scale for each row of x and each column of w. GPUs with scales for whole operands alone multiply in bf16.
// CHECK-LABEL: func.func @rowwise
// CHECK: sinter.max %{{.*}} [1] : tensor<16x64xbf16> -> tensor<16xbf16>
// CHECK: sinter.max %{{.*}} [0] : tensor<64x32xbf16> -> tensor<32xbf16>
// CHECK: sinter.scaled_matmul %{{.*}} {fast} : (tensor<16x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<16xf32>, tensor<32xf32>) -> tensor<16x32xbf16>
// ADA-LABEL: func.func @rowwise
// ADA-NOT: scaled_matmul
// ADA: sinter.matmul %{{.*}} {transpose_b} : (tensor<16x64xbf16>, tensor<32x64xbf16>) -> tensor<16x32xf32>
func.func @rowwise(%x: tensor<16x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<16x32xbf16> {
  %y = sinter.float8_matmul %x, %w recipe rowwise : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  return %y : tensor<16x32xbf16>
}

// The weights have one scale in x's gradient, repeated for each row.
// CHECK-LABEL: func.func @one_scale_of_weights
// CHECK: sinter.max %{{.*}} [1] : tensor<16x32xbf16> -> tensor<16xbf16>
// CHECK: sinter.max %{{.*}} [1] : tensor<64x32xbf16> -> tensor<64xbf16>
// CHECK: sinter.max %{{.*}} [0] : tensor<64xbf16> -> tensor<bf16>
// CHECK: sinter.scaled_matmul %{{.*}} : (tensor<16x32xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<16xf32>, tensor<64xf32>) -> tensor<16x64xbf16>
func.func @one_scale_of_weights(%g: tensor<16x32xbf16>, %w: tensor<64x32xbf16>) -> tensor<16x64xbf16> {
  %y = sinter.float8_matmul %g, %w recipe rowwise_with_bf16_weight_gradient {transpose_b, gradient = 0 : i64} : (tensor<16x32xbf16>, tensor<64x32xbf16>) -> tensor<16x64xbf16>
  return %y : tensor<16x64xbf16>
}

// cuBLASLt takes no rows of 24 bytes.
// CHECK-LABEL: func.func @odd_rows
// CHECK-NOT: scaled_matmul
// CHECK: sinter.matmul
func.func @odd_rows(%a: tensor<16x24xf8E4M3FN>, %b: tensor<32x24xf8E5M2>, %p: tensor<f32>, %q: tensor<f32>) -> tensor<16x32xf32> {
  %y = sinter.scaled_matmul %a, %b scales %p, %q : (tensor<16x24xf8E4M3FN>, tensor<32x24xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}
