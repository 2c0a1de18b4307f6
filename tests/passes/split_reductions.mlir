// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-split-reductions{limit=1000 report=true}))' 2>&1 | FileCheck %s

// CHECK: remark: not split: the number of elements has no divisor between 8 and 1024
// CHECK: remark: not split: the results of chunks cannot be reduced the same way again
// CHECK: remark: not split: its operand is computed in another shape

// The reshape goes to the argument, so that the square still fuses with the reduction.
// CHECK-LABEL: func.func @sum
// CHECK: %[[X:.*]] = sinter.reshape %arg0 : tensor<8x300xf32> -> tensor<60x40xf32>
// CHECK: %[[S:.*]] = sinter.square %[[X]] : tensor<60x40xf32>
// CHECK: %[[P:.*]] = sinter.sum %[[S]] [1] : tensor<60x40xf32> -> tensor<60xf32>
// CHECK: sinter.sum %[[P]] [0] : tensor<60xf32> -> tensor<f32>
func.func @sum(%x: tensor<8x300xf32>) -> tensor<f32> {
  %s = sinter.square %x : tensor<8x300xf32>
  %r = sinter.sum %s [0, 1] : tensor<8x300xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// bf16 keeps f32 between the stages.
// CHECK-LABEL: func.func @narrow
// CHECK: sinter.cast {{.*}} : tensor<64x32xbf16> -> tensor<64x32xf32>
// CHECK: sinter.max {{.*}} [1] : tensor<64x32xf32> -> tensor<64xf32>
// CHECK: sinter.max {{.*}} [0] : tensor<64xf32> -> tensor<f32>
// CHECK: sinter.cast {{.*}} : tensor<f32> -> tensor<bf16>
func.func @narrow(%x: tensor<2048xbf16>) -> tensor<bf16> {
  %r = sinter.max %x [0] : tensor<2048xbf16> -> tensor<bf16>
  return %r : tensor<bf16>
}

// CHECK-LABEL: func.func @small
// CHECK: sinter.sum %arg0 [0] : tensor<1000xf32> -> tensor<f32>
// CHECK-LABEL: func.func @rows
// CHECK: sinter.sum %arg0 [1] : tensor<16x256xf32> -> tensor<16xf32>
func.func @small(%x: tensor<1000xf32>) -> tensor<f32> {
  %r = sinter.sum %x [0] : tensor<1000xf32> -> tensor<f32>
  return %r : tensor<f32>
}
func.func @rows(%x: tensor<16x256xf32>) -> tensor<16xf32> {
  %r = sinter.sum %x [1] : tensor<16x256xf32> -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// CHECK-LABEL: func.func @prime
// CHECK: sinter.sum %arg0 [0] : tensor<4099xf32> -> tensor<f32>
func.func @prime(%x: tensor<4099xf32>) -> tensor<f32> {
  %r = sinter.sum %x [0] : tensor<4099xf32> -> tensor<f32>
  return %r : tensor<f32>
}
// CHECK-LABEL: func.func @position
func.func @position(%x: tensor<4096xf32>) -> tensor<i64> {
  %r = sinter.argmax %x dim 0 : tensor<4096xf32> -> tensor<i64>
  return %r : tensor<i64>
}
// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>) {
  %e = sinter.exp %x : tensor<64x64xf32>
  %r = sinter.sum %e [0, 1] : tensor<64x64xf32> -> tensor<f32>
  return %r, %e : tensor<f32>, tensor<64x64xf32>
}
