// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-update-in-place{report=true}))' | FileCheck %s

// The call writes the variable; readers of the new value read it there.
// CHECK-LABEL: plan.function @elided
// CHECK-DAG: %[[OLD:.*]] = plan.variable @w : <tensor<4xf32>>
// CHECK-DAG: %[[NEW:.*]] = plan.variable @w : <tensor<4xf32>>
// CHECK: plan.call "update" ins(%[[OLD]] : {{.*}}) outs(%[[NEW]] :
// CHECK: plan.call "reader" ins(%[[NEW]] :
// CHECK-NOT: plan.copy
plan.function @elided {
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  %y = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins(%w : !plan.buffer<tensor<4xf32>>) outs(%n : !plan.buffer<tensor<4xf32>>) attributes {in_place = array<i64: 0, 0>} {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "reader" ins(%n : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.exp %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.copy %n to %new : <tensor<4xf32>>
  plan.output "y" %y : <tensor<4xf32>>
}

// A reshaped new value is written through a view of the variable.
// CHECK-LABEL: plan.function @view
// CHECK: %[[NEW:.*]] = plan.variable @m : <tensor<2x2xf32>>
// CHECK: %[[V:.*]] = plan.view %[[NEW]] at 0 : <tensor<2x2xf32>> -> <tensor<4xf32>>
// CHECK: plan.call "update" ins() outs(%[[V]] :
// CHECK-NOT: plan.copy
plan.function @view {
  %new = plan.variable @m : <tensor<2x2xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  %v = plan.view %n at 0 : <tensor<4xf32>> -> <tensor<2x2xf32>>
  plan.call "update" ins() outs(%n : !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.copy %v to %new : <tensor<2x2xf32>>
}

// CHECK-LABEL: plan.function @not_computed
// CHECK: plan.copy
plan.function @not_computed {
  %x = plan.input "x" : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  // expected-remark @below {{kept the copy to @w: the new value is not computed by this function}}
  plan.copy %x to %new : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @part
// CHECK: plan.copy
plan.function @part {
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<2x4xf32>>
  %v = plan.view %n at 16 : <tensor<2x4xf32>> -> <tensor<4xf32>>
  plan.call "update" ins() outs(%n : !plan.buffer<tensor<2x4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<2x4xf32>
    sinter.yield %r : tensor<2x4xf32>
  }
  // expected-remark @below {{kept the copy to @w: the new value is a part of another}}
  plan.copy %v to %new : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @handed_out
// CHECK: plan.copy
plan.function @handed_out {
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins() outs(%n : !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  // expected-remark @below {{kept the copy to @w: the new value is also an output}}
  plan.copy %n to %new : <tensor<4xf32>>
  plan.output "n" %n : <tensor<4xf32>>
}

// A copy from another device writes the variable directly.
// CHECK-LABEL: plan.function @from_another_device
// CHECK: %[[X:.*]] = plan.input "x"
// CHECK: %[[NEW:.*]] = plan.variable @w on <cpu, 1> : <tensor<4xf32>>
// CHECK: plan.copy %[[X]] to %[[NEW]] on <cpu, 1>
// CHECK-NOT: plan.copy
plan.function @from_another_device on [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] {
  %x = plan.input "x" : <tensor<4xf32>>
  %new = plan.variable @w on <cpu, 1> : <tensor<4xf32>>
  %n = plan.alloc on <cpu, 1> : <tensor<4xf32>>
  plan.copy %x to %n on <cpu, 1> : <tensor<4xf32>>
  plan.copy %n to %new on <cpu, 1> : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @two_steps
// CHECK-COUNT-3: plan.copy
plan.function @two_steps {
  %x = plan.input "x" : <tensor<2xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  %low = plan.view %n at 0 : <tensor<4xf32>> -> <tensor<2xf32>>
  %high = plan.view %n at 8 : <tensor<4xf32>> -> <tensor<2xf32>>
  plan.copy %x to %low : <tensor<2xf32>>
  plan.copy %x to %high : <tensor<2xf32>>
  // expected-remark @below {{kept the copy to @w: the new value is not the result of one step}}
  plan.copy %n to %new : <tensor<4xf32>>
}

// Copies swap two variables: the old value still has a reader.
// CHECK-LABEL: plan.function @copied_from_itself
// CHECK-COUNT-2: plan.copy
plan.function @copied_from_itself {
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  plan.copy %w to %n : <tensor<4xf32>>
  // expected-remark @below {{kept the copy to @w: its step still reads the old value while it writes the new one}}
  plan.copy %n to %new : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @same_call
// CHECK: plan.copy
plan.function @same_call {
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins(%w : !plan.buffer<tensor<4xf32>>) outs(%n : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.reverse %i [0] : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  // expected-remark @below {{kept the copy to @w: its step still reads the old value while it writes the new one}}
  plan.copy %n to %new : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @read_later
// CHECK: plan.copy
plan.function @read_later {
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  %y = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins() outs(%n : !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "reader" ins(%w : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.exp %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  // expected-remark @below {{kept the copy to @w: the old value is read after the new one is computed}}
  plan.copy %n to %new : <tensor<4xf32>>
  plan.output "y" %y : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @written
plan.function @written {
  %x = plan.input "x" : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %newer = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins() outs(%n : !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  // expected-remark @below {{kept the copy to @w: the new value is not computed by this function}}
  plan.copy %x to %new : <tensor<4xf32>>
  // expected-remark @below {{kept the copy to @w: the variable is written in between}}
  plan.copy %n to %newer : <tensor<4xf32>>
}

// CHECK-LABEL: plan.function @both
plan.function @both {
  %new = plan.variable @w : <tensor<4xf32>>
  %newer = plan.variable @w : <tensor<4xf32>>
  %n = plan.alloc : <tensor<4xf32>>
  plan.call "update" ins() outs(%n, %new : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r, %r : tensor<4xf32>, tensor<4xf32>
  }
  // expected-remark @below {{kept the copy to @w: its step writes the variable already}}
  plan.copy %n to %newer : <tensor<4xf32>>
}
