// RUN: sinter-opt %s --sinter-fold-transposes --mlir-print-local-scope | FileCheck %s

// x w^T, as programs write it that keep weights as [out, in].
// CHECK-LABEL: func.func @weights
// CHECK-NEXT: %[[R:.*]] = sinter.matmul %arg0, %arg1 {transpose_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: return %[[R]]
func.func @weights(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %t = sinter.transpose %w [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %r = sinter.matmul %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// Two transposes cancel. The math mode and the bias stay.
// CHECK-LABEL: func.func @both
// CHECK-NEXT: %[[R:.*]] = sinter.matmul %arg0, %arg1 bias %arg2 activation relu math tf32 {transpose_a} : (tensor<2x8x4xf32>, tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
func.func @both(%x: tensor<2x8x4xf32>, %w: tensor<2x8x6xf32>, %c: tensor<6xf32>) -> tensor<2x4x6xf32> {
  %s = sinter.transpose %x [0, 2, 1] : tensor<2x8x4xf32> -> tensor<2x4x8xf32>
  %t = sinter.transpose %w [0, 2, 1] : tensor<2x8x6xf32> -> tensor<2x6x8xf32>
  %r = sinter.matmul %s, %t bias %c activation relu math tf32 {transpose_b} : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  return %r : tensor<2x4x6xf32>
}

// Another reader keeps the transpose; the matmul does not wait for it.
// CHECK-LABEL: func.func @other_reader
// CHECK: %[[T:.*]] = sinter.transpose %arg1 [1, 0]
// CHECK: sinter.matmul %arg0, %arg1 {transpose_b}
// CHECK: return %{{.*}}, %[[T]]
func.func @other_reader(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> (tensor<4x6xf32>, tensor<8x6xf32>) {
  %t = sinter.transpose %w [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %r = sinter.matmul %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %r, %t : tensor<4x6xf32>, tensor<8x6xf32>
}

// The product of a matrix with its own transpose reads one matrix twice.
// CHECK-LABEL: func.func @gram
// CHECK-NEXT: sinter.matmul %arg0, %arg0 {transpose_a} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
func.func @gram(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %t = sinter.transpose %x [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %r = sinter.matmul %t, %x : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Keys [B, S, H, D] become [B, H, S, D], whose rows are contiguous, and not [B, H, D, S]. The new transpose is on the
// device of the old one.
// CHECK-LABEL: func.func @keys
// CHECK-NEXT: %[[K:.*]] = sinter.transpose %arg1 [0, 2, 1, 3] {sinter.device = #sinter.device<gpu, 1>} : tensor<2x5x3x8xf32> -> tensor<2x3x5x8xf32>
// CHECK-NEXT: sinter.matmul %arg0, %[[K]] {sinter.device = #sinter.device<gpu, 1>, transpose_b}
func.func @keys(%q: tensor<2x3x4x8xf32> {sinter.device = #sinter.device<gpu, 1>}, %k: tensor<2x5x3x8xf32> {sinter.device = #sinter.device<gpu, 1>}) -> tensor<2x3x4x5xf32> {
  %t = sinter.transpose %k [0, 2, 3, 1] {sinter.device = #sinter.device<gpu, 1>} : tensor<2x5x3x8xf32> -> tensor<2x3x8x5xf32>
  %r = sinter.matmul %q, %t {sinter.device = #sinter.device<gpu, 1>} : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>) -> tensor<2x3x4x5xf32>
  return %r : tensor<2x3x4x5xf32>
}

// Two readers would cost a second transpose; a transpose of other dimensions stays.
// CHECK-LABEL: func.func @stay
// CHECK: sinter.transpose %arg1 [0, 2, 3, 1]
// CHECK: sinter.transpose %arg0 [0, 2, 1, 3]
// CHECK: sinter.matmul %{{.*}}, %{{.*}} : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>)
func.func @stay(%q: tensor<2x4x3x8xf32>, %k: tensor<2x5x3x8xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x8x5xf32>) {
  %t = sinter.transpose %k [0, 2, 3, 1] : tensor<2x5x3x8xf32> -> tensor<2x3x8x5xf32>
  %s = sinter.transpose %q [0, 2, 1, 3] : tensor<2x4x3x8xf32> -> tensor<2x3x4x8xf32>
  %r = sinter.matmul %s, %t : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>) -> tensor<2x3x4x5xf32>
  return %r, %t : tensor<2x3x4x5xf32>, tensor<2x3x8x5xf32>
}

// (x w)^T = w^T x^T. The operands' own transposes are folded too.
// CHECK-LABEL: func.func @result
// CHECK-NEXT: %[[R:.*]] = sinter.matmul %arg1, %arg0 {transpose_b} : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: return %[[R]]
func.func @result(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %t = sinter.transpose %w [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %y = sinter.matmul %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %r = sinter.transpose %y [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// A bias is one of the columns: the result is transposed behind it.
// CHECK-LABEL: func.func @result_with_bias
// CHECK: sinter.matmul %arg0, %arg1 bias %arg2
// CHECK: sinter.transpose
func.func @result_with_bias(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %c: tensor<6xf32>) -> tensor<6x4xf32> {
  %y = sinter.matmul %x, %w bias %c : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %r = sinter.transpose %y [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}
