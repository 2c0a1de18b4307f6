// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse),sinter-lower-to-plan)' | FileCheck %s

sinter.variable @w : tensor<4x4xf32> = constant(0.0, 0.0) seed 0 trainable
sinter.variable @v : tensor<4x4xf32> = constant(0.0, 0.0) seed 0 trainable

// The second plan.variable is the new value. The update may overwrite either operand of the subtraction.
// CHECK-LABEL: plan.function @step
// CHECK-DAG: %[[X:.*]] = plan.input "x" : <tensor<4x4xf32>>
// CHECK-DAG: %[[OLD:.*]] = plan.variable @w : <tensor<4x4xf32>>
// CHECK-DAG: %[[NEW:.*]] = plan.variable @w : <tensor<4x4xf32>>
// CHECK: plan.call "matmul_0_linear_4" ins(%[[X]], %[[OLD]] : {{.*}}) outs(%[[H:[0-9]+]] :
// CHECK: sinter.matmul
// CHECK: plan.call "fusion_1_sub" ins(%[[OLD]], %[[H]] : {{.*}}) outs(%[[N:[0-9]+]] : {{.*}}in_place = array<i64: 0, 0, 1, 0>
// CHECK: sinter.sub
// CHECK: sinter.yield
// CHECK: plan.copy %[[N]] to %[[NEW]]
// CHECK-NEXT: plan.output "h" %[[H]]
func.func @step(%x: tensor<4x4xf32> {sinter.input = "x"}, %w: tensor<4x4xf32> {sinter.variable = @w})
    -> (tensor<4x4xf32> {sinter.output = "h"}, tensor<4x4xf32> {sinter.variable = @w}) {
  %h = sinter.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("Linear(4)")
  %n = sinter.sub %w, %h : tensor<4x4xf32>
  return %h, %n : tensor<4x4xf32>, tensor<4x4xf32>
}

// Reshapes and contiguous slices are views; another slice is a kernel. Stored constants are buffers.
// CHECK-LABEL: plan.function @views
// CHECK-DAG: plan.constant dense<[1, 2]> : tensor<2xi32> : <tensor<2xi32>>
// CHECK-DAG: %[[Y:.*]] = plan.alloc : <tensor<4x6xf32>>
// CHECK-DAG: plan.view %[[Y]] at 0 : <tensor<4x6xf32>> -> <tensor<24xf32>>
// CHECK-DAG: plan.view %[[Y]] at 24 : <tensor<4x6xf32>> -> <tensor<2x6xf32>>
// CHECK-DAG: plan.view %[[Y]] at 56 : <tensor<4x6xf32>> -> <tensor<1x3xf32>>
// CHECK: plan.call "matmul_2"
// CHECK: plan.call "fusion_3_slice"
// CHECK: sinter.slice %{{.*}} [0, 0] [4, 3]
func.func @views(%x: tensor<4x6xf32> {sinter.input = "x"}, %w: tensor<6x6xf32> {sinter.input = "w"})
    -> (tensor<24xf32> {sinter.output = "a"}, tensor<2x6xf32> {sinter.output = "b"}, tensor<1x3xf32> {sinter.output = "c"},
        tensor<4x3xf32> {sinter.output = "d"}, tensor<2xi32> {sinter.output = "e"}) {
  %y = sinter.matmul %x, %w : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %a = sinter.reshape %y : tensor<4x6xf32> -> tensor<24xf32>
  %b = sinter.slice %y [1, 0] [3, 6] [1, 1] : tensor<4x6xf32> -> tensor<2x6xf32>
  %c = sinter.slice %y [2, 2] [3, 5] [1, 1] : tensor<4x6xf32> -> tensor<1x3xf32>
  %d = sinter.slice %y [0, 0] [4, 3] [1, 1] : tensor<4x6xf32> -> tensor<4x3xf32>
  %e = sinter.constant dense<[1, 2]> : tensor<2xi32>
  return %a, %b, %c, %d, %e : tensor<24xf32>, tensor<2x6xf32>, tensor<1x3xf32>, tensor<4x3xf32>, tensor<2xi32>
}

// Outputs are copied if they are inputs, variables or already another output.
// CHECK-LABEL: plan.function @handed_out
// CHECK-DAG: %[[X:.*]] = plan.input "x"
// CHECK-DAG: %[[W:.*]] = plan.variable @w
// CHECK: plan.call "fusion_4_neg" {{.*}} outs(%[[N:[0-9]+]] :
// CHECK: plan.copy %[[X]] to %[[XC:.*]] :
// CHECK: plan.copy %[[W]] to %[[WC:.*]] :
// CHECK: plan.copy %[[N]] to %[[NC:.*]] :
// CHECK: plan.output "a" %[[XC]]
// CHECK: plan.output "b" %[[WC]]
// CHECK: plan.output "c" %[[N]]
// CHECK: plan.output "d" %[[NC]]
func.func @handed_out(%x: tensor<4x4xf32> {sinter.input = "x"}, %w: tensor<4x4xf32> {sinter.variable = @w})
    -> (tensor<4x4xf32> {sinter.output = "a"}, tensor<4x4xf32> {sinter.output = "b"}, tensor<4x4xf32> {sinter.output = "c"},
        tensor<4x4xf32> {sinter.output = "d"}) {
  %n = sinter.neg %x : tensor<4x4xf32>
  return %x, %w, %n, %n : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// A swap reads both variables before it writes either. A variable that keeps its value costs nothing.
// CHECK-LABEL: plan.function @swap
// CHECK: plan.copy %[[V:.*]] to %[[T1:.*]] :
// CHECK: plan.copy %[[W:.*]] to %[[T2:.*]] :
// CHECK: plan.copy %[[T1]] to %[[W2:.*]] :
// CHECK: plan.copy %[[T2]] to %[[V2:.*]] :
// CHECK-LABEL: plan.function @keep
// CHECK-NOT: plan.copy
func.func @swap(%w: tensor<4x4xf32> {sinter.variable = @w}, %v: tensor<4x4xf32> {sinter.variable = @v})
    -> (tensor<4x4xf32> {sinter.variable = @w}, tensor<4x4xf32> {sinter.variable = @v}) {
  return %v, %w : tensor<4x4xf32>, tensor<4x4xf32>
}
func.func @keep(%w: tensor<4x4xf32> {sinter.variable = @w}) -> (tensor<4x4xf32> {sinter.variable = @w}) {
  return %w : tensor<4x4xf32>
}

// No in-place pair for an input that is also read through another index map, a value of another element size,
// or an output of another loop. Row values pair with row values, and full values with full values.
// CHECK-LABEL: plan.function @in_place
// CHECK: plan.call "fusion_5_add" ins(%{{.*}}) outs(%{{[0-9]+}} : !plan.buffer<tensor<8x8xf32>>) {
// CHECK: plan.call "fusion_6_cast" ins(%{{.*}}) outs(%{{[0-9]+}} : !plan.buffer<tensor<8x8xbf16>>) {
// CHECK: plan.call "fusion_7_mul" ins(%{{.*}}) outs(%{{.*}} : !plan.buffer<tensor<8xf32>>, !plan.buffer<tensor<8x4xf32>>) attributes {in_place = array<i64: 0, 1, 1, 0>}
func.func @in_place(%x: tensor<8x8xf32> {sinter.input = "x"}, %y: tensor<8x4xf32> {sinter.input = "y"}, %b: tensor<8xf32> {sinter.input = "b"})
    -> (tensor<8x8xf32> {sinter.output = "a"}, tensor<8x8xbf16> {sinter.output = "c"}, tensor<8xf32> {sinter.output = "d"},
        tensor<8x4xf32> {sinter.output = "e"}) {
  %t = sinter.transpose %x [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %a = sinter.add %x, %t : tensor<8x8xf32>
  %c = sinter.cast %x : tensor<8x8xf32> -> tensor<8x8xbf16>
  %s = sinter.sum %y [1] : tensor<8x4xf32> -> tensor<8xf32>
  %d = sinter.add %s, %b : tensor<8xf32>
  %sb = sinter.broadcast %s [0] : tensor<8xf32> -> tensor<8x4xf32>
  %e = sinter.mul %y, %sb : tensor<8x4xf32>
  return %a, %c, %d, %e : tensor<8x8xf32>, tensor<8x8xbf16>, tensor<8xf32>, tensor<8x4xf32>
}
