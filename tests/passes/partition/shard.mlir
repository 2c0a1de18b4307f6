// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=tensor dims=mlp" --sinter-cut-variables="axis=data level=1" --sinter-shard=axes=data --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,SLOTS
// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=tensor dims=mlp" --sinter-cut-variables="axis=data level=3" --sinter-shard=axes=data --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,ALL

// An MLP of two layers with slots, on data 2 x tensor 2. The first matmul gives parts of the hidden units, the second
// terms of a sum; a gradient has the parts of its variable and terms over the batch, which are scattered to the
// slot's parts. The norm of all gradients is a sum of the parts' sums. With ZeRO's level 1 new parameters are
// gathered; with level 3 parameters are gathered where matmuls read them.
// CHECK-LABEL: func.func @train
// ALL: %[[W1:.*]] = sinter.reshard %arg1 to <[8, 16 tensor]>
// CHECK: sinter.matmul {{.*}}sinter.sharding = [#sinter.sharding<[4 data, 16 tensor]>]
// CHECK: sinter.broadcast {{.*}}sinter.sharding = [#sinter.sharding<[4 data, 16 tensor]>]
// ALL: %[[W2:.*]] = sinter.reshard %arg3 to <[16 tensor, 8]>
// CHECK: %[[Y:.*]] = sinter.matmul {{.*}}sinter.sharding = [#sinter.sharding<[4 data, 8] partial sum tensor>]
// CHECK: %[[YALL:.*]] = sinter.reshard %[[Y]] to <[4 data, 8]>
// CHECK-NOT: may_wait
// CHECK: %[[L:.*]] = sinter.sum {{.*}}sinter.sharding = [#sinter.sharding<[] partial sum data>]
// CHECK: sinter.reshard %[[L]] to <[]>{{.*}}sinter.may_wait
// CHECK: %[[G2:.*]] = sinter.matmul {{.*}}sinter.sharding = [#sinter.sharding<[16 tensor, 8] partial sum data>]
// CHECK: %[[G2PART:.*]] = sinter.reshard %[[G2]] to <[16 tensor data, 8]>{{.*}}sinter.may_wait
// CHECK: %[[DH:.*]] = sinter.matmul {{.*}}sinter.sharding = [#sinter.sharding<[4 data, 16 tensor]>]
// CHECK: %[[G1:.*]] = sinter.matmul %arg0, %[[DH]] {sinter.sharding = [#sinter.sharding<[8, 16 tensor] partial sum data>]
// CHECK: %[[G1PART:.*]] = sinter.reshard %[[G1]] to <[8 data, 16 tensor]>{{.*}}sinter.may_wait
// CHECK: %[[N:.*]] = sinter.add {{.*}}sinter.sharding = [#sinter.sharding<[] partial sum data tensor>]
// CHECK: sinter.reshard %[[N]] to <[]>
// CHECK: sinter.broadcast {{.*}}sinter.sharding = [#sinter.sharding<[8 data, 16 tensor]>]
// CHECK: %[[NEW1:.*]] = sinter.sub {{.*}}sinter.sharding = [#sinter.sharding<[8 data, 16 tensor]>]
// SLOTS: sinter.reshard %[[NEW1]] to <[8, 16 tensor]>
// ALL-NOT: sinter.reshard
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @w1 : tensor<8x16xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8, 16 mlp]>}
  sinter.variable @b1 : tensor<16xf32> = constant(0.0, 0.0) seed 1 trainable {sinter.dims = #sinter.sharding<[16 mlp]>}
  sinter.variable @w2 : tensor<16x8xf32> = normal(0.0, 0.1) seed 2 trainable {sinter.dims = #sinter.sharding<[16 mlp, 8]>}
  sinter.variable @m1 : tensor<8x16xf32> = constant(0.0, 0.0) seed 0 {sinter.slot_of = "w1"}
  sinter.variable @m2 : tensor<16x8xf32> = constant(0.0, 0.0) seed 0 {sinter.slot_of = "w2"}
  func.func @train(%x: tensor<4x8xf32> {sinter.input = "x"}, %w1: tensor<8x16xf32> {sinter.variable = @w1}, %b1: tensor<16xf32> {sinter.variable = @b1}, %w2: tensor<16x8xf32> {sinter.variable = @w2},
      %m1: tensor<8x16xf32> {sinter.variable = @m1}, %m2: tensor<16x8xf32> {sinter.variable = @m2})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<8x16xf32> {sinter.variable = @w1}, tensor<16x8xf32> {sinter.variable = @w2}, tensor<8x16xf32> {sinter.variable = @m1}, tensor<16x8xf32> {sinter.variable = @m2}) {
    %h0 = sinter.matmul %x, %w1 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %bb = sinter.broadcast %b1 [1] : tensor<16xf32> -> tensor<4x16xf32>
    %h1 = sinter.add %h0, %bb : tensor<4x16xf32>
    %h = sinter.relu %h1 : tensor<4x16xf32>
    %y = sinter.matmul %h, %w2 : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %e = sinter.square %y : tensor<4x8xf32>
    %loss = sinter.sum %e [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %g2 = sinter.matmul %h, %y {transpose_a} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %dh = sinter.matmul %y, %w2 {transpose_b} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %g1 = sinter.matmul %x, %dh {transpose_a} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %q1 = sinter.square %g1 : tensor<8x16xf32>
    %n1 = sinter.sum %q1 [0, 1] : tensor<8x16xf32> -> tensor<f32>
    %q2 = sinter.square %g2 : tensor<16x8xf32>
    %n2 = sinter.sum %q2 [0, 1] : tensor<16x8xf32> -> tensor<f32>
    %n = sinter.add %n1, %n2 : tensor<f32>
    %r = sinter.rsqrt %n : tensor<f32>
    %r1 = sinter.broadcast %r [] : tensor<f32> -> tensor<8x16xf32>
    %r2 = sinter.broadcast %r [] : tensor<f32> -> tensor<16x8xf32>
    %c1 = sinter.mul %g1, %r1 : tensor<8x16xf32>
    %c2 = sinter.mul %g2, %r2 : tensor<16x8xf32>
    %nm1 = sinter.add %m1, %c1 : tensor<8x16xf32>
    %nm2 = sinter.add %m2, %c2 : tensor<16x8xf32>
    %nw1 = sinter.sub %w1, %nm1 : tensor<8x16xf32>
    %nw2 = sinter.sub %w2, %nm2 : tensor<16x8xf32>
    return %loss, %nw1, %nw2, %nm1, %nm2 : tensor<f32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>
  }
}
