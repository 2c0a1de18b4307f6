// RUN: sinter-opt %s --sinter-shard="axes=data even=false" --mlir-print-local-scope | FileCheck %s

// Three examples of four tokens on two ranks, whose tokens are the rows of a matmul. Parts of two and one
// examples are parts of the rows too: no rank computes those of the other, and nothing is gathered.
// CHECK-LABEL: func.func @train
// CHECK-NOT: reshard
// CHECK: sinter.reshape %arg0 {sinter.sharding = [#sinter.sharding<[3 data * 4, 8]>]}
// CHECK: sinter.matmul {{.*}}sinter.sharding = [#sinter.sharding<[3 data * 4, 16]>]
// CHECK: sinter.matmul {{.*}}sinter.sharding = [#sinter.sharding<[8, 16] partial sum data>]
// CHECK: sinter.reshard {{.*}} to <[8, 16]>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  sinter.variable @w : tensor<8x16xf32> = normal(0.0, 0.1) seed 1 trainable
  func.func @train(%x: tensor<3x4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.variable = @w})
      -> (tensor<8x16xf32> {sinter.variable = @w}) {
    %rows = sinter.reshape %x : tensor<3x4x8xf32> -> tensor<12x8xf32>
    %y = sinter.matmul %rows, %w : (tensor<12x8xf32>, tensor<8x16xf32>) -> tensor<12x16xf32>
    %g = sinter.matmul %rows, %y {transpose_a} : (tensor<12x8xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
    return %g : tensor<8x16xf32>
  }
}
