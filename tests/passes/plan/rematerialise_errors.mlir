// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(sinter-rematerialise{limit=2200})' -o /dev/null

// Recomputing from a variable that already has its new value would give another result. So the old value is
// kept, and the limit is exceeded.
sinter.variable @w : tensor<256xf32> = constant(0.0, 0.0) seed 0
// expected-error @below {{function @overwritten needs at least 4160 bytes on cpu:0, 1024 of them for variables, constants and inputs, and the memory limit is 2200}}
plan.function @overwritten {
  %w = plan.variable @w : <tensor<256xf32>>
  %new = plan.variable @w : <tensor<256xf32>>
  // expected-note @below {{1024 bytes: 'tensor<256xf32>'}}
  %a = plan.alloc : <tensor<256xf32>>
  // expected-note @below {{2048 bytes: 'tensor<512xf32>'}}
  %b = plan.alloc : <tensor<512xf32>>
  // expected-note @below {{4 bytes: 'tensor<f32>'}}
  %t = plan.alloc : <tensor<f32>>
  %r = plan.alloc : <tensor<f32>>
  plan.call "a" ins(%w : !plan.buffer<tensor<256xf32>>) outs(%a : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.exp %i : tensor<256xf32>
    sinter.yield %e : tensor<256xf32>
  }
  plan.call "new" ins(%a : !plan.buffer<tensor<256xf32>>) outs(%new : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.neg %i : tensor<256xf32>
    sinter.yield %e : tensor<256xf32>
  }
  plan.call "b" ins() outs(%b : !plan.buffer<tensor<512xf32>>) {
    %e = sinter.constant dense<1.0> : tensor<512xf32>
    sinter.yield %e : tensor<512xf32>
  }
  plan.call "b_sum" ins(%b : !plan.buffer<tensor<512xf32>>) outs(%t : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<512xf32>):
    %e = sinter.sum %i [0] : tensor<512xf32> -> tensor<f32>
    sinter.yield %e : tensor<f32>
  }
  plan.call "last" ins(%a, %t : !plan.buffer<tensor<256xf32>>, !plan.buffer<tensor<f32>>) outs(%r : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>, %j: tensor<f32>):
    %e = sinter.sum %i [0] : tensor<256xf32> -> tensor<f32>
    %f = sinter.mul %e, %j : tensor<f32>
    sinter.yield %f : tensor<f32>
  }
  plan.output "r" %r : <tensor<f32>>
}
