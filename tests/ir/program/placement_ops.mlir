// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK: sinter.variable @w : tensor<4xf32> = constant({{.*}}) seed 0 {sinter.device = #sinter.device<gpu, 1>}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}

// CHECK-LABEL: func.func @devices
// CHECK-SAME: {sinter.device = #sinter.device<gpu, 0>, sinter.input = "x"}
// CHECK-SAME: -> (tensor<4xf32> {sinter.device = #sinter.device<cpu, 0>, sinter.output = "y"}
func.func @devices(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                   %w: tensor<4xf32> {sinter.variable = @w})
    -> (tensor<4xf32> {sinter.output = "y", sinter.device = #sinter.device<cpu, 0>}) {
  // CHECK: sinter.copy %{{.*}} to <gpu, 1> : tensor<4xf32>
  %a = sinter.copy %x to <gpu, 1> : tensor<4xf32>
  // CHECK: sinter.add %{{.*}} {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %b = sinter.add %a, %w {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  // CHECK: sinter.clone %{{.*}} : tensor<4xf32>
  %c = sinter.clone %b : tensor<4xf32>
  %s = sinter.sum %x [0] : tensor<4xf32> -> tensor<f32>
  // CHECK: sinter.copy %{{.*}} like %{{.*}} of tensor<4xf32> because scalar : tensor<f32>
  %d = sinter.copy %s like %c of tensor<4xf32> because scalar : tensor<f32>
  // CHECK: sinter.copy %{{.*}} to <cpu, 0> because automatic : tensor<4xf32>
  %y = sinter.copy %c to <cpu, 0> because automatic : tensor<4xf32>
  return %y : tensor<4xf32>
}
