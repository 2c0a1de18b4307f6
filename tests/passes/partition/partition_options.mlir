// RUN: sinter-opt %s '--sinter-partition=devices=cpu:0,cpu:1,cpu:2 even=false scale=mean-of-means' --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=MEANS
// RUN: sinter-opt %s '--sinter-partition=devices=cpu:0,cpu:1,cpu:2 even=false scale=sum' --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=SUM
// RUN: sinter-opt %s '--sinter-partition=devices=cpu:0,cpu:1,cpu:2 even=false bucket-bytes=1' --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=BUCKETS
// RUN: sinter-opt %s '--sinter-partition=devices=cpu:0,cpu:1,cpu:2 whole=x,t report=true' --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=WHOLE

// Four rows on three devices: two, one and one. Each gradient was divided by four. The factors 4 / (3 * 2)
// and 4 / (3 * 1), or 4 / 2 and 4 / 1, turn it into the mean of the device's part. The loss is not scaled.
// MEANS-DAG: %[[F0:.*]] = sinter.constant dense<0.666666686> : tensor<4x3xf32>
// MEANS-DAG: %[[F1:.*]] = sinter.constant dense<1.33333337> : tensor<4x3xf32>
// MEANS: %[[L:.*]] = sinter.sum %{{.*}} [0, 1] {{.*}} : tensor<2x3xf32> -> tensor<f32>
// MEANS: sinter.mul %{{.*}}, %[[F0]] {sinter.device = #sinter.device<cpu, 0>}
// MEANS: sinter.mul %{{.*}}, %[[F1]] {sinter.device = #sinter.device<cpu, 1>}
// MEANS: sinter.mul %{{.*}}, %[[F1]] {sinter.device = #sinter.device<cpu, 2>}
// MEANS: sinter.all_reduce sum %[[L]], %{{.*}} over

// SUM-DAG: sinter.constant dense<2.000000e+00> : tensor<4x3xf32>
// SUM-DAG: sinter.constant dense<4.000000e+00> : tensor<4x3xf32>

// BUCKETS: sinter.all_reduce sum %{{.*}} over {{.*}} channel 0 {{.*}} : (tensor<f32>) -> tensor<f32>
// BUCKETS: sinter.all_reduce sum %{{.*}} over {{.*}} channel 1 {{.*}} : (tensor<4x3xf32>) -> tensor<4x3xf32>

// Every device computes the whole batch.
// WHOLE-NOT: all_reduce
// WHOLE: sinter.matmul %{{.*}} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
sinter.variable @w : tensor<4x3xf32> = normal(0.0, 0.1) seed 7 trainable
func.func @train(%x: tensor<4x4xf32> {sinter.input = "x"}, %t: tensor<4x3xf32> {sinter.input = "t"},
                 %w: tensor<4x3xf32> {sinter.variable = @w})
    -> (tensor<f32> {sinter.output = "loss"}, tensor<4x3xf32> {sinter.variable = @w}) {
  %y = sinter.matmul %x, %w : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %d = sinter.sub %y, %t : tensor<4x3xf32>
  %s = sinter.sum %d [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %g = sinter.matmul %x, %d {transpose_a} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> loc(fused<"gradient">["model.cc":1:1])
  %w1 = sinter.sub %w, %g : tensor<4x3xf32>
  return %s, %w1 : tensor<f32>, tensor<4x3xf32>
}
