// RUN: sinter-opt %s --sinter-shard="axes=data even=false" --sinter-localise --canonicalize --cse --mlir-print-local-scope | FileCheck %s

// Five rows over three ranks: ranks 0 and 1 have two rows, rank 2 has one. Both variants meet the same
// exchanges, with the same channels and sizes.
// CHECK-LABEL: func.func @"norm#0"(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4xf32> {sinter.input = "x", sinter.part = #sinter.part<tensor<5x4xf32> from 0 by [2]>}
// CHECK-SAME: attributes {sinter.ranks = array<i64: 0, 2>, sinter.variant_of = "norm"}
// CHECK: %[[S:.*]] = sinter.sum %[[X]] [0]
// CHECK: sinter.all_reduce sum %[[S]] over ["data"] channel 0
// CHECK: sinter.all_gather %{{.*}} sizes [2, 2, 1] over ["data"] channel 1{{.*}} : tensor<2x4xf32> -> tensor<5x4xf32>
// CHECK-LABEL: func.func @"norm#1"(
// CHECK-SAME: tensor<1x4xf32> {sinter.input = "x", sinter.part = #sinter.part<tensor<5x4xf32> from 2 by [1]>}
// CHECK-SAME: attributes {sinter.ranks = array<i64: 2, 3>, sinter.variant_of = "norm"}
// CHECK: sinter.all_reduce sum %{{.*}} over ["data"] channel 0
// CHECK: sinter.all_gather %{{.*}} sizes [2, 2, 1] over ["data"] channel 1{{.*}} : tensor<1x4xf32> -> tensor<5x4xf32>
module attributes {sinter.mesh = #sinter.mesh<data 3>} {
  func.func @norm(%x: tensor<5x4xf32> {sinter.input = "x"}) -> (tensor<5x4xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] : tensor<5x4xf32> -> tensor<4xf32>
    %b = sinter.broadcast %s [1] : tensor<4xf32> -> tensor<5x4xf32>
    %y = sinter.div %x, %b : tensor<5x4xf32>
    return %y : tensor<5x4xf32>
  }
}
