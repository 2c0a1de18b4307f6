// RUN: sinter-opt %s --sinter-localise --canonicalize --cse --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --sinter-localise="copied-sum-bytes=1" --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=FORCED

// Ranks of GPUs send each other their terms of a gradient, of which each needs its own rows, where the predicted times
// say that this is faster. A sum for which the ranks wait stays a reduce_scatter, which may travel in parts.
// CHECK-LABEL: func.func @step
// CHECK: sinter.all_to_all
// CHECK-NOT: sinter.reduce_scatter
// CHECK-LABEL: func.func @awaited
// CHECK: sinter.reduce_scatter
// CHECK-NOT: sinter.all_to_all
// A size given by the user holds for all.
// FORCED-LABEL: func.func @awaited
// FORCED: sinter.all_to_all
// FORCED-NOT: sinter.reduce_scatter
#gpu = #sinter.device<gpu, 0>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @step(%x: tensor<8x4000000xf32> {sinter.input = "x", sinter.device = #gpu, sinter.sharding = #sinter.sharding<[8 data, 4000000]>})
      -> (tensor<4000000xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] {sinter.device = #gpu, sinter.sharding = [#sinter.sharding<[4000000] partial sum data>]} : tensor<8x4000000xf32> -> tensor<4000000xf32>
    %r = sinter.reshard %s to <[4000000 data]> {sinter.device = #gpu, sinter.may_wait, sinter.sharding = [#sinter.sharding<[4000000 data]>]} : tensor<4000000xf32>
    %e = sinter.exp %r {sinter.device = #gpu, sinter.sharding = [#sinter.sharding<[4000000 data]>]} : tensor<4000000xf32>
    %y = sinter.reshard %e to <[4000000]> {sinter.device = #gpu} : tensor<4000000xf32>
    return %y : tensor<4000000xf32>
  }
  func.func @awaited(%x: tensor<8x4000000xf32> {sinter.input = "x", sinter.device = #gpu, sinter.sharding = #sinter.sharding<[8 data, 4000000]>})
      -> (tensor<4000000xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] {sinter.device = #gpu, sinter.sharding = [#sinter.sharding<[4000000] partial sum data>]} : tensor<8x4000000xf32> -> tensor<4000000xf32>
    %r = sinter.reshard %s to <[4000000 data]> {sinter.device = #gpu, sinter.sharding = [#sinter.sharding<[4000000 data]>]} : tensor<4000000xf32>
    %e = sinter.exp %r {sinter.device = #gpu, sinter.sharding = [#sinter.sharding<[4000000 data]>]} : tensor<4000000xf32>
    %y = sinter.reshard %e to <[4000000]> {sinter.device = #gpu} : tensor<4000000xf32>
    return %y : tensor<4000000xf32>
  }
}
