// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory{side-by-side-bytes=1024},sinter-verify-plan))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory{side-by-side-bytes=191},sinter-verify-plan))' | FileCheck %s --check-prefix=SMALL
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory{side-by-side-bytes=1024 report=true}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT

// %b depends only on the input. In the memory of %a it would have to wait for %p. %q reuses the memory of %b,
// because it is computed from %b, which has no other reader.
// CHECK-LABEL: plan.function @branches on [#sinter.device<gpu, 0>] arena 192
// CHECK: plan.alloc at [[A:[0-9]+]] on <gpu, 0> : <tensor<16xf32>>
// CHECK: plan.alloc at [[P:[0-9]+]] on <gpu, 0> : <tensor<8xf32>>
// CHECK: plan.alloc at [[B:[0-9]+]] on <gpu, 0> : <tensor<16xf32>>
// CHECK: plan.alloc at [[B]] on <gpu, 0> : <tensor<16xf32>>
// SMALL-LABEL: plan.function @branches on [#sinter.device<gpu, 0>] arena 128
// REPORT: memory of gpu:0 is at its peak here: {{.*}} in an arena of 192, where sharing memory orders no steps
plan.function @branches on [#sinter.device<gpu, 0>] {
  %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %a = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %p = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
  %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %q = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.call "a" ins(%x : !plan.buffer<tensor<16xf32>>) outs(%a : !plan.buffer<tensor<16xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.neg %i : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.call "p" ins(%a : !plan.buffer<tensor<16xf32>>) outs(%p : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %s = sinter.reshape %i : tensor<16xf32> -> tensor<2x8xf32>
    %r = sinter.sum %s [0] : tensor<2x8xf32> -> tensor<8xf32>
    sinter.yield %r : tensor<8xf32>
  }
  plan.call "b" ins(%x : !plan.buffer<tensor<16xf32>>) outs(%b : !plan.buffer<tensor<16xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.exp %i : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.call "q" ins(%b : !plan.buffer<tensor<16xf32>>) outs(%q : !plan.buffer<tensor<16xf32>>) on <gpu, 0>
      attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.neg %i : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.output "p" %p : !plan.buffer<tensor<8xf32>>
  plan.output "q" %q : !plan.buffer<tensor<16xf32>>
}

// A chain reuses memory as usual: %c comes after all readers of %a.
// CHECK-LABEL: plan.function @chain on [#sinter.device<gpu, 0>] arena 128
// CHECK: plan.alloc at [[A:[0-9]+]] on <gpu, 0>
// CHECK: plan.alloc at [[B:[0-9]+]] on <gpu, 0>
// CHECK: plan.alloc at [[A]] on <gpu, 0>
plan.function @chain on [#sinter.device<gpu, 0>] {
  %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %a = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %c = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.call "a" ins(%x : !plan.buffer<tensor<16xf32>>) outs(%a : !plan.buffer<tensor<16xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.neg %i : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.call "b" ins(%a : !plan.buffer<tensor<16xf32>>) outs(%b : !plan.buffer<tensor<16xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.reverse %i [0] : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.call "c" ins(%b : !plan.buffer<tensor<16xf32>>) outs(%c : !plan.buffer<tensor<16xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.reverse %i [0] : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.output "c" %c : !plan.buffer<tensor<16xf32>>
}

// Another step reads the value that %b could overwrite, and neither step waits for the other. So %b
// overwrites the copy of %x2, the second operand, which only %b reads.
// CHECK-LABEL: plan.function @read_beside
// CHECK: plan.alloc at [[A:[0-9]+]] on <gpu, 0> : <tensor<16xf32>>
// CHECK: plan.alloc at [[C:[0-9]+]] on <gpu, 0> : <tensor<16xf32>>
// CHECK: plan.alloc at {{[0-9]+}} on <gpu, 0> : <tensor<16x1xf32>>
// CHECK: plan.alloc at [[C]] on <gpu, 0> : <tensor<16xf32>>
// SMALL-LABEL: plan.function @read_beside
// SMALL: plan.alloc at [[A:[0-9]+]] on <gpu, 0> : <tensor<16xf32>>
// SMALL: plan.alloc at {{[0-9]+}} on <gpu, 0> : <tensor<16xf32>>
// SMALL: plan.alloc at {{[0-9]+}} on <gpu, 0> : <tensor<16x1xf32>>
// SMALL: plan.alloc at [[A]] on <gpu, 0> : <tensor<16xf32>>
plan.function @read_beside on [#sinter.device<gpu, 0>] {
  %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %x2 = plan.input "x2" on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %a = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %c = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  %u = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16x1xf32>>
  %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.copy %x to %a on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.copy %x2 to %c on <gpu, 0> : !plan.buffer<tensor<16xf32>>
  plan.call "u" ins(%a : !plan.buffer<tensor<16xf32>>) outs(%u : !plan.buffer<tensor<16x1xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<16xf32>):
    %r = sinter.reshape %i : tensor<16xf32> -> tensor<16x1xf32>
    sinter.yield %r : tensor<16x1xf32>
  }
  plan.call "b" ins(%a, %c : !plan.buffer<tensor<16xf32>>, !plan.buffer<tensor<16xf32>>) outs(%b : !plan.buffer<tensor<16xf32>>) on <gpu, 0>
      attributes {in_place = array<i64: 0, 0, 1, 0>} {
  ^bb0(%i: tensor<16xf32>, %j: tensor<16xf32>):
    %r = sinter.add %i, %j : tensor<16xf32>
    sinter.yield %r : tensor<16xf32>
  }
  plan.output "u" %u : !plan.buffer<tensor<16x1xf32>>
  plan.output "b" %b : !plan.buffer<tensor<16xf32>>
}
