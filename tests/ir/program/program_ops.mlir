// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK: sinter.variable @w : tensor<4x4xf32> = normal(0.000000e+00, 1.000000e+00) seed 7 trainable
sinter.variable @w : tensor<4x4xf32> = normal(0.0, 1.0) seed 7 trainable
// CHECK: sinter.variable @count : tensor<i64> = constant(0.000000e+00, 0.000000e+00) seed 0{{$}}
sinter.variable @count : tensor<i64> = constant(0.0, 0.0) seed 0

// CHECK: sinter.fusion(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) attributes {kind = "loop"} {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[C:.*]] = sinter.add %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = sinter.sum %[[C]] [0]
// CHECK-NEXT: sinter.yield %[[C]], %[[S]] : tensor<4xf32>, tensor<f32>
// CHECK: sinter.fusion() -> (tensor<4xf32>) {
func.func @fusions(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>) {
  %r:2 = sinter.fusion(%x, %y : tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) attributes {kind = "loop"} {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = sinter.add %a, %b : tensor<4xf32>
    %s = sinter.sum %c [0] : tensor<4xf32> -> tensor<f32>
    sinter.yield %c, %s : tensor<4xf32>, tensor<f32>
  }
  %n = sinter.fusion() -> (tensor<4xf32>) {
    %i = sinter.iota 0 : tensor<4xf32>
    sinter.yield %i : tensor<4xf32>
  }
  return %r#0, %r#1, %n : tensor<4xf32>, tensor<f32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @gradients
// CHECK: sinter.stop_gradient %{{.*}} : tensor<4xf32>
// CHECK: sinter.gradient_point %{{.*}} {id = 1 : i64} : tensor<4xf32>
// CHECK: sinter.gradients %{{.*}} wrt %{{.*}}, %{{.*}} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @gradients(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = sinter.stop_gradient %y : tensor<4xf32>
  %t = sinter.gradient_point %s {id = 1 : i64} : tensor<4xf32>
  %p = sinter.mul %x, %t : tensor<4xf32>
  %loss = sinter.sum %p [0] : tensor<4xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %y : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %g#0, %g#1 : tensor<4xf32>, tensor<4xf32>
}
