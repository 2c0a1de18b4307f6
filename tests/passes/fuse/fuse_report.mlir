// RUN: sinter-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(sinter-fuse{report=true most-ops=4}))' -o /dev/null

func.func @library_call(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4, 4]}}
  %a = sinter.exp %x : tensor<4x4xf32>
  // expected-remark @below {{not fused with sinter.exp: sinter.matmul is a library call}}
  %b = sinter.matmul %a, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

func.func @view(%x: tensor<4x6xf32>) -> (tensor<24xf32>, tensor<4x6xf32>) {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4, 6]}}
  %a = sinter.exp %x : tensor<4x6xf32>
  // expected-remark @below {{not fused with sinter.exp: a reshape that regroups dimensions is a view of memory}}
  %b = sinter.reshape %a : tensor<4x6xf32> -> tensor<24xf32>
  return %b, %a : tensor<24xf32>, tensor<4x6xf32>
}

// -----

func.func @other_dimensions(%x: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %e = sinter.exp %x : tensor<8x4xf32>
  // expected-remark @below {{fused 2 op(s) into a row kernel over [8, 4] reduced along [1]}}
  %r = sinter.sum %e [1] : tensor<8x4xf32> -> tensor<8xf32>
  // expected-remark @below {{not fused with sinter.exp: one reduces [8, 4] along [1], the other [8, 4] along [0]}}
  // expected-remark @below {{fused 1 op(s) into a row kernel over [8, 4] reduced along [0]}}
  %c = sinter.sum %e [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %r, %c : tensor<8xf32>, tensor<4xf32>
}

// -----

func.func @different_loops(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x4xf32>) {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8]}}
  %e = sinter.exp %x : tensor<8xf32>
  %b = sinter.broadcast %e [0] : tensor<8xf32> -> tensor<8x4xf32>
  // expected-remark @below {{not fused with sinter.exp: the results [8] and [8, 4] need different loops}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8, 4]}}
  %y = sinter.neg %b : tensor<8x4xf32>
  return %e, %y : tensor<8xf32>, tensor<8x4xf32>
}

// -----

func.func @larger_than_the_loops(%x: tensor<8x4xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{fused 1 op(s) into a row kernel over [8, 4] reduced along [1]}}
  %s = sinter.sum %x [1] : tensor<8x4xf32> -> tensor<8xf32>
  %b = sinter.broadcast %s [0] : tensor<8xf32> -> tensor<8x16xf32>
  // expected-remark @below {{not fused with sinter.sum: a result of shape [8, 16] does not fit loops over [8, 4] that reduce [1]}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8, 16]}}
  %y = sinter.neg %b : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

func.func @other_rows(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{fused 1 op(s) into a row kernel over [8, 8] reduced along [1]}}
  %s = sinter.sum %x [1] : tensor<8x8xf32> -> tensor<8xf32>
  %b = sinter.broadcast %s [1] : tensor<8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{not fused with sinter.sum: the result of sinter.sum is read at other rows than its own}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8, 8]}}
  %y = sinter.sub %x, %b : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @computed_again(%x: tensor<8xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8]}}
  %e = sinter.exp %x : tensor<8xf32>
  %b = sinter.broadcast %e [0] : tensor<8xf32> -> tensor<8x64xf32>
  // expected-remark @below {{not fused with sinter.exp: sinter.exp would be read through an index map more than once: 512 elements computed instead of 8}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8, 64]}}
  %y = sinter.mul %z, %b : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

func.func @chunks(%x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>) {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [512, 512]}}
  %e = sinter.exp %x : tensor<512x512xf32>
  // expected-remark @below {{not fused with sinter.exp: 262144 elements are reduced to 1 in chunks, where full results cannot be stored}}
  // expected-remark @below {{fused 1 op(s) into a row kernel over [512, 512] reduced along [0, 1]}}
  %s = sinter.sum %e [0, 1] : tensor<512x512xf32> -> tensor<f32>
  return %e, %s : tensor<512x512xf32>, tensor<f32>
}

// -----

func.func @cycle(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4, 4]}}
  %a = sinter.exp %x : tensor<4x4xf32>
  // expected-remark @below {{not fused with sinter.exp: sinter.matmul is a library call}}
  %b = sinter.matmul %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark @below {{not fused with sinter.exp: a value between them is computed by another kernel or library call}}
  // expected-remark @below {{not fused with sinter.matmul: sinter.matmul is a library call}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4, 4]}}
  %c = sinter.add %a, %b : tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}

// -----

func.func @full(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.exp %x : tensor<4xf32>
  %b = sinter.sin %a : tensor<4xf32>
  %c = sinter.exp %b : tensor<4xf32>
  // expected-remark @below {{fused 4 op(s) into a map kernel over [4]}}
  %d = sinter.sin %c : tensor<4xf32>
  // expected-remark @below {{not fused with sinter.sin: the kernel would have 5 ops, more than 4}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4]}}
  %e = sinter.exp %d : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

func.func @composite(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{can be neither fused nor called: decompose composites and differentiate gradients first}}
  %y = sinter.softmax %x dim 1 : tensor<4x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// A dimension of size 1 does not split the columns: they are one unit of 32.
func.func @chunks_of_columns(%x: tensor<8192x16x1x2xf32>) -> (tensor<8192x16x1x2xf32>, tensor<16x2xf32>) {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [8192, 16, 1, 2]}}
  %e = sinter.exp %x : tensor<8192x16x1x2xf32>
  // expected-remark @below {{not fused with sinter.exp: 262144 elements are reduced to 32 in chunks, where full results cannot be stored}}
  // expected-remark @below {{fused 1 op(s) into a row kernel over [8192, 16, 1, 2] reduced along [0, 2]}}
  %s = sinter.sum %e [0, 2] : tensor<8192x16x1x2xf32> -> tensor<16x2xf32>
  return %e, %s : tensor<8192x16x1x2xf32>, tensor<16x2xf32>
}
