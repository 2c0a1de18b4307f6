// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse),sinter-lower-to-plan)' --mlir-print-local-scope | FileCheck %s

// Copies and clones are separate steps; an output is on its value's device.
// CHECK-LABEL: plan.function @devices on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] {
// CHECK-DAG: %[[X:.*]] = plan.input "x" on <gpu, 0> : <tensor<4xf32>>
// CHECK-DAG: %[[LR:.*]] = plan.input "lr" on <gpu, 0> : <tensor<f32>>
// CHECK-DAG: %[[LR1:.*]] = plan.input "lr" on <gpu, 1> : <tensor<f32>>
// CHECK-DAG: %[[C:.*]] = plan.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32> on <gpu, 1>
// CHECK: plan.copy %[[X]] to %[[X1:.*]] on <gpu, 1> : <tensor<4xf32>>
// CHECK: plan.call {{.*}} ins(%[[LR1]], %[[X1]], %[[C]] : {{.*}} outs(%[[Y:[0-9]+]] : {{.*}}) on <gpu, 1>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: sinter.broadcast %{{.*}} [] : tensor<f32> -> tensor<4xf32>
// CHECK: plan.copy %[[Y]] to %[[Z:.*]] on <gpu, 1> : <tensor<4xf32>>
// CHECK: plan.output "z" %[[Z]]
func.func @devices(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                   %lr: tensor<f32> {sinter.input = "lr", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<4xf32> {sinter.output = "y"}, tensor<4xf32> {sinter.output = "z"}, tensor<f32> {sinter.output = "r"}) {
  %x1 = sinter.copy %x to <gpu, 1> : tensor<4xf32>
  %r = sinter.copy %lr to <gpu, 1> because input : tensor<f32>
  %b = sinter.broadcast %r [] {sinter.device = #sinter.device<gpu, 1>} : tensor<f32> -> tensor<4xf32>
  %c = sinter.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> {sinter.device = #sinter.device<gpu, 1>}
  %p = sinter.mul %x1, %b {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %y = sinter.add %p, %c {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %z = sinter.clone %y {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %n = sinter.neg %lr {sinter.device = #sinter.device<gpu, 0>} : tensor<f32>
  return %y, %z, %n : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
