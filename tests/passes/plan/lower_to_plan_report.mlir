// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse),sinter-lower-to-plan{report})' -o /dev/null 2>&1 | FileCheck %s

// CHECK-DAG: :[[@LINE+6]]:{{.*}}: remark: copies a value of 'tensor<4xf32>', 16 bytes, from gpu:0 to gpu:1: asked for here
// CHECK-DAG: :[[@LINE+6]]:{{.*}}: remark: gives input "lr" of 'tensor<f32>', 4 bytes, from the caller to gpu:1: nothing places the input, which is read there
// CHECK-DAG: :[[@LINE+8]]:{{.*}}: remark: copies a value of 'tensor<4xf32>', 16 bytes, from gpu:1 to gpu:0: it is read there, and copies are automatic
func.func @f(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
             %lr: tensor<f32> {sinter.input = "lr", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<4xf32> {sinter.output = "y"}, tensor<4xf32> {sinter.output = "z"}) {
  %x1 = sinter.copy %x to <gpu, 1> : tensor<4xf32>
  %r = sinter.copy %lr to <gpu, 1> because input : tensor<f32>
  %b = sinter.broadcast %r [] {sinter.device = #sinter.device<gpu, 1>} : tensor<f32> -> tensor<4xf32>
  %y = sinter.mul %x1, %b {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %z = sinter.copy %y to <gpu, 0> because automatic : tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}
