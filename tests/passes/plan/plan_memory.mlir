// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory,sinter-verify-plan))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory{in-place=false},sinter-verify-plan))' | FileCheck %s --check-prefix=APART
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory{reuse=false in-place=false},sinter-verify-plan))' | FileCheck %s --check-prefix=NOREUSE
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory{report=true}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT

// If calls may run in place, %b reuses the memory of %a through the view; otherwise %c reuses it after %a is
// dead.
// CHECK-LABEL: plan.function @chain arena 1664
// CHECK: plan.alloc at [[A:[0-9]+]] : <tensor<200xf32>>
// CHECK: plan.alloc at [[A]] : <tensor<10x20xf32>>
// CHECK: plan.alloc at 832 : <tensor<20x10xf32>>
// APART-LABEL: plan.function @chain arena 1664
// APART: plan.alloc at 0 : <tensor<200xf32>>
// APART: plan.alloc at 832 : <tensor<10x20xf32>>
// APART: plan.alloc at 0 : <tensor<20x10xf32>>
// NOREUSE-LABEL: plan.function @chain arena 2496
// REPORT: memory is at its peak here: 1600 bytes alive in an arena of 1664
// REPORT: note: 800 bytes: 'tensor<10x20xf32>'
// REPORT: note: 800 bytes: 'tensor<20x10xf32>'
plan.function @chain {
  %x = plan.input "x" : <tensor<200xf32>>
  %a = plan.alloc : <tensor<200xf32>>
  %v = plan.view %a at 0 : <tensor<200xf32>> -> <tensor<10x20xf32>>
  %b = plan.alloc : <tensor<10x20xf32>>
  %c = plan.alloc : <tensor<20x10xf32>>
  plan.call "a" ins(%x : !plan.buffer<tensor<200xf32>>) outs(%a : !plan.buffer<tensor<200xf32>>) {
  ^bb0(%i: tensor<200xf32>):
    %r = sinter.neg %i : tensor<200xf32>
    sinter.yield %r : tensor<200xf32>
  }
  plan.call "b" ins(%v : !plan.buffer<tensor<10x20xf32>>) outs(%b : !plan.buffer<tensor<10x20xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<10x20xf32>):
    %r = sinter.neg %i : tensor<10x20xf32>
    sinter.yield %r : tensor<10x20xf32>
  }
  plan.call "c" ins(%b : !plan.buffer<tensor<10x20xf32>>) outs(%c : !plan.buffer<tensor<20x10xf32>>) {
  ^bb0(%i: tensor<10x20xf32>):
    %r = sinter.transpose %i [1, 0] : tensor<10x20xf32> -> tensor<20x10xf32>
    sinter.yield %r : tensor<20x10xf32>
  }
  plan.output "c" %c : <tensor<20x10xf32>>
}

// An input that is read later, or twice by the call, is not overwritten.
// CHECK-LABEL: plan.function @not_dead
// CHECK: plan.alloc at 0 : <tensor<16xf32>>
// CHECK: plan.alloc at 64 : <tensor<16xf32>>
plan.function @not_dead {
  %a = plan.alloc : <tensor<16xf32>>
  %v = plan.view %a at 0 : <tensor<16xf32>> -> <tensor<16xf32>>
  %b = plan.alloc : <tensor<16xf32>>
  plan.call "a" ins() outs(%a : !plan.buffer<tensor<16xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.call "b" ins(%a, %v : !plan.buffer<tensor<16xf32>>, !plan.buffer<tensor<16xf32>>) outs(%b : !plan.buffer<tensor<16xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<16xf32>, %j: tensor<16xf32>):
    %t = sinter.reverse %j [0] : tensor<16xf32>
    %r = sinter.add %i, %t : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.output "b" %b : <tensor<16xf32>>
}

// A workspace is live during its call, next to the call's operands and results. A value of no bytes gets no
// memory.
// CHECK-LABEL: plan.function @workspace arena 192
// CHECK: workspace_offset = 128 : i64
// CHECK-LABEL: plan.function @empty arena 0
plan.function @workspace {
  %a = plan.alloc : <tensor<16xf32>>
  %b = plan.alloc : <tensor<16xf32>>
  plan.call "a" ins() outs(%a : !plan.buffer<tensor<16xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.call "b" ins(%a : !plan.buffer<tensor<16xf32>>) outs(%b : !plan.buffer<tensor<16xf32>>) attributes {workspace_bytes = 10 : i64} {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.cumsum %i dim 0 : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.output "b" %b : <tensor<16xf32>>
}
plan.function @empty {
  %a = plan.alloc : <tensor<0x4xf32>>
  plan.call "a" ins() outs(%a : !plan.buffer<tensor<0x4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<0x4xf32>
    sinter.yield %r : tensor<0x4xf32>
  }
  plan.output "a" %a : <tensor<0x4xf32>>
}

// Every device has its own arena; a workspace is in the arena of its call's device.
// CHECK-LABEL: plan.function @two_devices on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 and [192, 0] {
// CHECK: plan.alloc at 0 : <tensor<16xf32>>
// CHECK: plan.alloc at 0 on <gpu, 0> : <tensor<16xf32>>
// CHECK: plan.alloc at 64 on <gpu, 0> : <tensor<16xf32>>
// CHECK: workspace_offset = 128
plan.function @two_devices on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>, #sinter.device<gpu, 1>] {
  %x = plan.input "x" : !plan.buffer<tensor<16xf32>>
  %a = plan.alloc : !plan.buffer<tensor<16xf32>>
  %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %c = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.copy %x to %a : !plan.buffer<tensor<16xf32>>
  plan.copy %a to %b on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.call "neg" ins(%b : !plan.buffer<tensor<16xf32>>) outs(%c : !plan.buffer<tensor<16xf32>>) on <gpu, 0>
      attributes {workspace_bytes = 64 : i64} {
  ^bb0(%i: tensor<16xf32>):
    %0 = sinter.neg %i : tensor<16xf32>
    sinter.yield %0 : tensor<16xf32>
  }
  plan.output "c" %c : !plan.buffer<tensor<16xf32>>
}

// Two calls compute %b from %a in parts. Each part overwrites its operand, so %b has the memory of %a. %d reads
// the first part of %c after the second part was overwritten, so %e has memory of its own.
// CHECK-LABEL: plan.function @parts
// CHECK: plan.alloc at [[A:[0-9]+]] : <tensor<200x4xf32>>
// CHECK: plan.alloc at [[A]] : <tensor<200x4xf32>>
// CHECK: plan.alloc at [[C:[0-9]+]] : <tensor<300x4xf32>>
// CHECK-NOT: plan.alloc at [[C]] : <tensor<300x4xf32>>
// CHECK: plan.call "a"
plan.function @parts {
  %x = plan.input "x" : <tensor<200x4xf32>>
  %y = plan.input "y" : <tensor<300x4xf32>>
  %a = plan.alloc : <tensor<200x4xf32>>
  %b = plan.alloc : <tensor<200x4xf32>>
  %a0 = plan.view %a at 0 : <tensor<200x4xf32>> -> <tensor<100x4xf32>>
  %a1 = plan.view %a at 1600 : <tensor<200x4xf32>> -> <tensor<100x4xf32>>
  %b0 = plan.view %b at 0 : <tensor<200x4xf32>> -> <tensor<100x4xf32>>
  %b1 = plan.view %b at 1600 : <tensor<200x4xf32>> -> <tensor<100x4xf32>>
  %c = plan.alloc : <tensor<300x4xf32>>
  %e = plan.alloc : <tensor<300x4xf32>>
  %d = plan.alloc : <tensor<150x4xf32>>
  %c0 = plan.view %c at 0 : <tensor<300x4xf32>> -> <tensor<150x4xf32>>
  %c1 = plan.view %c at 2400 : <tensor<300x4xf32>> -> <tensor<150x4xf32>>
  %e0 = plan.view %e at 0 : <tensor<300x4xf32>> -> <tensor<150x4xf32>>
  %e1 = plan.view %e at 2400 : <tensor<300x4xf32>> -> <tensor<150x4xf32>>
  plan.call "a" ins(%x : !plan.buffer<tensor<200x4xf32>>) outs(%a : !plan.buffer<tensor<200x4xf32>>) {
  ^bb0(%i: tensor<200x4xf32>):
    %r = sinter.neg %i : tensor<200x4xf32>
    sinter.yield %r : tensor<200x4xf32>
  }
  plan.call "b0" ins(%a0 : !plan.buffer<tensor<100x4xf32>>) outs(%b0 : !plan.buffer<tensor<100x4xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<100x4xf32>):
    %r = sinter.exp %i : tensor<100x4xf32>
    sinter.yield %r : tensor<100x4xf32>
  }
  plan.call "b1" ins(%a1 : !plan.buffer<tensor<100x4xf32>>) outs(%b1 : !plan.buffer<tensor<100x4xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<100x4xf32>):
    %r = sinter.exp %i : tensor<100x4xf32>
    sinter.yield %r : tensor<100x4xf32>
  }
  plan.call "c" ins(%y : !plan.buffer<tensor<300x4xf32>>) outs(%c : !plan.buffer<tensor<300x4xf32>>) {
  ^bb0(%i: tensor<300x4xf32>):
    %r = sinter.neg %i : tensor<300x4xf32>
    sinter.yield %r : tensor<300x4xf32>
  }
  plan.call "e0" ins(%c0 : !plan.buffer<tensor<150x4xf32>>) outs(%e0 : !plan.buffer<tensor<150x4xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<150x4xf32>):
    %r = sinter.exp %i : tensor<150x4xf32>
    sinter.yield %r : tensor<150x4xf32>
  }
  plan.call "e1" ins(%c1 : !plan.buffer<tensor<150x4xf32>>) outs(%e1 : !plan.buffer<tensor<150x4xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<150x4xf32>):
    %r = sinter.exp %i : tensor<150x4xf32>
    sinter.yield %r : tensor<150x4xf32>
  }
  plan.call "d" ins(%c0 : !plan.buffer<tensor<150x4xf32>>) outs(%d : !plan.buffer<tensor<150x4xf32>>) {
  ^bb0(%i: tensor<150x4xf32>):
    %r = sinter.abs %i : tensor<150x4xf32>
    sinter.yield %r : tensor<150x4xf32>
  }
  plan.output "b" %b : <tensor<200x4xf32>>
  plan.output "d" %d : <tensor<150x4xf32>>
  plan.output "e" %e : <tensor<300x4xf32>>
}
