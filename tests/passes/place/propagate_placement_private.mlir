// RUN: sinter-opt %s --sinter-propagate-placement=device=gpu:0 | FileCheck %s

// A private function is the gradient of a user's kernel. It has no placement; its ops get one after inlining.
// CHECK-LABEL: func.func @f
// CHECK-SAME: sinter.device = #sinter.device<gpu, 0>
// CHECK: sinter.neg %{{.*}} {sinter.device = #sinter.device<gpu, 0>}
func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  %y = sinter.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func private @k.gradient
// CHECK-NOT: sinter.device
// CHECK: return
func.func private @k.gradient(%x: tensor<4xf32>, %z: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.mul %g, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
