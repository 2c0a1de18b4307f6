// A matmul that gives a large variable's gradient updates the variable in place: the gradient needs no
// memory.
// RUN: sinter-compile %s -o %t.plan
// RUN: sinter inspect %t.plan | FileCheck %s

// CHECK: function train: 2 steps
// CHECK: 0 kernel matmul_few_rows
// CHECK: 1 matmul 1024x1024x8 a^t scale addend
// CHECK-NEXT: f32[8,1024], f32[8,1024], f32[1024,1024], f32[] -> f32[1024,1024]
// CHECK: memory: arena of 32768 bytes
sinter.variable @w : tensor<1024x1024xf32> = normal(0.0, 1.0) seed 1 trainable
func.func @train(%w: tensor<1024x1024xf32> {sinter.variable = @w}, %x: tensor<8x1024xf32> {sinter.input = "x"})
    -> (tensor<1024x1024xf32> {sinter.variable = @w}, tensor<8x1024xf32> {sinter.output = "y"}) {
  %y = sinter.matmul %x, %w {sinter.device = #sinter.device<gpu, 0>} : (tensor<8x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x1024xf32>
  %d = sinter.matmul %x, %y {transpose_a, sinter.device = #sinter.device<gpu, 0>} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %c = sinter.constant dense<5.000000e-01> : tensor<1024x1024xf32>
  %s = sinter.mul %d, %c {sinter.device = #sinter.device<gpu, 0>} : tensor<1024x1024xf32>
  %n = sinter.sub %w, %s {sinter.device = #sinter.device<gpu, 0>} : tensor<1024x1024xf32>
  return %n, %y : tensor<1024x1024xf32>, tensor<8x1024xf32>
}
