// RUN: sinter-opt %s --sinter-narrow-loops --canonicalize --cse | FileCheck %s

// The slice comes in, the stack leaves and the carry is read in bf16; the carry itself stays in f32.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[START:.*]] = sinter.cast %arg1 : tensor<2x3xf32> -> tensor<2x3xbf16>
// CHECK: %[[L:.*]]:3 = sinter.scan 4 carry(%arg1, %[[START]] : tensor<2x3xf32>, tensor<2x3xbf16>) over(%arg0 : tensor<4x2x3xbf16>) with(%arg2 : tensor<3x3xbf16>) -> (tensor<2x3xf32>, tensor<2x3xbf16>, tensor<4x2x3xbf16>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %[[H:.*]]: tensor<2x3xf32>, %[[N:.*]]: tensor<2x3xbf16>, %[[X:.*]]: tensor<2x3xbf16>, %[[W:.*]]: tensor<3x3xbf16>):
// CHECK-DAG: sinter.cast %[[X]] : tensor<2x3xbf16> -> tensor<2x3xf32>
// CHECK-DAG: sinter.matmul %[[N]], %[[W]]
// CHECK: %[[S:.*]] = sinter.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xbf16>
// CHECK: sinter.yield %{{.*}}, %[[S]], %[[S]]
// CHECK: return %[[L]]#0, %[[L]]#2
func.func @narrow(%x: tensor<4x2x3xbf16>, %h: tensor<2x3xf32>, %w: tensor<3x3xbf16>) -> (tensor<2x3xf32>, tensor<4x2x3xbf16>) {
  %wide = sinter.cast %x : tensor<4x2x3xbf16> -> tensor<4x2x3xf32>
  %s:2 = sinter.scan 4 carry(%h : tensor<2x3xf32>) over(%wide : tensor<4x2x3xf32>) with(%w : tensor<3x3xbf16>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xbf16>):
    %n = sinter.cast %c : tensor<2x3xf32> -> tensor<2x3xbf16>
    %p = sinter.matmul %n, %wi : (tensor<2x3xbf16>, tensor<3x3xbf16>) -> tensor<2x3xf32>
    %d = sinter.add %p, %xi : tensor<2x3xf32>
    %e = sinter.add %d, %c : tensor<2x3xf32>
    sinter.yield %e, %e : tensor<2x3xf32>, tensor<2x3xf32>
  }
  %out = sinter.cast %s#1 : tensor<4x2x3xf32> -> tensor<4x2x3xbf16>
  return %s#0, %out : tensor<2x3xf32>, tensor<4x2x3xbf16>
}

// A stack that is also read as it is stays wide.
// CHECK-LABEL: func.func @wide
// CHECK: sinter.scan 4 carry(%arg0 : tensor<2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>)
func.func @wide(%h: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xbf16>) {
  %s:2 = sinter.scan 4 carry(%h : tensor<2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %e = sinter.exp %c : tensor<2xf32>
    sinter.yield %e, %e : tensor<2xf32>, tensor<2xf32>
  }
  %out = sinter.cast %s#1 : tensor<4x2xf32> -> tensor<4x2xbf16>
  return %s#1, %out : tensor<4x2xf32>, tensor<4x2xbf16>
}
