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

// A variant for some ranks of a mesh keeps its exchanges in the order of their channels, as the other variants
// do. So no kernel both feeds an exchange and reads the result of a later one. Without variants any order will
// do.
// CHECK-LABEL: func.func @variant
// CHECK: %[[A:.*]] = sinter.fusion(%{{.*}}) -> (tensor<2048xf32>)
// CHECK: sinter.all_reduce sum %[[A]]
// CHECK: %[[S:.*]] = sinter.all_reduce
// CHECK: sinter.fusion(%[[S]], %{{.*}}) -> (tensor<2048xf32>)
// CHECK-LABEL: func.func @whole
// CHECK: %[[S:.*]] = sinter.all_reduce
// CHECK: %[[AW:.*]]:2 = sinter.fusion(%{{.*}}) -> (tensor<2048xf32>, tensor<2048xf32>)
// CHECK: sinter.all_reduce sum %[[AW]]#
func.func @variant(%x: tensor<2048xf32> {sinter.input = "x"}, %z: tensor<2048xf32> {sinter.input = "z"})
    -> (tensor<2048xf32> {sinter.output = "r"}, tensor<2048xf32> {sinter.output = "w"})
    attributes {sinter.ranks = array<i64: 0, 1>, sinter.variant_of = "variants"} {
  %a = sinter.exp %x : tensor<2048xf32>
  %r = sinter.all_reduce sum %a over [#sinter.device<cpu, 0>] channel 0 : (tensor<2048xf32>) -> tensor<2048xf32>
  %s = sinter.all_reduce sum %z over [#sinter.device<cpu, 0>] channel 1 : (tensor<2048xf32>) -> tensor<2048xf32>
  %w = sinter.mul %s, %x : tensor<2048xf32>
  return %r, %w : tensor<2048xf32>, tensor<2048xf32>
}
func.func @whole(%x: tensor<2048xf32> {sinter.input = "x"}, %z: tensor<2048xf32> {sinter.input = "z"})
    -> (tensor<2048xf32> {sinter.output = "r"}, tensor<2048xf32> {sinter.output = "w"}) {
  %a = sinter.exp %x : tensor<2048xf32>
  %r = sinter.all_reduce sum %a over [#sinter.device<cpu, 0>] channel 0 : (tensor<2048xf32>) -> tensor<2048xf32>
  %s = sinter.all_reduce sum %z over [#sinter.device<cpu, 0>] channel 1 : (tensor<2048xf32>) -> tensor<2048xf32>
  %w = sinter.mul %s, %x : tensor<2048xf32>
  return %r, %w : tensor<2048xf32>, tensor<2048xf32>
}
