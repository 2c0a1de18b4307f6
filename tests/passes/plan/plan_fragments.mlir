// RUN: sinter-opt %s --pass-pipeline='builtin.module(sinter-outline-loops,func.func(sinter-fuse),sinter-lower-to-plan,sinter-plan-fragments,plan.function(sinter-order-calls,sinter-update-in-place,sinter-plan-memory,sinter-verify-plan))' | FileCheck %s

// A carry is updated in place, and the kernel writes the stack too. The arena of the body is the workspace of the
// call that runs it: here that of the product, 2 x 3 numbers at a multiple of 64 bytes.
// CHECK-LABEL: plan.function @cell.loop0 fragment arena 64
// CHECK-DAG: %[[OLD:.*]] = plan.variable @carry0
// CHECK-DAG: %[[NEW:.*]] = plan.variable @carry0
// CHECK-DAG: %[[STACK:.*]] = plan.variable @stack0
// CHECK-DAG: %[[X:.*]] = plan.input "slice0"
// CHECK-DAG: %[[W:.*]] = plan.input "with0"
// CHECK: plan.call "matmul_0" ins(%[[OLD]], %[[W]] : {{.*}}) outs(%[[P:.*]] :
// CHECK: plan.call "fusion_1_add" ins(%[[P]], %[[X]] : {{.*}}) outs(%{{.*}}, %{{.*}} :
// CHECK-NOT: plan.copy
// CHECK-LABEL: plan.function @cell arena
// CHECK: plan.call "loop_2" {{.*}}in_place = array<i64: 0, 0>, workspace_bytes = 64
func.func @cell(%x: tensor<4x2x3xf32> {sinter.input = "x"}, %w: tensor<3x3xf32> {sinter.input = "w"}, %h: tensor<2x3xf32> {sinter.input = "h"})
    -> (tensor<2x3xf32> {sinter.output = "h"}, tensor<4x2x3xf32> {sinter.output = "hs"}) {
  %s:2 = sinter.scan 4 carry(%h : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xf32>):
    %p = sinter.matmul %c, %wi : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %n = sinter.add %p, %xi : tensor<2x3xf32>
    sinter.yield %n, %n : tensor<2x3xf32>, tensor<2x3xf32>
  }
  return %s#0, %s#1 : tensor<2x3xf32>, tensor<4x2x3xf32>
}

// The old carry is stacked before it is overwritten.
// CHECK-LABEL: plan.function @old.loop0 fragment
// CHECK: plan.copy %{{.*}} to %{{.*}}
// CHECK: plan.call "fusion_
func.func @old(%h: tensor<2x3xf32> {sinter.input = "h"}) -> (tensor<4x2x3xf32> {sinter.output = "hs"}) {
  %s:2 = sinter.scan 4 carry(%h : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2x3xf32>):
    %n = sinter.exp %c : tensor<2x3xf32>
    sinter.yield %n, %c : tensor<2x3xf32>, tensor<2x3xf32>
  }
  return %s#1 : tensor<4x2x3xf32>
}
