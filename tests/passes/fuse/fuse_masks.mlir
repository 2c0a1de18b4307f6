// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline='builtin.module(func.func(sinter-fuse))' | FileCheck %s

// Two losses that have only the mask of a padding in common, and labels: each reads its own logits, so each has
// a kernel of its own, which makes its own mask.
// CHECK-LABEL: func.func @chunks
// CHECK-COUNT-2: kind = "row"
// CHECK-NOT: kind = "row"
// CHECK: return
func.func @chunks(%x: tensor<300x104xf32> {sinter.input = "x"}, %w: tensor<104x104xf32> {sinter.input = "w"}, %y: tensor<2048xi32> {sinter.input = "y"})
    -> (tensor<300xf32> {sinter.output = "a"}, tensor<300xf32> {sinter.output = "b"}) {
  %l0 = sinter.matmul %x, %w math tf32 : (tensor<300x104xf32>, tensor<104x104xf32>) -> tensor<300x104xf32>
  %l1 = sinter.matmul %x, %w math tf32 {transpose_b} : (tensor<300x104xf32>, tensor<104x104xf32>) -> tensor<300x104xf32>
  %i = sinter.iota 1 : tensor<300x104xi32>
  %n = sinter.constant dense<101> : tensor<300x104xi32>
  %inside = sinter.compare lt %i, %n : tensor<300x104xi32> -> tensor<300x104xi1>
  %zero = sinter.constant dense<0.0> : tensor<300x104xf32>
  %y0 = sinter.slice %y [0] [300] [1] : tensor<2048xi32> -> tensor<300xi32>
  %b0 = sinter.broadcast %y0 [0] : tensor<300xi32> -> tensor<300x104xi32>
  %is0 = sinter.compare eq %i, %b0 : tensor<300x104xi32> -> tensor<300x104xi1>
  %s0 = sinter.select %is0, %l0, %zero : tensor<300x104xi1>, tensor<300x104xf32>
  %m0 = sinter.select %inside, %s0, %zero : tensor<300x104xi1>, tensor<300x104xf32>
  %a = sinter.sum %m0 [1] : tensor<300x104xf32> -> tensor<300xf32>
  %y1 = sinter.slice %y [300] [600] [1] : tensor<2048xi32> -> tensor<300xi32>
  %b1 = sinter.broadcast %y1 [0] : tensor<300xi32> -> tensor<300x104xi32>
  %is1 = sinter.compare eq %i, %b1 : tensor<300x104xi32> -> tensor<300x104xi1>
  %s1 = sinter.select %is1, %l1, %zero : tensor<300x104xi1>, tensor<300x104xf32>
  %m1 = sinter.select %inside, %s1, %zero : tensor<300x104xi1>, tensor<300x104xf32>
  %b = sinter.sum %m1 [1] : tensor<300x104xf32> -> tensor<300xf32>
  return %a, %b : tensor<300xf32>, tensor<300xf32>
}
