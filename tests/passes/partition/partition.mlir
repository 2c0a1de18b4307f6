// RUN: sinter-opt %s --split-input-file '--sinter-partition=devices=cpu:0,cpu:1' --canonicalize --cse --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --split-input-file '--sinter-partition=devices=cpu:0,cpu:1 update=main' --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=MAIN
// RUN: sinter-opt %s --split-input-file '--sinter-partition=devices=cpu:0' --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=ONE

// One device exchanges nothing.
// ONE-NOT: all_reduce
// ONE-NOT: all_gather
// ONE-NOT: reduce
// ONE-NOT: "w#1"

// Each device holds a copy of the variable and half of the rows. Loss and gradient are reduced together, and
// each device updates its own copy.
// CHECK: sinter.variable @w {{.*}}sinter.device = #sinter.device<cpu, 0>
// CHECK: sinter.variable @"w#1" {{.*}}sinter.device = #sinter.device<cpu, 1>, sinter.replica_of = @w
// CHECK-LABEL: func.func @train
// CHECK-SAME: sinter.variable = @"w#1"
// CHECK-SAME: (tensor<f32> {sinter.device = #sinter.device<cpu, 0>, sinter.output = "loss"}, tensor<f32> {sinter.device = #sinter.device<cpu, 1>, sinter.output = "loss"}
// CHECK: %[[X1:.*]] = sinter.copy %[[X:.*]] to <cpu, 1> because input
// CHECK: %[[P0:.*]] = sinter.slice %[[X]] [0, 0] [3, 4] [1, 1]
// CHECK: %[[P1:.*]] = sinter.slice %[[X1]] [3, 0] [6, 4] [1, 1]
// CHECK: %[[D0:.*]] = sinter.matmul %[[P0]], %{{.*}}transpose_a} : (tensor<3x4xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[D1:.*]] = sinter.matmul %[[P1]], %{{.*}}transpose_a} : (tensor<3x4xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[S0:.*]] = sinter.sum %{{.*}} [0, 1] {sinter.device = #sinter.device<cpu, 0>} : tensor<3x3xf32>
// CHECK: %[[S1:.*]] = sinter.sum
// CHECK: %[[R0:.*]]:2 = sinter.all_reduce sum %[[D0]], %[[S0]] over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 {sinter.device = #sinter.device<cpu, 0>}
// CHECK-NEXT: %[[R1:.*]]:2 = sinter.all_reduce sum %[[D1]], %[[S1]] over {{.*}} channel 0 {sinter.device = #sinter.device<cpu, 1>}
// CHECK: %[[W0:.*]] = sinter.sub %{{.*}}, %[[R0]]#0
// CHECK: %[[W1:.*]] = sinter.sub %{{.*}}, %[[R1]]#0
// CHECK: return %[[R0]]#1, %[[R1]]#1, %[[W0]], %[[W1]]

// Only the main device has the sums. It computes the new values and sends them to the others.
// MAIN-LABEL: func.func @train
// MAIN: %[[R:.*]]:2 = sinter.reduce sum %{{.*}}, %{{.*}} to 0 over {{.*}} channel 0 {sinter.device = #sinter.device<cpu, 0>}
// MAIN-NEXT: sinter.reduce sum {{.*}} channel 0 {sinter.device = #sinter.device<cpu, 1>}{{.*}} -> ()
// MAIN-NEXT: %[[W:.*]] = sinter.sub %{{.*}}, %[[R]]#0
// MAIN-NEXT: %[[B0:.*]]:2 = sinter.broadcast_from %[[R]]#1, %[[W]] root 0
// MAIN-NEXT: %[[B1:.*]]:2 = sinter.broadcast_from root 0
// MAIN-NEXT: return %[[B0]]#0, %[[B1]]#0, %[[B0]]#1, %[[B1]]#1
sinter.variable @w : tensor<4x3xf32> = normal(0.0, 0.1) seed 7 trainable
func.func @train(%x: tensor<6x4xf32> {sinter.input = "x"}, %w: tensor<4x3xf32> {sinter.variable = @w})
    -> (tensor<f32> {sinter.output = "loss"}, tensor<4x3xf32> {sinter.variable = @w}) {
  %y = sinter.matmul %x, %w : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %e = sinter.square %y : tensor<6x3xf32>
  %g = sinter.matmul %x, %y {transpose_a} : (tensor<6x4xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %s = sinter.sum %e [0, 1] : tensor<6x3xf32> -> tensor<f32>
  %w1 = sinter.sub %w, %g : tensor<4x3xf32>
  return %s, %w1 : tensor<f32>, tensor<4x3xf32>
}

// -----

// A sum that the batch depends on is reduced immediately. A value is gathered for an op that needs the whole
// batch, and not for an op that needs only its own rows.
// CHECK-LABEL: func.func @statistics
// CHECK: %[[A:.*]] = sinter.sum %{{.*}} [0] {sinter.device = #sinter.device<cpu, 0>} : tensor<4x8xf32> -> tensor<8xf32>
// CHECK: sinter.all_reduce sum %[[A]] over
// CHECK: sinter.sub {{.*}} : tensor<4x8xf32>
// CHECK: sinter.max {{.*}} : tensor<4x8xf32> -> tensor<4xf32>
// CHECK: sinter.all_gather %{{.*}} sizes [4, 4] over {{.*}} : tensor<4xf32> -> tensor<8xf32>
// CHECK: sinter.argmax %{{.*}} dim 0 {{.*}} : tensor<8xf32> -> tensor<i32>
func.func @statistics(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<i32> {sinter.output = "best"}) {
  %s = sinter.sum %x [0] : tensor<8x8xf32> -> tensor<8xf32>
  %b = sinter.broadcast %s [1] : tensor<8xf32> -> tensor<8x8xf32>
  %c = sinter.sub %x, %b : tensor<8x8xf32>
  %m = sinter.max %c [1] : tensor<8x8xf32> -> tensor<8xf32>
  %a = sinter.argmax %m dim 0 : tensor<8xf32> -> tensor<i32>
  return %a : tensor<i32>
}

// -----

// Rows stay sharded through reshapes and transposes. A replicated value is sliced for an op that needs rows.
// An embedding's gradient is a sum of partial results; only the first part starts from the operand.
// CHECK-LABEL: func.func @tokens
// CHECK: sinter.reshape {{.*}} : tensor<1x3x4xf32> -> tensor<3x4xf32>
// CHECK: sinter.transpose {{.*}} : tensor<3x4xf32> -> tensor<4x3xf32>
// CHECK: sinter.scatter_add %[[TABLE:.*]][%{{.*}}], %{{.*}} dim 0 {sinter.device = #sinter.device<cpu, 0>}
// CHECK: sinter.scatter_add %[[ZERO:.*]][%{{.*}}], %{{.*}} dim 0 {sinter.device = #sinter.device<cpu, 1>}
// CHECK: sinter.all_reduce sum
func.func @tokens(%x: tensor<2x3x4xf32> {sinter.input = "x"}, %i: tensor<2x3xi32> {sinter.input = "i"},
                  %table: tensor<5x4xf32> {sinter.variable = @table})
    -> (tensor<4x4xf32> {sinter.output = "gram"}, tensor<5x4xf32> {sinter.variable = @table}) {
  %r = sinter.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %t = sinter.transpose %r [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
  %gram = sinter.matmul %t, %r : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %new = sinter.scatter_add %table [%i], %x dim 0 : tensor<5x4xf32>, tensor<2x3xi32>, tensor<2x3x4xf32>
  return %gram, %new : tensor<4x4xf32>, tensor<5x4xf32>
}
sinter.variable @table : tensor<5x4xf32> = constant(0.0, 0.0) seed 0

// -----

// Attention treats examples independently, whichever operand holds them.
// CHECK-LABEL: func.func @attention
// CHECK: sinter.attention {{.*}}sinter.device = #sinter.device<cpu, 0>{{.*}} -> (tensor<3x4x2x8xbf16>, tensor<3x2x4xf32>)
// CHECK: sinter.attention {{.*}}sinter.device = #sinter.device<cpu, 1>{{.*}} -> (tensor<3x4x2x8xbf16>, tensor<3x2x4xf32>)
// CHECK: sinter.attention_grad {{.*}} -> tensor<3x4x3x2x8xbf16>
// CHECK: sinter.attention_grad {{.*}} -> tensor<3x4x3x2x8xbf16>
// CHECK-NOT: all_gather {{.*}}tensor<3x4x2x8xbf16>
// CHECK: return
func.func @attention(%x: tensor<6x4x3x2x8xbf16> {sinter.input = "x"}) -> (tensor<bf16> {sinter.output = "y"}) {
  %r:2 = sinter.attention %x {scale = 0.5 : f64} : (tensor<6x4x3x2x8xbf16>) -> (tensor<6x4x2x8xbf16>, tensor<6x2x4xf32>)
  %d = sinter.attention_grad %x result %r#0 stats %r#1 gradient %r#0 {scale = 0.5 : f64}
      : (tensor<6x4x3x2x8xbf16>, tensor<6x4x2x8xbf16>, tensor<6x2x4xf32>, tensor<6x4x2x8xbf16>) -> tensor<6x4x3x2x8xbf16>
  %s = sinter.sum %d [0, 1, 2, 3, 4] : tensor<6x4x3x2x8xbf16> -> tensor<bf16>
  return %s : tensor<bf16>
}

// -----

// Readers of a pending sum are moved after all other ops, so that the running mean and the gradient are
// reduced together.
// CHECK-LABEL: func.func @late
// CHECK: sinter.sum %{{.*}} [0] {{.*}} : tensor<4x3xf32> -> tensor<3xf32>
// CHECK-NOT: all_reduce
// CHECK: sinter.matmul
// CHECK: sinter.matmul
// CHECK: sinter.all_reduce sum %{{[^,]*}}, %{{[^,]*}} over {{.*}} channel 0 {sinter.device = #sinter.device<cpu, 0>} : (tensor<3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: sinter.all_reduce sum {{.*}} channel 0 {sinter.device = #sinter.device<cpu, 1>}
// CHECK: sinter.mul
// CHECK-NOT: all_reduce
// CHECK: return
func.func @late(%x: tensor<8x3xf32> {sinter.input = "x"}, %w: tensor<2x3xf32> {sinter.variable = @v}, %m: tensor<3xf32> {sinter.variable = @mean})
    -> (tensor<3xf32> {sinter.variable = @mean}, tensor<2x3xf32> {sinter.variable = @v}) {
  %s = sinter.sum %x [0] : tensor<8x3xf32> -> tensor<3xf32>
  %r = sinter.mul %s, %m : tensor<3xf32>
  %y = sinter.matmul %x, %w {transpose_b} : (tensor<8x3xf32>, tensor<2x3xf32>) -> tensor<8x2xf32>
  %g = sinter.matmul %y, %x {transpose_a} : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  %u = sinter.sub %w, %g : tensor<2x3xf32>
  return %r, %u : tensor<3xf32>, tensor<2x3xf32>
}
sinter.variable @v : tensor<2x3xf32> = constant(0.0, 0.0) seed 0
sinter.variable @mean : tensor<3xf32> = constant(0.0, 0.0) seed 0

// -----

// If all rows of a value are equal, a device computes only its own number of rows: a matmul takes a broadcast
// as bias.
// CHECK-LABEL: func.func @alike
// CHECK-DAG: sinter.iota 1 : tensor<4x3xf32>
// CHECK-DAG: sinter.broadcast %{{.*}} [1] {sinter.device = #sinter.device<cpu, 0>} : tensor<3xf32> -> tensor<4x3xf32>
// CHECK-DAG: sinter.broadcast %{{.*}} [0, 1] {sinter.device = #sinter.device<cpu, 1>} : tensor<1x3xf32> -> tensor<4x3xf32>
// CHECK-DAG: sinter.iota 0 : tensor<8x3xf32>
// CHECK-DAG: sinter.slice %{{.*}} [4, 0] [8, 3] [1, 1] {{.*}} : tensor<8x3xf32> -> tensor<4x3xf32>
func.func @alike(%x: tensor<8x3xf32> {sinter.input = "x"}, %b: tensor<3xf32> {sinter.variable = @b}, %c: tensor<1x3xf32> {sinter.variable = @c})
    -> (tensor<3xf32> {sinter.output = "y"}) {
  %p = sinter.broadcast %b [1] : tensor<3xf32> -> tensor<8x3xf32>
  %q = sinter.broadcast %c [0, 1] : tensor<1x3xf32> -> tensor<8x3xf32>
  %i = sinter.iota 1 : tensor<8x3xf32>
  %j = sinter.iota 0 : tensor<8x3xf32>
  %1 = sinter.add %x, %p : tensor<8x3xf32>
  %2 = sinter.add %1, %q : tensor<8x3xf32>
  %3 = sinter.add %2, %i : tensor<8x3xf32>
  %4 = sinter.add %3, %j : tensor<8x3xf32>
  %y = sinter.sum %4 [0] : tensor<8x3xf32> -> tensor<3xf32>
  return %y : tensor<3xf32>
}
sinter.variable @b : tensor<3xf32> = constant(0.0, 0.0) seed 0
sinter.variable @c : tensor<1x3xf32> = constant(0.0, 0.0) seed 0

// -----

// A table is read twice: each device adds both gradients, and only their sum is reduced, not one in bf16 and
// one in f32. A gradient without such a partner is reduced in its own low precision.
// CHECK-LABEL: func.func @twice
// CHECK: %[[A:.*]] = sinter.matmul %{{.*}} {sinter.device = #sinter.device<cpu, 0>{{.*}} -> tensor<3x3xbf16>
// CHECK: %[[B:.*]] = sinter.sum %{{.*}} [0] {sinter.device = #sinter.device<cpu, 0>} : tensor<4x3x3xf32> -> tensor<3x3xf32>
// CHECK: %[[W:.*]] = sinter.cast %[[A]] {sinter.device = #sinter.device<cpu, 0>} : tensor<3x3xbf16> -> tensor<3x3xf32>
// CHECK: %[[G:.*]] = sinter.add %[[B]], %[[W]] {sinter.device = #sinter.device<cpu, 0>} : tensor<3x3xf32>
// CHECK: sinter.all_reduce sum %[[G]] over {{.*}} channel 0 {sinter.device = #sinter.device<cpu, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK: sinter.all_reduce sum %{{.*}} channel 1 {sinter.device = #sinter.device<cpu, 0>} : (tensor<3x3xbf16>) -> tensor<3x3xbf16>
// CHECK-NOT: channel 2
// CHECK: return
// MAIN-LABEL: func.func @twice
// MAIN: sinter.add {{.*}} {sinter.device = #sinter.device<cpu, 0>} : tensor<3x3xf32>
// MAIN: sinter.add {{.*}} {sinter.device = #sinter.device<cpu, 1>} : tensor<3x3xf32>
// MAIN: sinter.reduce sum
func.func @twice(%x: tensor<8x3xbf16> {sinter.input = "x"}, %y: tensor<8x3x3xf32> {sinter.input = "y"}, %t: tensor<3x3xf32> {sinter.variable = @t}, %u: tensor<3x3xf32> {sinter.variable = @u})
    -> (tensor<3x3xf32> {sinter.variable = @t}, tensor<3x3xf32> {sinter.variable = @u}) {
  %a = sinter.matmul %x, %x {transpose_a} : (tensor<8x3xbf16>, tensor<8x3xbf16>) -> tensor<3x3xbf16>
  %b = sinter.sum %y [0] : tensor<8x3x3xf32> -> tensor<3x3xf32>
  %w = sinter.cast %a : tensor<3x3xbf16> -> tensor<3x3xf32>
  %g = sinter.add %b, %w : tensor<3x3xf32>
  %z = sinter.neg %x : tensor<8x3xbf16>
  %c = sinter.matmul %z, %x {transpose_a} : (tensor<8x3xbf16>, tensor<8x3xbf16>) -> tensor<3x3xbf16>
  %v = sinter.cast %c : tensor<3x3xbf16> -> tensor<3x3xf32>
  %t1 = sinter.sub %t, %g : tensor<3x3xf32>
  %u1 = sinter.sub %u, %v : tensor<3x3xf32>
  return %t1, %u1 : tensor<3x3xf32>, tensor<3x3xf32>
}
sinter.variable @t : tensor<3x3xf32> = constant(0.0, 0.0) seed 0
sinter.variable @u : tensor<3x3xf32> = constant(0.0, 0.0) seed 0
