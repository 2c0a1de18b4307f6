// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-update-in-place{report=true enable=false}))' | FileCheck %s

// CHECK: plan.copy
plan.function @off {
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins() outs(%n : !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  // expected-remark @below {{kept the copy to @w: updates in place are off}}
  plan.copy %n to %new : <tensor<4xf32>>
}
