// RUN: sinter-opt %s --sinter-split-loops --canonicalize --cse | FileCheck %s

// The product of the slice is one before the loop; that of the carry stays. The cast of the weights leaves.
// CHECK-LABEL: func.func @before
// CHECK-DAG: %[[ROWS:.*]] = sinter.reshape %arg0 : tensor<4x2x3xf32> -> tensor<8x3xf32>
// CHECK-DAG: %[[P:.*]] = sinter.matmul %[[ROWS]], %{{.*}} : (tensor<8x3xf32>, tensor<3x3xf32>) -> tensor<8x3xf32>
// CHECK-DAG: %[[STACK:.*]] = sinter.reshape %[[P]] : tensor<8x3xf32> -> tensor<4x2x3xf32>
// CHECK: sinter.scan 4 carry(%arg2 : tensor<2x3xf32>) over(%[[STACK]] : tensor<4x2x3xf32>) with(%{{.*}} : tensor<3x3xf32>)
// CHECK: sinter.matmul
// CHECK-NOT: sinter.matmul
// CHECK-NOT: sinter.cast
// CHECK: sinter.yield
func.func @before(%x: tensor<4x2x3xf32>, %w: tensor<3x3xf64>, %h: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %last = sinter.scan 4 carry(%h : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf64>) -> (tensor<2x3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<2x3xf32>, %slice: tensor<2x3xf32>, %weight: tensor<3x3xf64>):
    %narrow = sinter.cast %weight : tensor<3x3xf64> -> tensor<3x3xf32>
    %p = sinter.matmul %s, %narrow : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %q = sinter.matmul %slice, %narrow : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %sum = sinter.add %p, %q : tensor<2x3xf32>
    sinter.yield %sum : tensor<2x3xf32>
  }
  return %last : tensor<2x3xf32>
}

// A sum of products by rows, and a product that is only stacked, are one product each behind the loop, which
// stacks the operand that it computes.
// CHECK-LABEL: func.func @behind
// CHECK: %[[L:.*]]:2 = sinter.scan 4 reverse carry(%arg2 : tensor<2x5xf32>) over(%arg0 : tensor<4x2x5xf32>) -> (tensor<2x5xf32>, tensor<4x2x5xf32>) {
// CHECK-NOT: sinter.matmul
// CHECK: sinter.yield %[[G:.*]], %[[G]]
// CHECK: }
// CHECK-DAG: %[[A:.*]] = sinter.reshape %arg1 : tensor<4x2x3xf32> -> tensor<8x3xf32>
// CHECK-DAG: %[[B:.*]] = sinter.reshape %[[L]]#1 : tensor<4x2x5xf32> -> tensor<8x5xf32>
// CHECK-DAG: %[[DW:.*]] = sinter.matmul %[[A]], %[[B]] {transpose_a} : (tensor<8x3xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
// CHECK-DAG: sinter.add %arg4, %[[DW]] : tensor<3x5xf32>
// CHECK-DAG: sinter.matmul %[[B]], %arg3 {transpose_b} : (tensor<8x5xf32>, tensor<3x5xf32>) -> tensor<8x3xf32>
func.func @behind(%g: tensor<4x2x5xf32>, %x: tensor<4x2x3xf32>, %h: tensor<2x5xf32>, %w: tensor<3x5xf32>, %sum: tensor<3x5xf32>)
    -> (tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x2x3xf32>) {
  %last:3 = sinter.scan 4 reverse carry(%h, %sum : tensor<2x5xf32>, tensor<3x5xf32>) over(%g, %x : tensor<4x2x5xf32>, tensor<4x2x3xf32>) with(%w : tensor<3x5xf32>) -> (tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x2x3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<2x5xf32>, %acc: tensor<3x5xf32>, %gi: tensor<2x5xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x5xf32>):
    %d = sinter.mul %s, %gi : tensor<2x5xf32>
    %dw = sinter.matmul %xi, %d {transpose_a} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<3x5xf32>
    %n = sinter.add %acc, %dw : tensor<3x5xf32>
    %dx = sinter.matmul %d, %wi {transpose_b} : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
    sinter.yield %d, %n, %dx : tensor<2x5xf32>, tensor<3x5xf32>, tensor<2x3xf32>
  }
  return %last#0, %last#1, %last#2 : tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x2x3xf32>
}

// A sum that the body also reads stays, and so does a product whose result a carry needs.
// CHECK-LABEL: func.func @stays
// CHECK: sinter.scan
// CHECK: sinter.matmul
// CHECK: sinter.matmul
// CHECK: sinter.yield
func.func @stays(%x: tensor<4x3x3xf32>, %h: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %last:2 = sinter.scan 4 carry(%h, %h : tensor<3x3xf32>, tensor<3x3xf32>) over(%x : tensor<4x3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3x3xf32>, %acc: tensor<3x3xf32>, %xi: tensor<3x3xf32>):
    %p = sinter.matmul %xi, %s {transpose_a} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %n = sinter.add %acc, %p : tensor<3x3xf32>
    %q = sinter.matmul %n, %acc : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    sinter.yield %q, %n : tensor<3x3xf32>, tensor<3x3xf32>
  }
  return %last#0, %last#1 : tensor<3x3xf32>, tensor<3x3xf32>
}

// An element-wise op that leaves the loop is on the loop's device.
// CHECK-LABEL: func.func @placed
// CHECK: sinter.sigmoid %arg0 {sinter.device = #sinter.device<gpu, 0>} : tensor<4x2x3xf32>
// CHECK: sinter.matmul {{.*}}sinter.device = #sinter.device<gpu, 0>
// CHECK: sinter.scan 4
func.func @placed(%x: tensor<4x2x3xf32> {sinter.device = #sinter.device<gpu, 0>}, %w: tensor<3x3xf32> {sinter.device = #sinter.device<gpu, 0>},
                  %h: tensor<2x3xf32> {sinter.device = #sinter.device<gpu, 0>}) -> (tensor<2x3xf32> {sinter.device = #sinter.device<gpu, 0>}) {
  %last = sinter.scan 4 carry(%h : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>) attributes {sinter.device = #sinter.device<gpu, 0>} {
  ^bb0(%i: tensor<i64>, %s: tensor<2x3xf32>, %slice: tensor<2x3xf32>, %weight: tensor<3x3xf32>):
    %open = sinter.sigmoid %slice : tensor<2x3xf32>
    %p = sinter.matmul %open, %weight : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %sum = sinter.add %s, %p : tensor<2x3xf32>
    %next = sinter.tanh %sum : tensor<2x3xf32>
    sinter.yield %next : tensor<2x3xf32>
  }
  return %last : tensor<2x3xf32>
}
