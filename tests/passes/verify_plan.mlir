// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-verify-plan))' | FileCheck %s

// Two plan.variables are the old and the new value of one; a pair may share bytes; a workspace lies beside what is alive.
// CHECK-LABEL: plan.function @good arena 128
// CHECK: plan.output "b"
plan.function @good arena 128 {
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  %b = plan.alloc at 0 : <tensor<4xf32>>
  plan.call "a" ins(%w : !plan.buffer<tensor<4xf32>>) outs(%a, %new : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) attributes {in_place = array<i64: 0, 1>} {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r, %r : tensor<4xf32>, tensor<4xf32>
  }
  plan.call "b" ins(%a, %new : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) outs(%b : !plan.buffer<tensor<4xf32>>) attributes {in_place = array<i64: 0, 0>, workspace_bytes = 8 : i64, workspace_offset = 64 : i64} {
  ^bb0(%i: tensor<4xf32>, %j: tensor<4xf32>):
    %r = sinter.add %i, %j : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.output "b" %b : <tensor<4xf32>>
}
