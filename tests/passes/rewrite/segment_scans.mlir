// RUN: sinter-opt %s --split-input-file --sinter-segment-scans=segments=2 --canonicalize --cse | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-segment-scans="segments=2 report=true" --verify-diagnostics > /dev/null

// Six trips become two segments of three; the number of a trip counts through both.
// CHECK-LABEL: func.func @even
// CHECK: %[[CUT:.*]] = sinter.reshape %arg1 : tensor<6x4xf32> -> tensor<2x3x4xf32>
// CHECK: %[[OUTER:.*]]:2 = sinter.scan 2 carry(%arg0 : tensor<4xf32>) over(%[[CUT]] : tensor<2x3x4xf32>) -> (tensor<4xf32>, tensor<2x3x4xf32>) {
// CHECK: ^bb0(%[[SEGMENT:.*]]: tensor<i64>, %[[CARRY:.*]]: tensor<4xf32>, %[[PART:.*]]: tensor<3x4xf32>):
// CHECK: %[[INNER:.*]]:2 = sinter.scan 3 carry(%[[CARRY]] : tensor<4xf32>) over(%[[PART]] : tensor<3x4xf32>) with(%[[SEGMENT]] : tensor<i64>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK: ^bb0(%[[I:.*]]: tensor<i64>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[S:.*]]: tensor<i64>):
// CHECK-DAG: %[[THREE:.*]] = sinter.constant dense<3> : tensor<i64>
// CHECK: %[[BEGIN:.*]] = sinter.mul %[[S]], %[[THREE]] : tensor<i64>
// CHECK: %[[TRIP:.*]] = sinter.add {{.*}} : tensor<i64>
// CHECK: sinter.cast %[[TRIP]] : tensor<i64> -> tensor<f32>
// CHECK: sinter.yield %[[INNER]]#0, %[[INNER]]#1
// CHECK: sinter.reshape %[[OUTER]]#1 : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK: sinter.gradients
func.func @even(%h: tensor<4xf32>, %x: tensor<6x4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  // expected-remark @+1 {{keeps carries every 3 of 6 trips, and computes the trips between them again for the gradient}}
  %last:2 = sinter.scan 6 carry(%h : tensor<4xf32>) over(%x : tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %slice: tensor<4xf32>):
    %f = sinter.cast %i : tensor<i64> -> tensor<f32>
    %all = sinter.broadcast %f [] : tensor<f32> -> tensor<4xf32>
    %sum = sinter.add %s, %slice : tensor<4xf32>
    %product = sinter.mul %sum, %all : tensor<4xf32>
    sinter.yield %product, %sum : tensor<4xf32>, tensor<4xf32>
  }
  %loss = sinter.sum %last#1 [0, 1] : tensor<6x4xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %h : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %g : tensor<f32>, tensor<4xf32>
}

// -----

// Five trips in reverse: the last two come first, and are a segment of their own.
// CHECK-LABEL: func.func @rest
// CHECK-DAG: %[[REST:.*]] = sinter.slice %arg1 {{.*}} : tensor<5x4xf32> -> tensor<2x4xf32>
// CHECK-DAG: %[[REST_CUT:.*]] = sinter.reshape %[[REST]] : tensor<2x4xf32> -> tensor<1x2x4xf32>
// CHECK: %[[FIRST:.*]]:2 = sinter.scan 1 reverse carry(%arg0 : tensor<4xf32>) over(%[[REST_CUT]] : tensor<1x2x4xf32>)
// CHECK: sinter.scan 2 reverse
// CHECK: %[[SECOND:.*]]:2 = sinter.scan 1 reverse carry(%[[FIRST]]#0 : tensor<4xf32>)
// CHECK: sinter.scan 3 reverse
// CHECK: sinter.concat %{{.*}}, %{{.*}} dim 0 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
func.func @rest(%h: tensor<4xf32>, %x: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<4xf32>) {
  // expected-remark @+1 {{keeps carries every 3 of 5 trips}}
  %last:2 = sinter.scan 5 reverse carry(%h : tensor<4xf32>) over(%x : tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %slice: tensor<4xf32>):
    %product = sinter.mul %s, %slice : tensor<4xf32>
    sinter.yield %product, %s : tensor<4xf32>, tensor<4xf32>
  }
  %loss = sinter.sum %last#0 [0] : tensor<4xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %h : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %last#1, %g : tensor<5x4xf32>, tensor<4xf32>
}

// -----

// No gradient passes the first loop, and the second ends by data.
// CHECK-LABEL: func.func @stays
// CHECK: sinter.scan 4 carry
// CHECK: sinter.scan 4 guarded
// CHECK-NOT: sinter.scan
func.func @stays(%go: tensor<i1>, %h: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %free = sinter.scan 4 carry(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %next = sinter.exp %s : tensor<4xf32>
    sinter.yield %next : tensor<4xf32>
  }
  %last:2 = sinter.scan 4 guarded carry(%go, %h : tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %s: tensor<4xf32>):
    %next = sinter.exp %s : tensor<4xf32>
    sinter.yield %g, %next : tensor<i1>, tensor<4xf32>
  }
  %sum = sinter.add %last#1, %free : tensor<4xf32>
  %loss = sinter.sum %sum [0] : tensor<4xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %h : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %sum, %g : tensor<4xf32>, tensor<4xf32>
}
