// RUN: sinter-compile %s --report=casts | FileCheck %s

// CHECK: compile_precision.mlir:[[#@LINE+4]]: casts input "x" of 'tensor<4x8xf32>', 128 bytes, to 'bf16' for 'sinter.matmul', a contraction
// CHECK: compile_precision.mlir:[[#@LINE+4]]: casts a value of 'tensor<4x4xbf16>', 32 bytes, to 'f32' for the function's result
module attributes {sinter.precision = bf16} {
  func.func @f(%x: tensor<4x8xf32> {sinter.input = "x"}) -> (tensor<4x4xf32> {sinter.output = "y"}) {
    %y = sinter.matmul %x, %x {transpose_b} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}
