// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(plan.function(sinter-plan-memory,sinter-verify-plan))' --mlir-print-local-scope | FileCheck %s

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

// -----

// The sum travels in two parts. While the first part's reader runs, the second part may still travel, so its
// operand keeps its memory: %u gets other bytes.
// CHECK-LABEL: plan.function @parts
// CHECK: plan.alloc at [[G:[0-9]+]] on <gpu, 0> : <tensor<128xf32>>
// CHECK-NOT: plan.alloc at [[G]] on <gpu, 0> : <tensor<66xf32>>
// CHECK: plan.call "g"
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @parts on [#sinter.device<gpu, 0>] {
    %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<128xf32>>
    %g = plan.alloc on <gpu, 0> : !plan.buffer<tensor<128xf32>>
    %g0 = plan.view %g at 0 : <tensor<128xf32>> -> <tensor<64xf32>>
    %g1 = plan.view %g at 256 : <tensor<128xf32>> -> <tensor<64xf32>>
    %s = plan.alloc on <gpu, 0> : !plan.buffer<tensor<129xf32>>
    %s0 = plan.view %s at 0 : <tensor<129xf32>> -> <tensor<64xf32>>
    %s1 = plan.view %s at 256 : <tensor<129xf32>> -> <tensor<64xf32>>
    %u = plan.alloc on <gpu, 0> : !plan.buffer<tensor<66xf32>>
    %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<64xf32>>
    %v = plan.alloc on <gpu, 0> : !plan.buffer<tensor<65xf32>>
    plan.call "g" ins(%x : !plan.buffer<tensor<128xf32>>) outs(%g : !plan.buffer<tensor<128xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<128xf32>):
      %r = sinter.neg %i : tensor<128xf32>
      sinter.yield %r : tensor<128xf32>
    }
    plan.call "s0" ins(%g0 : !plan.buffer<tensor<64xf32>>) outs(%s0 : !plan.buffer<tensor<64xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<64xf32>):
      %r = sinter.all_reduce sum %i over ["data"] channel 0 : (tensor<64xf32>) -> tensor<64xf32>
      sinter.yield %r : tensor<64xf32>
    }
    plan.call "s1" ins(%g1 : !plan.buffer<tensor<64xf32>>) outs(%s1 : !plan.buffer<tensor<64xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<64xf32>):
      %r = sinter.all_reduce sum %i over ["data"] channel 1 : (tensor<64xf32>) -> tensor<64xf32>
      sinter.yield %r : tensor<64xf32>
    }
    plan.call "u" ins(%s0 : !plan.buffer<tensor<64xf32>>) outs(%u : !plan.buffer<tensor<66xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<64xf32>):
      %r = sinter.pad %i value 0.0 low [0] high [2] interior [0] : tensor<64xf32> -> tensor<66xf32>
      sinter.yield %r : tensor<66xf32>
    }
    plan.call "b" ins(%x : !plan.buffer<tensor<128xf32>>) outs(%b : !plan.buffer<tensor<64xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<128xf32>):
      %r = sinter.slice %i [0] [64] [1] : tensor<128xf32> -> tensor<64xf32>
      sinter.yield %r : tensor<64xf32>
    }
    plan.call "v" ins(%s1, %b : !plan.buffer<tensor<64xf32>>, !plan.buffer<tensor<64xf32>>) outs(%v : !plan.buffer<tensor<65xf32>>) on <gpu, 0> {
    ^bb0(%i: tensor<64xf32>, %j: tensor<64xf32>):
      %a = sinter.add %i, %j : tensor<64xf32>
      %r = sinter.pad %a value 0.0 low [0] high [1] interior [0] : tensor<64xf32> -> tensor<65xf32>
      sinter.yield %r : tensor<65xf32>
    }
    plan.output "u" %u : !plan.buffer<tensor<66xf32>>
    plan.output "v" %v : !plan.buffer<tensor<65xf32>>
  }
}
