// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sinter-differentiate))' | FileCheck %s

// Both gradients of a layer are products of its recipe, which know the operand that is a gradient.
// CHECK-LABEL: func.func @tensorwise
// CHECK-SAME: (%[[X:.*]]: tensor<16x64xbf16>, %[[W:.*]]: tensor<64x32xbf16>)
// CHECK: sinter.float8_matmul %[[G:.*]], %[[W]] recipe tensorwise {gradient = 0 : i64, transpose_b}
// CHECK: sinter.float8_matmul %[[X]], %[[G]] recipe tensorwise {gradient = 1 : i64, transpose_a}
func.func @tensorwise(%x: tensor<16x64xbf16>, %w: tensor<64x32xbf16>) -> (tensor<16x64xbf16>, tensor<64x32xbf16>) {
  %y = sinter.float8_matmul %x, %w recipe tensorwise : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %s = sinter.square %y : tensor<16x32xbf16>
  %l = sinter.sum %s [0, 1] : tensor<16x32xbf16> -> tensor<bf16>
  %d:2 = sinter.gradients %l wrt %x, %w : (tensor<bf16>, tensor<16x64xbf16>, tensor<64x32xbf16>) -> (tensor<16x64xbf16>, tensor<64x32xbf16>)
  return %d#0, %d#1 : tensor<16x64xbf16>, tensor<64x32xbf16>
}

// -----

// The gradient of the weights is a matmul of the operands as they are.
// CHECK-LABEL: func.func @wide_weight_gradient
// CHECK-SAME: (%[[X:.*]]: tensor<16x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>)
// CHECK: sinter.float8_matmul %[[G:.*]], %[[W]] recipe rowwise_with_bf16_weight_gradient {gradient = 0 : i64}
// CHECK: sinter.matmul %[[G]], %[[X]] {transpose_a} : (tensor<16x32xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
func.func @wide_weight_gradient(%x: tensor<16x64xbf16>, %w: tensor<32x64xbf16>) -> (tensor<16x64xbf16>, tensor<32x64xbf16>) {
  %y = sinter.float8_matmul %x, %w recipe rowwise_with_bf16_weight_gradient {transpose_b} : (tensor<16x64xbf16>, tensor<32x64xbf16>) -> tensor<16x32xbf16>
  %s = sinter.square %y : tensor<16x32xbf16>
  %l = sinter.sum %s [0, 1] : tensor<16x32xbf16> -> tensor<bf16>
  %d:2 = sinter.gradients %l wrt %x, %w : (tensor<bf16>, tensor<16x64xbf16>, tensor<32x64xbf16>) -> (tensor<16x64xbf16>, tensor<32x64xbf16>)
  return %d#0, %d#1 : tensor<16x64xbf16>, tensor<32x64xbf16>
}
