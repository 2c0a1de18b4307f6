// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-order-calls{report=true}))' | FileCheck %s
// The name of earlier versions:
// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-schedule{report=true}))' | FileCheck %s
// RUN: sinter-opt %s --sinter-schedule | FileCheck %s

// Each branch ends in a small value: run one after another, the branches need half the memory.
// CHECK-LABEL: plan.function @branches
// CHECK: plan.call "a"
// CHECK: plan.call "a_sum"
// CHECK: plan.call "b"
// CHECK: plan.call "b_sum"
// expected-remark @below {{at most 2052 bytes alive in the given order, 1032 as ordered}}
plan.function @branches {
  %x = plan.input "x" : <tensor<f32>>
  %a = plan.alloc : <tensor<256xf32>>
  %b = plan.alloc : <tensor<256xf32>>
  %sa = plan.alloc : <tensor<f32>>
  %sb = plan.alloc : <tensor<f32>>
  plan.call "a" ins(%x : !plan.buffer<tensor<f32>>) outs(%a : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<f32>):
    %r = sinter.broadcast %i [] : tensor<f32> -> tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "b" ins(%x : !plan.buffer<tensor<f32>>) outs(%b : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<f32>):
    %r = sinter.broadcast %i [] : tensor<f32> -> tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "a_sum" ins(%a : !plan.buffer<tensor<256xf32>>) outs(%sa : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>):
    %r = sinter.sum %i [0] : tensor<256xf32> -> tensor<f32>
    sinter.yield %r : tensor<f32>
  }
  plan.call "b_sum" ins(%b : !plan.buffer<tensor<256xf32>>) outs(%sb : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>):
    %r = sinter.sum %i [0] : tensor<256xf32> -> tensor<f32>
    sinter.yield %r : tensor<f32>
  }
  plan.output "a" %sa : <tensor<f32>>
  plan.output "b" %sb : <tensor<f32>>
}

// Readers of a variable's old value come before the call that computes the new one. No reader moves past the
// copy.
// CHECK-LABEL: plan.function @variable
// CHECK: plan.call "reads_old"
// CHECK: plan.call "makes_new"
// CHECK: plan.copy
// expected-remark @below {{at most 16 bytes alive in the given order, 16 as ordered}}
plan.function @variable {
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  %y = plan.alloc : <tensor<4xf32>>
  plan.call "makes_new" ins(%w : !plan.buffer<tensor<4xf32>>) outs(%n : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "reads_old" ins(%w : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.exp %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.copy %n to %new : <tensor<4xf32>>
  plan.output "y" %y : <tensor<4xf32>>
}

// A call that frees nothing starts late, next to its reader.
// CHECK-LABEL: plan.function @late
// CHECK: plan.call "first"
// CHECK: plan.call "second"
// CHECK: plan.call "zeros"
// CHECK: plan.call "last"
// expected-remark @below {{at most 3072 bytes alive in the given order, 2052 as ordered}}
plan.function @late {
  %x = plan.input "x" : <tensor<256xf32>>
  %z = plan.alloc : <tensor<256xf32>>
  %a = plan.alloc : <tensor<256xf32>>
  %b = plan.alloc : <tensor<256xf32>>
  %s = plan.alloc : <tensor<f32>>
  plan.call "zeros" ins() outs(%z : !plan.buffer<tensor<256xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "first" ins(%x : !plan.buffer<tensor<256xf32>>) outs(%a : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %r = sinter.neg %i : tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "second" ins(%a : !plan.buffer<tensor<256xf32>>) outs(%b : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %r = sinter.neg %i : tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "last" ins(%b, %z : !plan.buffer<tensor<256xf32>>, !plan.buffer<tensor<256xf32>>) outs(%s : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>, %j: tensor<256xf32>):
    %p = sinter.mul %i, %j : tensor<256xf32>
    %r = sinter.sum %p [0] : tensor<256xf32> -> tensor<f32>
    sinter.yield %r : tensor<f32>
  }
  plan.output "s" %s : <tensor<f32>>
}

// A call that starts late does not move past the last other reader of its operand: the operand would stay
// alive longer for a smaller gain.
// CHECK-LABEL: plan.function @reads_more
// CHECK: plan.call "big"
// CHECK: plan.call "small"
// CHECK: plan.call "frees_big"
// CHECK: plan.call "zeros"
// CHECK: plan.call "last"
// expected-remark @below {{at most 2056 bytes alive in the given order, 1036 as ordered}}
plan.function @reads_more {
  %x = plan.input "x" : <tensor<256xf32>>
  %a = plan.alloc : <tensor<256xf32>>
  %s = plan.alloc : <tensor<f32>>
  %t = plan.alloc : <tensor<f32>>
  %u = plan.alloc : <tensor<f32>>
  %r = plan.alloc : <tensor<f32>>
  %z = plan.alloc : <tensor<256xf32>>
  plan.call "zeros" ins() outs(%z : !plan.buffer<tensor<256xf32>>) {
    %e = sinter.constant dense<0.0> : tensor<256xf32>
    sinter.yield %e : tensor<256xf32>
  }
  plan.call "big" ins(%x : !plan.buffer<tensor<256xf32>>) outs(%a : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.neg %i : tensor<256xf32>
    sinter.yield %e : tensor<256xf32>
  }
  plan.call "small" ins(%a : !plan.buffer<tensor<256xf32>>) outs(%s : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.sum %i [0] : tensor<256xf32> -> tensor<f32>
    sinter.yield %e : tensor<f32>
  }
  plan.call "frees_big" ins(%a : !plan.buffer<tensor<256xf32>>) outs(%t : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.max %i [0] : tensor<256xf32> -> tensor<f32>
    sinter.yield %e : tensor<f32>
  }
  plan.call "next" ins(%t : !plan.buffer<tensor<f32>>) outs(%u : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<f32>):
    %e = sinter.exp %i : tensor<f32>
    sinter.yield %e : tensor<f32>
  }
  plan.call "last" ins(%u, %s, %z : !plan.buffer<tensor<f32>>, !plan.buffer<tensor<f32>>, !plan.buffer<tensor<256xf32>>) outs(%r : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<f32>, %j: tensor<f32>, %k: tensor<256xf32>):
    %e = sinter.mul %i, %j : tensor<f32>
    %f = sinter.sum %k [0] : tensor<256xf32> -> tensor<f32>
    %g = sinter.add %e, %f : tensor<f32>
    sinter.yield %g : tensor<f32>
  }
  plan.output "r" %r : <tensor<f32>>
}

// Steps on different parts of one buffer are independent: the reader of the first part need not wait for the
// writer of the second part.
// CHECK-LABEL: plan.function @parts
// CHECK: plan.call "u"
// CHECK: plan.call "b"
// CHECK: plan.call "t"
// CHECK: plan.call "a"
// CHECK: plan.call "a_sum"
// expected-remark @below {{at most 2304 bytes alive in the given order, 1284 as ordered}}
plan.function @parts {
  %x = plan.input "x" : <tensor<f32>>
  %m = plan.alloc : <tensor<64xf32>>
  %m0 = plan.view %m at 0 : <tensor<64xf32>> -> <tensor<32xf32>>
  %m1 = plan.view %m at 128 : <tensor<64xf32>> -> <tensor<32xf32>>
  %t = plan.alloc : <tensor<256xf32>>
  %u = plan.alloc : <tensor<256xf32>>
  %s = plan.alloc : <tensor<f32>>
  plan.call "t" ins(%x : !plan.buffer<tensor<f32>>) outs(%t : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<f32>):
    %r = sinter.broadcast %i [] : tensor<f32> -> tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "u" ins(%x : !plan.buffer<tensor<f32>>) outs(%u : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<f32>):
    %r = sinter.broadcast %i [] : tensor<f32> -> tensor<256xf32>
    sinter.yield %r : tensor<256xf32>
  }
  plan.call "a" ins(%t : !plan.buffer<tensor<256xf32>>) outs(%m0 : !plan.buffer<tensor<32xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %r = sinter.slice %i [0] [32] [1] : tensor<256xf32> -> tensor<32xf32>
    sinter.yield %r : tensor<32xf32>
  }
  plan.call "b" ins(%u : !plan.buffer<tensor<256xf32>>) outs(%m1 : !plan.buffer<tensor<32xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %r = sinter.slice %i [0] [32] [1] : tensor<256xf32> -> tensor<32xf32>
    sinter.yield %r : tensor<32xf32>
  }
  plan.call "a_sum" ins(%m0, %t : !plan.buffer<tensor<32xf32>>, !plan.buffer<tensor<256xf32>>) outs(%s : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<32xf32>, %j: tensor<256xf32>):
    %p = sinter.sum %i [0] : tensor<32xf32> -> tensor<f32>
    %q = sinter.sum %j [0] : tensor<256xf32> -> tensor<f32>
    %r = sinter.add %p, %q : tensor<f32>
    sinter.yield %r : tensor<f32>
  }
  plan.output "s" %s : <tensor<f32>>
  plan.output "m" %m : <tensor<64xf32>>
}
