// RUN: sinter-opt %s | sinter-opt | FileCheck %s

sinter.variable @w : tensor<4xf32> = constant (0.0, 0.0) seed 0 trainable

// CHECK: plan.function @train arena 256 {
plan.function @train arena 256 {
  // CHECK: plan.input "x" : <tensor<4xf32>>
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.variable @w : <tensor<4xf32>>
  %w = plan.variable @w : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.constant dense<[1, 2]> : tensor<2xi64> : <tensor<2xi64>>
  %c = plan.constant dense<[1, 2]> : tensor<2xi64> : !plan.buffer<tensor<2xi64>>
  // CHECK: plan.alloc at 64 : <tensor<4xf32>>
  %y = plan.alloc at 64 : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.view %{{.*}} at 0 : <tensor<4xf32>> -> <tensor<2x2xf32>>
  %v = plan.view %y at 0 : !plan.buffer<tensor<4xf32>> -> !plan.buffer<tensor<2x2xf32>>
  // CHECK: plan.call "add" ins(%{{.*}}, %{{.*}} : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) outs(%{{.*}} : !plan.buffer<tensor<4xf32>>)
  // CHECK: sinter.yield
  plan.call "add" ins(%x, %w : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = sinter.add %a, %b : tensor<4xf32>
    sinter.yield %0 : tensor<4xf32>
  }
  // CHECK: plan.copy %{{.*}} to %{{.*}} : <tensor<4xf32>>
  plan.copy %y to %w : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.output "y" %{{.*}} : <tensor<2x2xf32>>
  plan.output "y" %v : !plan.buffer<tensor<2x2xf32>>
}
