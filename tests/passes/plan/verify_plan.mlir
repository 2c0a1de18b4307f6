// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-verify-plan))' | FileCheck %s

// Two plan.variables are the old and the new value of one variable. An in-place pair may share bytes. A
// workspace overlaps no live buffer.
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

// Equal offsets in two arenas are different memory. A copy may read another device's memory.
// CHECK-LABEL: plan.function @two_devices
plan.function @two_devices on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>] arena 64 and [64] {
  %x = plan.input "x" : !plan.buffer<tensor<16xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<16xf32>>
  %b = plan.alloc at 0 on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.copy %x to %a : !plan.buffer<tensor<16xf32>>
  plan.copy %a to %b on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.output "a" %a : !plan.buffer<tensor<16xf32>>
  plan.output "b" %b : !plan.buffer<tensor<16xf32>>
}
