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

// A branch has a gradient with the same guard, whose carries begin as what they are without a trip.
// CHECK-LABEL: func.func @branch
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<2xf32>, %[[W:.*]]: tensor<2xf32>)
// CHECK: sinter.scan 1 reverse guarded carry(%[[P]], %{{.*}}, %{{.*}} : tensor<i1>, tensor<2xf32>, tensor<2xf32>) over(%{{.*}} : tensor<1x2xf32>) with(%[[W]] : tensor<2xf32>)
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[G:.*]]: tensor<i1>,
// CHECK: sinter.yield %[[G]]
func.func @branch(%p: tensor<i1>, %x: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %s:2 = sinter.scan 1 guarded carry(%p, %x : tensor<i1>, tensor<2xf32>) with(%w : tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %c: tensor<2xf32>, %wi: tensor<2xf32>):
    %m = sinter.mul %c, %wi : tensor<2xf32>
    sinter.yield %g, %m : tensor<i1>, tensor<2xf32>
  }
  %loss = sinter.mean %s#1 [0] : tensor<2xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %w : (tensor<f32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %g#0, %g#1 : tensor<2xf32>, tensor<2xf32>
}

// A while is a scan of branches, so that each trip keeps its carries.
// CHECK-LABEL: func.func @ends
// CHECK: sinter.scan 5 carry(
// CHECK: sinter.scan 1 guarded carry(
// CHECK: sinter.scan 5 reverse carry(
// CHECK: sinter.scan 1 reverse guarded carry(
func.func @ends(%go: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %s:2 = sinter.scan 5 guarded carry(%go, %x : tensor<i1>, tensor<f32>) -> (tensor<i1>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %c: tensor<f32>):
    %one = sinter.constant dense<1.0> : tensor<f32>
    %m = sinter.tanh %c : tensor<f32>
    %t = sinter.compare lt %m, %one : tensor<f32> -> tensor<i1>
    sinter.yield %t, %m : tensor<i1>, tensor<f32>
  }
  %g = sinter.gradients %s#1 wrt %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}
