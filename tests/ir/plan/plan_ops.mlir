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
  // CHECK: plan.call "again" ins({{.*}}) outs({{.*}}) by "cpu.fused" attributes {workspace_bytes = 64 : i64} {
  plan.call "again" ins(%x, %w : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) by "cpu.fused" attributes {workspace_bytes = 64 : i64} {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = sinter.add %a, %b : tensor<4xf32>
    sinter.yield %0 : tensor<4xf32>
  }
  // CHECK: plan.copy %{{.*}} to %{{.*}} : <tensor<4xf32>>
  plan.copy %y to %w : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.output "y" %{{.*}} : <tensor<2x2xf32>>
  plan.output "y" %v : !plan.buffer<tensor<2x2xf32>>
}

// CHECK: plan.function @devices on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 and [128, 0] {
plan.function @devices on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 and [128, 0] {
  // CHECK: plan.input "x" on <gpu, 1> : <tensor<4xf32>>
  %x = plan.input "x" on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.variable @w on <gpu, 0> : <tensor<4xf32>>
  %w = plan.variable @w on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.constant dense<1.000000e+00> : tensor<4xf32> on <gpu, 0> : <tensor<4xf32>>
  %c = plan.constant dense<1.0> : tensor<4xf32> on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.alloc at 64 on <gpu, 0> : <tensor<4xf32>>
  %a = plan.alloc at 64 on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.copy %{{.*}} to %{{.*}} on <gpu, 0> : <tensor<4xf32>>
  plan.copy %x to %a on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  // CHECK: plan.call "neg" ins(%{{.*}} : !plan.buffer<tensor<4xf32>>) outs(%{{.*}} : !plan.buffer<tensor<4xf32>>) on <gpu, 0> attributes {workspace_bytes = 8 : i64} {
  plan.call "neg" ins(%a : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) on <gpu, 0>
      attributes {workspace_bytes = 8 : i64} {
  ^bb0(%i: tensor<4xf32>):
    %0 = sinter.neg %i : tensor<4xf32>
    sinter.yield %0 : tensor<4xf32>
  }
  plan.output "y" %y : !plan.buffer<tensor<4xf32>>
}
