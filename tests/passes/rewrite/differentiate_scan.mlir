// RUN: sinter-opt %s --sinter-differentiate --canonicalize --cse | FileCheck %s

// The forward loop stacks the result of the product and the carries; the backward loop runs the other way, computes
// tanh again, and sums the gradient of the weights.
// CHECK-LABEL: func.func @cell
// CHECK: %[[F:.*]]:3 = sinter.scan 4 carry(%[[H:.*]] : tensor<2x3xf32>) over(%[[X:.*]] : tensor<4x2x3xf32>) with(%[[W:.*]] : tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>) {
// CHECK: %[[P:.*]] = sinter.matmul
// CHECK: sinter.tanh
// CHECK: sinter.yield %[[N:.*]], %[[N]], %[[P]]
// CHECK: }
// CHECK-DAG: %[[FIRST:.*]] = sinter.reshape %[[H]] : tensor<2x3xf32> -> tensor<1x2x3xf32>
// CHECK-DAG: %[[REST:.*]] = sinter.slice %[[F]]#1 [0, 0, 0] [3, 2, 3]
// CHECK: %[[BEFORE:.*]] = sinter.concat %[[FIRST]], %[[REST]] dim 0
// CHECK: %[[B:.*]]:3 = sinter.scan 4 reverse carry(%{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3x3xf32>) over(%[[BEFORE]], %[[X]], %[[F]]#2 : {{.*}}) with(%[[W]] : tensor<3x3xf32>)
// CHECK: sinter.tanh
// CHECK-DAG: sinter.matmul {{.*}} {transpose_b}
// CHECK-DAG: sinter.matmul {{.*}} {transpose_a}
// CHECK: return %[[B]]#2, %[[B]]#1, %[[B]]#0
func.func @cell(%x: tensor<4x2x3xf32>, %w: tensor<3x3xf32>, %h: tensor<2x3xf32>) -> (tensor<4x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>) {
  %s = sinter.scan 4 carry(%h : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xf32>):
    %p = sinter.matmul %c, %wi : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %sum = sinter.add %p, %xi : tensor<2x3xf32>
    %n = sinter.tanh %sum : tensor<2x3xf32>
    sinter.yield %n : tensor<2x3xf32>
  }
  %loss = sinter.mean %s [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %g:3 = sinter.gradients %loss wrt %x, %w, %h : (tensor<f32>, tensor<4x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>) -> (tensor<4x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>)
  return %g#0, %g#1, %g#2 : tensor<4x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>
}
