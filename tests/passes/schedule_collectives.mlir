// RUN: sinter-opt %s --sinter-schedule --mlir-print-local-scope | FileCheck %s

// The members of a collective come together, in the order of their ranks, behind all that one of them needs.
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
