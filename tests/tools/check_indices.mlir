// RUN: sinter-compile %s --check-indices -o %t.plan
// RUN: sinter run %t.plan --input i=4
// RUN: not sinter run %t.plan --input i=5 2>&1 | FileCheck %s
// RUN: sinter-compile %s -o %t.plan
// RUN: sinter run %t.plan --input i=5
func.func @take(%x: tensor<5xf32> {sinter.input = "x"}, %i: tensor<i32> {sinter.input = "i"})
    -> (tensor<f32> {sinter.output = "y"}) {
  // CHECK: check_indices.mlir:[[#@LINE+1]]: gather: index 5 is outside of 0 to 4
  %y = sinter.gather %x[%i] dim 0 : tensor<5xf32>, tensor<i32> -> tensor<f32>
  return %y : tensor<f32>
}
