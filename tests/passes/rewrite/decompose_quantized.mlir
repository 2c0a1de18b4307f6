// RUN: sinter-opt %s --sinter-decompose --canonicalize --cse | FileCheck %s

// Kernels read the matrix for up to 16 rows.
// CHECK-LABEL: func.func @few_rows
// CHECK-NEXT: sinter.quantized_matmul
func.func @few_rows(%x: tensor<16x64xf32>, %w: tensor<4x64xi8>, %s: tensor<4x1xf32>) -> tensor<16x4xf32> {
  %y = sinter.quantized_matmul %x, %w scale %s : (tensor<16x64xf32>, tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<16x4xf32>
  return %y : tensor<16x4xf32>
}

// The scale of a row multiplies the sum, in f32.
// CHECK-LABEL: func.func @scale_of_rows
// CHECK-SAME: (%[[X:.*]]: tensor<17x64xbf16>, %[[W:.*]]: tensor<4x64xi8>, %[[S:.*]]: tensor<4x1xbf16>)
// CHECK: %[[M:.*]] = sinter.cast %{{.*}} -> tensor<4x64xbf16>
// CHECK: %[[Y:.*]] = sinter.matmul %[[X]], %[[M]] {transpose_b} : (tensor<17x64xbf16>, tensor<4x64xbf16>) -> tensor<17x4xf32>
// CHECK: %[[P:.*]] = sinter.mul %[[Y]], %{{.*}} : tensor<17x4xf32>
// CHECK: sinter.cast %[[P]] : tensor<17x4xf32> -> tensor<17x4xbf16>
func.func @scale_of_rows(%x: tensor<17x64xbf16>, %w: tensor<4x64xi8>, %s: tensor<4x1xbf16>) -> tensor<17x4xbf16> {
  %y = sinter.quantized_matmul %x, %w scale %s : (tensor<17x64xbf16>, tensor<4x64xi8>, tensor<4x1xbf16>) -> tensor<17x4xbf16>
  return %y : tensor<17x4xbf16>
}

// Pairs are taken apart, and the scales of groups multiply the numbers.
// CHECK-LABEL: func.func @pairs
// CHECK-SAME: (%[[X:.*]]: tensor<17x64xf32>
// CHECK: sinter.floor
// CHECK: sinter.concat %{{.*}}, %{{.*}} dim 2 : (tensor<4x2x16xf32>, tensor<4x2x16xf32>) -> tensor<4x2x32xf32>
// CHECK: %[[M:.*]] = sinter.mul %{{.*}}, %{{.*}} : tensor<4x64xf32>
// CHECK: sinter.matmul %[[X]], %[[M]] {transpose_b} : (tensor<17x64xf32>, tensor<4x64xf32>) -> tensor<17x4xf32>
func.func @pairs(%x: tensor<17x64xf32>, %w: tensor<4x32xui8>, %s: tensor<4x2xf32>) -> tensor<17x4xf32> {
  %y = sinter.quantized_matmul %x, %w scale %s : (tensor<17x64xf32>, tensor<4x32xui8>, tensor<4x2xf32>) -> tensor<17x4xf32>
  return %y : tensor<17x4xf32>
}
