// RUN: sinter-compile %s -o %t.plan --target-cpu=x86-64-v3
// RUN: sinter inspect %t.plan | FileCheck %s
// RUN: sinter inspect %t.plan --function predict --no-steps --no-memory | FileCheck %s --check-prefix=SHORT

// CHECK: plan inspect
// CHECK-NEXT: made by sinter {{.*}}, format version 4
// CHECK-NEXT: hash {{[0-9a-f]+}}
// CHECK-NEXT: target x86-64-v3, x86_64
// CHECK-NEXT: needs {{.*}}avx2
// CHECK: variables: 2, 40 B
// CHECK-DAG: w f32[4,2] 32 B trainable
// CHECK-DAG: b f32[2] 8 B trainable
// CHECK-LABEL: function predict:
// CHECK: input x: f32[8,4]
// CHECK: output y: f32[8,2]
// CHECK: steps:
// CHECK: matmul 8x2x4
// CHECK-NEXT: f32[8,4], f32[4,2]
// CHECK-NEXT: {{[0-9.]+ k?FLOP, [0-9.]+ k?B; .*}}inspect.mlir:[[#]]
// CHECK: memory: arena of [[#]] bytes
// CHECK-LABEL: function update:
// CHECK: input g: f32[4,2]
// CHECK: output norm: f32[]
// CHECK: kernel
// CHECK: inspect.mlir:
// SHORT: function predict:
// SHORT-NOT: steps:
// SHORT-NOT: memory:
// SHORT-NOT: function update
sinter.variable @w : tensor<4x2xf32> = uniform(-0.5, 0.5) seed 1 trainable
sinter.variable @b : tensor<2xf32> = constant(0.0, 0.0) seed 0 trainable

func.func @predict(%x: tensor<8x4xf32> {sinter.input = "x"}, %w: tensor<4x2xf32> {sinter.variable = @w},
                   %b: tensor<2xf32> {sinter.variable = @b}) -> (tensor<8x2xf32> {sinter.output = "y"}) {
  %p = sinter.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %bb = sinter.broadcast %b [1] : tensor<2xf32> -> tensor<8x2xf32>
  %s = sinter.add %p, %bb : tensor<8x2xf32>
  %y = sinter.exp %s : tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

func.func @update(%g: tensor<4x2xf32> {sinter.input = "g"}, %w: tensor<4x2xf32> {sinter.variable = @w})
    -> (tensor<4x2xf32> {sinter.variable = @w}, tensor<f32> {sinter.output = "norm"}) {
  %new = sinter.sub %w, %g : tensor<4x2xf32>
  %sq = sinter.mul %g, %g : tensor<4x2xf32>
  %norm = sinter.sum %sq [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %new, %norm : tensor<4x2xf32>, tensor<f32>
}
