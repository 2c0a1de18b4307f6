// RUN: sinter-opt %s --sinter-differentiate --symbol-dce | FileCheck %s

// A user's gradient function is inlined at each use. Then the function is removed, and no kernel names it.
// CHECK-NOT: gradient = @
// CHECK-NOT: @scale.gradient
// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[BY:.*]]: tensor<4xf32>, %[[AT:.*]]: tensor<4xi32>)
func.func @scale(%x: tensor<4xf32>, %by: tensor<4xf32>, %at: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[Z:.*]]:2 = sinter.elementwise_kernel "scale"(%[[X]], %[[BY]], %[[AT]])
  %z:2 = sinter.elementwise_kernel "scale"(%x, %by, %at) {parameters = ["x", "by", "at", "z", "w"],
    raw = array<i1: false, false, false, false, false>, n = 4 : i64, body = "z = x * by + at; w = x;",
    gradient = @scale.gradient} : (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  %loss = sinter.sum %z#0 [0] : tensor<4xf32> -> tensor<f32>
  // The gradient of the other result is zero.
  // CHECK-DAG: %[[ONE:.*]] = sinter.broadcast
  // CHECK-DAG: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK: %[[A:.*]] = sinter.mul %[[ONE]], %[[BY]]
  // CHECK: %[[DX:.*]] = sinter.add %[[A]], %[[ZERO]]
  // CHECK: %[[DBY:.*]] = sinter.mul %[[ONE]], %[[X]]
  // CHECK: return %[[Z]]#0, %[[DX]], %[[DBY]]
  %g:2 = sinter.gradients %loss wrt %x, %by : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %z#0, %g#0, %g#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func private @scale.gradient(%x: tensor<4xf32>, %by: tensor<4xf32>, %at: tensor<4xi32>, %z: tensor<4xf32>, %w: tensor<4xf32>,
                                  %dz: tensor<4xf32>, %dw: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = sinter.mul %dz, %by : tensor<4xf32>
  %dx = sinter.add %a, %dw : tensor<4xf32>
  %dby = sinter.mul %dz, %x : tensor<4xf32>
  return %dx, %dby : tensor<4xf32>, tensor<4xf32>
}
