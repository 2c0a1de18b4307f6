// RUN: sinter-opt %s --sinter-shard="axes=data strict=1" --mlir-print-local-scope | FileCheck %s

// An op that asks for all of its operands gets them, where gathers that nobody asked for are errors.
// CHECK: %[[TWICE:.*]] = sinter.add %arg0, %arg0
// CHECK: %[[ALL:.*]] = sinter.reshard %[[TWICE]] to <[4]>
// CHECK: sinter.sort %[[ALL]]
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
    %twice = sinter.add %x, %x : tensor<4xf32>
    %y, %places = sinter.sort %twice {sinter.gathers} : tensor<4xf32> -> tensor<4xf32>, tensor<4xi32>
    return %y : tensor<4xf32>
  }
}
