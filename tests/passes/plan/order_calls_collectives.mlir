// RUN: sinter-opt %s --split-input-file --sinter-order-calls --mlir-print-local-scope | FileCheck %s

// The members of a collective are adjacent, in the order of their ranks, after all steps that any member
// needs.
// CHECK-LABEL: plan.function @joined
// CHECK-DAG: plan.call "n0"
// CHECK-DAG: plan.call "n1"
// CHECK: plan.call "a0"
// CHECK: plan.call "a1"
// CHECK: plan.call "m0"
plan.function @joined on [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] {
  %x0 = plan.input "x" on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %x1 = plan.input "x" on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  %y0 = plan.alloc on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %y1 = plan.alloc on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  %z0 = plan.alloc on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %z1 = plan.alloc on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  %w0 = plan.alloc on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  plan.call "n1" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%y1 : !plan.buffer<tensor<4xf32>>) on <cpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "a1" ins(%y1 : !plan.buffer<tensor<4xf32>>) outs(%z1 : !plan.buffer<tensor<4xf32>>) on <cpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "n0" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%y0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "a0" ins(%y0 : !plan.buffer<tensor<4xf32>>) outs(%z0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "m0" ins(%z0 : !plan.buffer<tensor<4xf32>>) outs(%w0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.output "w" %w0 : !plan.buffer<tensor<4xf32>>
  plan.output "z" %z1 : !plan.buffer<tensor<4xf32>>
}

// On GPUs an exchange runs concurrently with the steps after it. It starts as soon as both devices have their
// operands. The update of "w", which waits for it, comes after independent steps, whatever memory it would
// free. The devices advance together.
// CHECK-LABEL: plan.function @overlapped
// CHECK: plan.call "g0"
// CHECK: plan.call "g1"
// CHECK: plan.call "s0"
// CHECK: plan.call "s1"
// CHECK: plan.call "b0"
// CHECK: plan.call "b1"
// CHECK: plan.call "c0"
// CHECK: plan.call "c1"
// CHECK: plan.call "u0"
// CHECK: plan.call "u1"
plan.function @overlapped on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] {
  %x0 = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %g0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %s0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %b0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %c0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %u0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  %x1 = plan.input "x" on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  %g1 = plan.alloc on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  %s1 = plan.alloc on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  %b1 = plan.alloc on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  %c1 = plan.alloc on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  %u1 = plan.alloc on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  plan.call "g0" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%g0 : !plan.buffer<tensor<4xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "b0" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%b0 : !plan.buffer<tensor<4xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.exp %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "s0" ins(%g0 : !plan.buffer<tensor<4xf32>>) outs(%s0 : !plan.buffer<tensor<4xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "u0" ins(%s0 : !plan.buffer<tensor<4xf32>>) outs(%u0 : !plan.buffer<tensor<4xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "c0" ins(%b0 : !plan.buffer<tensor<4xf32>>) outs(%c0 : !plan.buffer<tensor<4xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "g1" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%g1 : !plan.buffer<tensor<4xf32>>) on <gpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "b1" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%b1 : !plan.buffer<tensor<4xf32>>) on <gpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.exp %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "s1" ins(%g1 : !plan.buffer<tensor<4xf32>>) outs(%s1 : !plan.buffer<tensor<4xf32>>) on <gpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "u1" ins(%s1 : !plan.buffer<tensor<4xf32>>) outs(%u1 : !plan.buffer<tensor<4xf32>>) on <gpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "c1" ins(%b1 : !plan.buffer<tensor<4xf32>>) outs(%c1 : !plan.buffer<tensor<4xf32>>) on <gpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.output "u" %u0 : !plan.buffer<tensor<4xf32>>
  plan.output "c" %c0 : !plan.buffer<tensor<4xf32>>
  plan.output "u" %u1 : !plan.buffer<tensor<4xf32>>
  plan.output "c" %c1 : !plan.buffer<tensor<4xf32>>
}

// -----

// Each gather has its operand at once. Two run ahead of the sums that read them, in the order of these, and the others
// do not fill the time in which a sum waits.
// CHECK-LABEL: plan.function @gathers
// CHECK: plan.call "a"
// CHECK: plan.call "b"
// CHECK: plan.call "use_a"
// CHECK: plan.call "c"
// CHECK: plan.call "use_b"
// CHECK: plan.call "d"
// CHECK: plan.call "use_c"
// CHECK: plan.call "use_d"
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @gathers on [#sinter.device<gpu, 0>] {
    %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<4xf32>>
    %a = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %sa = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %sb = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %c = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %sc = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %d = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    %sd = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8xf32>>
    plan.call "d" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%d : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<4xf32>):
      %r = sinter.all_gather %i sizes [] over ["data"] channel 0 : tensor<4xf32> -> tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "c" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%c : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<4xf32>):
      %r = sinter.all_gather %i sizes [] over ["data"] channel 1 : tensor<4xf32> -> tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "b" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%b : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<4xf32>):
      %r = sinter.all_gather %i sizes [] over ["data"] channel 2 : tensor<4xf32> -> tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "a" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<4xf32>):
      %r = sinter.all_gather %i sizes [] over ["data"] channel 3 : tensor<4xf32> -> tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "use_a" ins(%a : !plan.buffer<tensor<8xf32>>) outs(%sa : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<8xf32>):
      %r = sinter.neg %i : tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "use_b" ins(%b, %sa : !plan.buffer<tensor<8xf32>>, !plan.buffer<tensor<8xf32>>) outs(%sb : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<8xf32>, %j: tensor<8xf32>):
      %r = sinter.add %i, %j : tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "use_c" ins(%c, %sb : !plan.buffer<tensor<8xf32>>, !plan.buffer<tensor<8xf32>>) outs(%sc : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<8xf32>, %j: tensor<8xf32>):
      %r = sinter.add %i, %j : tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.call "use_d" ins(%d, %sc : !plan.buffer<tensor<8xf32>>, !plan.buffer<tensor<8xf32>>) outs(%sd : !plan.buffer<tensor<8xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<8xf32>, %j: tensor<8xf32>):
      %r = sinter.add %i, %j : tensor<8xf32>
      sinter.yield %r : tensor<8xf32>
    }
    plan.output "y" %sd : !plan.buffer<tensor<8xf32>>
  }
}
