// RUN: sinter-opt %s --device=cpu:0 --sinter-fuse --mlir-print-local-scope | FileCheck %s

// Members of a collective wait for each other. A kernel that feeds one member cannot also read, through a
// copy, the result of another member, although both loops read the same large value.
// CHECK-LABEL: func.func @between
// CHECK: %[[A:.*]] = sinter.fusion(%{{.*}}) -> (tensor<2048xf32>)
// CHECK: %[[B:.*]] = sinter.fusion(%{{.*}}) -> (tensor<2048xf32>)
// CHECK: %[[R:.*]] = sinter.all_reduce sum %[[A]] {{.*}}<cpu, 0>}
// CHECK: sinter.all_reduce sum %[[B]] {{.*}}<cpu, 1>}
// CHECK: %[[C:.*]] = sinter.copy %[[R]] to <cpu, 1>
// CHECK: sinter.fusion(%[[C]], %{{.*}}) -> (tensor<2048xf32>)
func.func @between(%x: tensor<2048xf32> {sinter.input = "x", sinter.device = #sinter.device<cpu, 0>},
                   %z: tensor<2048xf32> {sinter.input = "z", sinter.device = #sinter.device<cpu, 1>})
    -> (tensor<2048xf32> {sinter.output = "w"}) {
  %a = sinter.exp %x : tensor<2048xf32>
  %b = sinter.exp %z : tensor<2048xf32>
  %r = sinter.all_reduce sum %a over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<2048xf32>) -> tensor<2048xf32>
  %s = sinter.all_reduce sum %b over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<2048xf32>) -> tensor<2048xf32>
  %c = sinter.copy %r to <cpu, 1> : tensor<2048xf32>
  %w = sinter.mul %c, %z : tensor<2048xf32>
  return %w : tensor<2048xf32>
}
