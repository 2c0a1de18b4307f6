// RUN: sinter-opt %s --sinter-fuse --mlir-print-local-scope | FileCheck %s

sinter.variable @v : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 0>}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}

// A kernel is on one device, and says it instead of its ops; a copy is between kernels. The updates of variables are one
// kernel a device.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = sinter.fusion(%{{.*}}) -> {{.*}}sinter.device = #sinter.device<gpu, 0>
// CHECK: sinter.exp %{{.*}} : tensor<4xf32>
// CHECK: sinter.neg %{{.*}} : tensor<4xf32>
// CHECK: %[[C:.*]] = sinter.copy %[[A]] to <gpu, 1>
// CHECK: %[[W:.*]] = sinter.fusion(%{{.*}}, %[[C]]{{.*}}sinter.device = #sinter.device<gpu, 1>
// CHECK: %[[D:.*]] = sinter.clone %[[A]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK: %[[V:.*]] = sinter.fusion(%{{.*}}, %[[D]]{{.*}}sinter.device = #sinter.device<gpu, 0>
// CHECK: return %[[V]], %[[W]]
func.func @step(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                %v: tensor<4xf32> {sinter.variable = @v, sinter.device = #sinter.device<gpu, 0>},
                %w: tensor<4xf32> {sinter.variable = @w, sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.variable = @v}, tensor<4xf32> {sinter.variable = @w}) {
  %a = sinter.exp %x {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  %b = sinter.neg %a {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  %c = sinter.copy %b to <gpu, 1> : tensor<4xf32>
  %n = sinter.sub %w, %c {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %d = sinter.clone %b {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  %m = sinter.sub %v, %d {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  return %m, %n : tensor<4xf32>, tensor<4xf32>
}
