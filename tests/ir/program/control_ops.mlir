// RUN: sinter-opt %s | sinter-opt | FileCheck %s
// RUN: sinter-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

// Value names inside a region are its own.
// CHECK-LABEL: func.func @scan
// CHECK: %[[S:.*]]:2 = sinter.scan 4 reverse carry(%{{.*}} : tensor<2xf32>) over(%{{.*}} : tensor<4x3xf32>) with(%{{.*}} : tensor<f32>) -> (tensor<2xf32>, tensor<4x3xf32>) {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i64>, %[[H:.*]]: tensor<2xf32>, %[[X:.*]]: tensor<3xf32>, %[[W:.*]]: tensor<f32>):
// CHECK: sinter.yield %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<3xf32>
func.func @scan(%h: tensor<2xf32>, %x: tensor<4x3xf32>, %w: tensor<f32>) -> (tensor<2xf32>, tensor<4x3xf32>) {
  %s:2 = sinter.scan 4 reverse carry(%h : tensor<2xf32>) over(%x : tensor<4x3xf32>) with(%w : tensor<f32>) -> (tensor<2xf32>, tensor<4x3xf32>) {
  ^bb0(%i: tensor<i64>, %h: tensor<2xf32>, %x: tensor<3xf32>, %w: tensor<f32>):
    %a = sinter.broadcast %w [] : tensor<f32> -> tensor<2xf32>
    %b = sinter.add %h, %a : tensor<2xf32>
    %c = sinter.square %x : tensor<3xf32>
    sinter.yield %b, %c : tensor<2xf32>, tensor<3xf32>
  }
  return %s#0, %s#1 : tensor<2xf32>, tensor<4x3xf32>
}

// A loop may have carries alone, or none.
// CHECK-LABEL: func.func @counts
// CHECK: sinter.scan 3 -> (tensor<3xi64>) {
func.func @counts() -> tensor<3xi64> {
  %s = sinter.scan 3 -> (tensor<3xi64>) {
  ^bb0(%i: tensor<i64>):
    sinter.yield %i : tensor<i64>
  }
  return %s : tensor<3xi64>
}

// CHECK-LABEL: func.func @outlined
// CHECK: sinter.loop @body 4 carry(%{{.*}}) over(%{{.*}}) with() : (tensor<2xf32>, tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>)
func.func private @body(%h: tensor<2xf32>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %s = sinter.add %h, %x : tensor<2xf32>
  return %s, %h : tensor<2xf32>, tensor<2xf32>
}
func.func @outlined(%h: tensor<2xf32>, %x: tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>) {
  %s:2 = sinter.loop @body 4 carry(%h) over(%x) with() : (tensor<2xf32>, tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>)
  return %s#0, %s#1 : tensor<2xf32>, tensor<4x2xf32>
}

// A slice, an invariant and a stack that nothing reads go, with what computes them.
// CANONICAL-LABEL: func.func @unread
// CANONICAL: sinter.scan 4 carry(%{{.*}} : tensor<2xf32>) -> (tensor<2xf32>) {
// CANONICAL-NEXT: ^bb0(%{{.*}}: tensor<i64>, %[[H:.*]]: tensor<2xf32>):
// CANONICAL-NEXT: %[[N:.*]] = sinter.exp %[[H]]
// CANONICAL-NEXT: sinter.yield %[[N]] : tensor<2xf32>
func.func @unread(%h: tensor<2xf32>, %x: tensor<4x2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {
  %s:2 = sinter.scan 4 carry(%h : tensor<2xf32>) over(%x : tensor<4x2xf32>) with(%w : tensor<2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<2xf32>, %slice: tensor<2xf32>, %same: tensor<2xf32>):
    %n = sinter.exp %s : tensor<2xf32>
    %sum = sinter.add %slice, %same : tensor<2xf32>
    sinter.yield %n, %sum : tensor<2xf32>, tensor<2xf32>
  }
  return %s#0 : tensor<2xf32>
}

// A while, and a branch that stacks.
// CHECK-LABEL: func.func @guarded
// CHECK: sinter.scan 2147483647 guarded carry(%{{.*}}, %{{.*}} : tensor<i1>, tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) {
// CHECK: sinter.scan 1 reverse guarded carry(%{{.*}} : tensor<i1>) with(%{{.*}} : tensor<2xf32>) -> (tensor<i1>, tensor<1x2xf32>) {
func.func @guarded(%p: tensor<i1>, %h: tensor<2xf32>) -> (tensor<2xf32>, tensor<1x2xf32>) {
  %s:2 = sinter.scan 2147483647 guarded carry(%p, %h : tensor<i1>, tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %c: tensor<2xf32>):
    %n = sinter.exp %c : tensor<2xf32>
    sinter.yield %g, %n : tensor<i1>, tensor<2xf32>
  }
  %t:2 = sinter.scan 1 reverse guarded carry(%p : tensor<i1>) with(%h : tensor<2xf32>) -> (tensor<i1>, tensor<1x2xf32>) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %c: tensor<2xf32>):
    %n = sinter.exp %c : tensor<2xf32>
    sinter.yield %g, %n : tensor<i1>, tensor<2xf32>
  }
  return %s#1, %t#1 : tensor<2xf32>, tensor<1x2xf32>
}
