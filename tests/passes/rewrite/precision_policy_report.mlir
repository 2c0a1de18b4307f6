// RUN: sinter-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(sinter-precision-policy{report=true}))' -o /dev/null

module attributes {sinter.precision = bf16} {
  func.func @f(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.variable = @w}, %b: tensor<8xf32>) -> tensor<4x8xf32> {
    // expected-remark @below {{casts input "x" of 'tensor<4x8xf32>', 128 bytes, to 'bf16' for 'sinter.matmul', a contraction}}
    // expected-remark @below {{casts variable "w" of 'tensor<8x8xf32>', 256 bytes, to 'bf16' for 'sinter.matmul', a contraction}}
    %h = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // expected-remark @below {{casts an argument of 'tensor<8xf32>', 32 bytes, to 'bf16' for 'sinter.broadcast', between contractions}}
    %s = sinter.broadcast %b [1] : tensor<8xf32> -> tensor<4x8xf32>
    %a = sinter.add %h, %s : tensor<4x8xf32>
    %y = sinter.matmul %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // expected-remark @below {{'sinter.matmul' stays in f32: the program asks for its math mode tf32}}
    %t = sinter.matmul %x, %w math tf32 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // expected-remark @below {{casts a value of 'tensor<4x8xbf16>', 64 bytes, to 'f32' for 'sinter.add', which stays in f32}}
    %r = sinter.add %y, %t : tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

// -----

module attributes {sinter.precision = bf16} {
  func.func @gradient(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-remark @below {{casts an argument}}
    %h = sinter.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-remark @below {{casts a value of 'tensor<4x4xbf16>', 32 bytes, to 'f32' for 'sinter.sum', which stays in f32}}
    %l = sinter.sum %h [0, 1] : tensor<4x4xf32> -> tensor<f32>
    // expected-remark @below {{casts a value of 'tensor<4x4xbf16>', 32 bytes, to 'f32' for 'sinter.gradients', whose value is wanted in f32}}
    %g = sinter.gradients %l wrt %h : (tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %g : tensor<4x4xf32>
  }
}

// -----

module attributes {sinter.precision = bf16} {
  func.func @result(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-remark @below {{casts an argument}}
    %h = sinter.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-remark @below {{casts a value of 'tensor<4x4xbf16>', 32 bytes, to 'f32' for the function's result}}
    return %h : tensor<4x4xf32>
  }
}

// -----

// expected-error @below {{has sinter.precision = f64; expected f32, bf16 or f16}}
module attributes {sinter.precision = f64} {
  func.func @wrong(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
