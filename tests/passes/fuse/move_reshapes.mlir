// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-move-reshapes))' | FileCheck %s

// A reshape moves up to the sources of the values: arguments, library calls, constants, and broadcasts whose
// repeated dimensions the new shape does not mix.
// CHECK-LABEL: func.func @up
// CHECK-DAG: %[[X:.*]] = sinter.reshape %arg0 : tensor<8x12xf32> -> tensor<2x4x3x4xf32>
// CHECK-DAG: %[[BIAS:.*]] = sinter.reshape %arg1 : tensor<12xf32> -> tensor<3x4xf32>
// CHECK-DAG: %[[B:.*]] = sinter.broadcast %[[BIAS]] [2, 3] : tensor<3x4xf32> -> tensor<2x4x3x4xf32>
// CHECK: %[[A:.*]] = sinter.add %[[X]], %[[B]] : tensor<2x4x3x4xf32>
// CHECK: sinter.transpose %[[A]]
// CHECK-NOT: sinter.reshape
func.func @up(%x: tensor<8x12xf32>, %bias: tensor<12xf32>) -> tensor<3x2x4x4xf32> {
  %b = sinter.broadcast %bias [1] : tensor<12xf32> -> tensor<8x12xf32>
  %a = sinter.add %x, %b : tensor<8x12xf32>
  %r = sinter.reshape %a : tensor<8x12xf32> -> tensor<2x4x3x4xf32>
  %t = sinter.transpose %r [2, 0, 1, 3] : tensor<2x4x3x4xf32> -> tensor<3x2x4x4xf32>
  return %t : tensor<3x2x4x4xf32>
}

// A reshape moves down past its pointwise reader if it follows a reduction that determines the loop's shape.
// CHECK-LABEL: func.func @down
// CHECK: %[[S:.*]] = sinter.sum %arg0 [2]
// CHECK: %[[Y:.*]] = sinter.reshape %arg1 : tensor<2x6xf32> -> tensor<3x4xf32>
// CHECK: %[[A:.*]] = sinter.add %[[S]], %[[Y]] : tensor<3x4xf32>
// CHECK: %[[R:.*]] = sinter.reshape %[[A]] : tensor<3x4xf32> -> tensor<2x6xf32>
// CHECK: return %[[R]]
func.func @down(%x: tensor<3x4x8xf32>, %y: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %s = sinter.sum %x [2] : tensor<3x4x8xf32> -> tensor<3x4xf32>
  %r = sinter.reshape %s : tensor<3x4xf32> -> tensor<2x6xf32>
  %a = sinter.add %r, %y : tensor<2x6xf32>
  return %a : tensor<2x6xf32>
}

// A reshape stays if it mixes repeated dimensions of a broadcast, if its operand has other readers, or if
// there is nothing to fuse with.
// CHECK-LABEL: func.func @mixed
// CHECK: sinter.add {{.*}} : tensor<4x6xf32>
// CHECK: sinter.reshape {{.*}} : tensor<4x6xf32> -> tensor<3x8xf32>
func.func @mixed(%x: tensor<4x6xf32>, %bias: tensor<6xf32>) -> tensor<3x8xf32> {
  %b = sinter.broadcast %bias [1] : tensor<6xf32> -> tensor<4x6xf32>
  %a = sinter.add %x, %b : tensor<4x6xf32>
  %r = sinter.reshape %a : tensor<4x6xf32> -> tensor<3x8xf32>
  %e = sinter.exp %r : tensor<3x8xf32>
  %m = sinter.max %r [0] : tensor<3x8xf32> -> tensor<8xf32>
  %mb = sinter.broadcast %m [1] : tensor<8xf32> -> tensor<3x8xf32>
  %d = sinter.sub %e, %mb : tensor<3x8xf32>
  return %d : tensor<3x8xf32>
}
// CHECK-LABEL: func.func @shared
// CHECK: %[[E:.*]] = sinter.exp %arg0 : tensor<4x6xf32>
// CHECK: sinter.reshape %[[E]]
func.func @shared(%x: tensor<4x6xf32>) -> (tensor<24xf32>, tensor<24xf32>, tensor<4x6xf32>) {
  %e = sinter.exp %x : tensor<4x6xf32>
  %r = sinter.reshape %e : tensor<4x6xf32> -> tensor<24xf32>
  %n = sinter.neg %r : tensor<24xf32>
  return %n, %r, %e : tensor<24xf32>, tensor<24xf32>, tensor<4x6xf32>
}
// CHECK-LABEL: func.func @for_a_library_call
// CHECK: sinter.relu %arg0 : tensor<4x2x3xf32>
// CHECK: sinter.reshape
// CHECK: sinter.matmul
func.func @for_a_library_call(%x: tensor<4x2x3xf32>, %w: tensor<6x5xf32>) -> tensor<4x5xf32> {
  %a = sinter.relu %x : tensor<4x2x3xf32>
  %r = sinter.reshape %a : tensor<4x2x3xf32> -> tensor<4x6xf32>
  %y = sinter.matmul %r, %w : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
