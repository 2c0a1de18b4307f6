// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-plan-memory,sinter-verify-plan))' --mlir-print-local-scope | FileCheck %s

// While a GPU sums %g, "b" runs. In the memory of %g it would have to wait for the sum. "u" waits for the sum
// anyway.
// CHECK-LABEL: plan.function @beside
// CHECK: plan.alloc at [[G:[0-9]+]] on <gpu, 0> : <tensor<64xf32>>
// CHECK-NOT: plan.alloc at [[G]] on <gpu, 0> : <tensor<64xf32>>
// CHECK: plan.alloc at [[G]] on <gpu, 0> : <tensor<65xf32>>
// CHECK: plan.call "g"
plan.function @beside on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] {
  %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<64xf32>>
  %g = plan.alloc on <gpu, 0> : !plan.buffer<tensor<64xf32>>
  %s = plan.alloc on <gpu, 0> : !plan.buffer<tensor<64xf32>>
  %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<64xf32>>
  %u = plan.alloc on <gpu, 0> : !plan.buffer<tensor<65xf32>>
  %y = plan.input "x" on <gpu, 1> : !plan.buffer<tensor<64xf32>>
  %t = plan.alloc on <gpu, 1> : !plan.buffer<tensor<64xf32>>
  plan.call "g" ins(%x : !plan.buffer<tensor<64xf32>>) outs(%g : !plan.buffer<tensor<64xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64xf32>):
    %r = sinter.neg %i : tensor<64xf32>
    sinter.yield %r : tensor<64xf32>
  }
  plan.call "s0" ins(%g : !plan.buffer<tensor<64xf32>>) outs(%s : !plan.buffer<tensor<64xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<64xf32>) -> tensor<64xf32>
    sinter.yield %r : tensor<64xf32>
  }
  plan.call "s1" ins(%y : !plan.buffer<tensor<64xf32>>) outs(%t : !plan.buffer<tensor<64xf32>>) on <gpu, 1> {
  ^bb0(%i: tensor<64xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<64xf32>) -> tensor<64xf32>
    sinter.yield %r : tensor<64xf32>
  }
  plan.call "b" ins(%x : !plan.buffer<tensor<64xf32>>) outs(%b : !plan.buffer<tensor<64xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64xf32>):
    %r = sinter.exp %i : tensor<64xf32>
    sinter.yield %r : tensor<64xf32>
  }
  plan.call "u" ins(%s, %b : !plan.buffer<tensor<64xf32>>, !plan.buffer<tensor<64xf32>>) outs(%u : !plan.buffer<tensor<65xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64xf32>, %j: tensor<64xf32>):
    %a = sinter.add %i, %j : tensor<64xf32>
    %r = sinter.pad %a value 0.0 low [0] high [1] interior [0] : tensor<64xf32> -> tensor<65xf32>
    sinter.yield %r : tensor<65xf32>
  }
  plan.output "b" %b : !plan.buffer<tensor<64xf32>>
  plan.output "u" %u : !plan.buffer<tensor<65xf32>>
  plan.output "t" %t : !plan.buffer<tensor<64xf32>>
}
