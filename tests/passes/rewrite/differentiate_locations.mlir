// RUN: sinter-opt %s --sinter-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// The ops of a gradient have the location of the user's line for the forward op.
// CHECK: sinter.cos %{{.*}} loc(fused<"gradient">["model.cc":7:3])
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = sinter.sin %x : tensor<4xf32> loc("model.cc":7:3)
  %loss = sinter.sum %s [0] : tensor<4xf32> -> tensor<f32> loc("model.cc":8:3)
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}
