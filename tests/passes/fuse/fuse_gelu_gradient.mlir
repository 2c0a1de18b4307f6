// On a GPU the gradient of gelu_tanh is computed in the matmul before it.
// RUN: sinter-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(sinter-differentiate,sinter-decompose),canonicalize,cse,sinter-propagate-placement{device=gpu:0},func.func(sinter-fuse-gelu-gradient,sinter-fuse-epilogue),canonicalize)" | FileCheck %s

// The slope of gelu_tanh is not computed separately. gelu_tanh and the column sums stay separate ops:
// cuBLASLt has them, but is slower than Sinter's kernels.
// CHECK-LABEL: func.func @gelu
// CHECK-SAME: (%[[X:[^:]*]]: tensor<64x16xbf16> {{.*}}, %[[W:[^:]*]]: tensor<16x32xbf16> {{.*}}, %[[B:[^:]*]]: tensor<32xbf16> {{.*}}, %[[V:[^:]*]]: tensor<32x8xbf16>
// CHECK: %[[PRE:.*]] = sinter.matmul %[[X]], %[[W]] bias %[[B]] {sinter.device = #sinter.device<gpu, 0>} :
// CHECK: sinter.gelu_tanh %[[PRE]]
// CHECK: %[[G:.*]] = sinter.matmul_grad %{{.*}}, %[[V]] preactivation %[[PRE]] activation gelu_tanh {sinter.device = #sinter.device<gpu, 0>, transpose_b} : (tensor<64x8xbf16>, tensor<32x8xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
// CHECK-NOT: sinter.tanh
// CHECK: sinter.sum %[[G]] [0]
func.func @gelu(%x: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xbf16>, %v: tensor<32x8xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>) {
  %p = sinter.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %bias = sinter.broadcast %b [1] : tensor<32xbf16> -> tensor<64x32xbf16>
  %h = sinter.add %p, %bias : tensor<64x32xbf16>
  %a = sinter.gelu_tanh %h : tensor<64x32xbf16>
  %y = sinter.matmul %a, %v : (tensor<64x32xbf16>, tensor<32x8xbf16>) -> tensor<64x8xbf16>
  %s = sinter.square %y : tensor<64x8xbf16>
  %loss = sinter.sum %s [0, 1] : tensor<64x8xbf16> -> tensor<bf16>
  %g:2 = sinter.gradients %loss wrt %w, %b : (tensor<bf16>, tensor<16x32xbf16>, tensor<32xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>)
  return %g#0, %g#1 : tensor<16x32xbf16>, tensor<32xbf16>
}

// -----

// Only rows of a multiple of 8 elements, and only 16-bit matmuls.
// CHECK-LABEL: func.func @odd_rows
// CHECK-NOT: sinter.matmul_grad
func.func @odd_rows(%x: tensor<64x36xbf16>, %v: tensor<36x8xbf16>) -> tensor<64x36xbf16> {
  %a = sinter.gelu_tanh %x : tensor<64x36xbf16>
  %y = sinter.matmul %a, %v : (tensor<64x36xbf16>, tensor<36x8xbf16>) -> tensor<64x8xbf16>
  %loss = sinter.sum %y [0, 1] : tensor<64x8xbf16> -> tensor<bf16>
  %g = sinter.gradients %loss wrt %x : (tensor<bf16>, tensor<64x36xbf16>) -> tensor<64x36xbf16>
  return %g : tensor<64x36xbf16>
}
// CHECK-LABEL: func.func @f32
// CHECK-NOT: sinter.matmul_grad
func.func @f32(%x: tensor<64x32xf32>, %v: tensor<32x8xf32>) -> tensor<64x32xf32> {
  %a = sinter.gelu_tanh %x : tensor<64x32xf32>
  %y = sinter.matmul %a, %v : (tensor<64x32xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  %loss = sinter.sum %y [0, 1] : tensor<64x8xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %g : tensor<64x32xf32>
}
// The matmul is multiplied by a value that is not a slope of gelu_tanh.
// CHECK-LABEL: func.func @not_a_slope
// CHECK: sinter.matmul %
// CHECK: sinter.mul
func.func @not_a_slope(%g: tensor<64x16xbf16>, %w: tensor<16x32xbf16>, %x: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %p = sinter.matmul %g, %w : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %t = sinter.tanh %x : tensor<64x32xbf16>
  %r = sinter.mul %p, %t : tensor<64x32xbf16>
  return %r : tensor<64x32xbf16>
}
