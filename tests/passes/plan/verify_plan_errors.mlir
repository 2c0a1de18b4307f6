// RUN: sinter-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-verify-plan))' -o /dev/null

// expected-error @below {{has no arena: run sinter-plan-memory first}}
plan.function @no_arena {
}

// -----

plan.function @no_place arena 64 {
  // expected-error @below {{has no place in the arena}}
  %a = plan.alloc : <tensor<4xf32>>
}

// -----

plan.function @outside arena 64 {
  // expected-error @below {{takes bytes 64 to 80 of an arena of 64}}
  %a = plan.alloc at 64 : <tensor<4xf32>>
}

// -----

plan.function @unaligned arena 64 {
  // expected-error @below {{begins at 16, which is not a multiple of 64}}
  %a = plan.alloc at 16 : <tensor<4xf32>>
}

// -----

plan.function @unwritten arena 64 {
  %a = plan.alloc at 0 : <tensor<4xf32>>
  // expected-error @below {{reads output "a" before it was written}}
  plan.output "a" %a : <tensor<4xf32>>
}

// -----

plan.function @reused arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  %y = plan.input "y" : <tensor<2xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  %b = plan.alloc at 0 : <tensor<2xf32>>
  plan.copy %x to %a : <tensor<4xf32>>
  // expected-note @below {{by this step}}
  plan.copy %y to %b : <tensor<2xf32>>
  // expected-error @below {{reads output "a" after its bytes 0 to 16 were reused}}
  plan.output "a" %a : <tensor<4xf32>>
}

// -----

plan.function @workspace_reuses arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  plan.copy %x to %a : <tensor<4xf32>>
  // expected-note @below {{by this step}}
  plan.call "b" ins() outs() attributes {workspace_bytes = 8 : i64, workspace_offset = 0 : i64} {
    sinter.yield
  }
  // expected-error @below {{reads output "a" after its bytes 0 to 16 were reused}}
  plan.output "a" %a : <tensor<4xf32>>
}

// -----

plan.function @old_variable arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  plan.copy %x to %new : <tensor<4xf32>>
  // expected-note @above {{by this step}}
  // expected-error @below {{reads the source of variable @w when it holds another value}}
  plan.copy %w to %a : <tensor<4xf32>>
}

// -----

plan.function @new_variable arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  // expected-note @below {{by this step}}
  %w = plan.variable @w : <tensor<4xf32>>
  %new = plan.variable @w : <tensor<4xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  // expected-error @below {{reads the source of variable @w when it holds another value}}
  plan.copy %new to %a : <tensor<4xf32>>
  plan.copy %x to %new : <tensor<4xf32>>
}

// -----

plan.function @two_old_values arena 64 {
  %w = plan.variable @w : <tensor<4xf32>>
  // expected-error @below {{is the second one for a value that no step writes}}
  %again = plan.variable @w : <tensor<4xf32>>
}

// -----

plan.function @read_only arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  %y = plan.input "y" : <tensor<4xf32>>
  // expected-error @below {{writes the target, which is read-only}}
  plan.copy %x to %y : <tensor<4xf32>>
}

// -----

plan.function @onto_itself arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  %b = plan.alloc at 0 : <tensor<4xf32>>
  plan.copy %x to %a : <tensor<4xf32>>
  // expected-error @below {{copies bytes onto themselves}}
  plan.copy %a to %b : <tensor<4xf32>>
}

// -----

plan.function @not_a_pair arena 64 {
  %x = plan.input "x" : <tensor<4xf32>>
  %a = plan.alloc at 0 : <tensor<4xf32>>
  %b = plan.alloc at 0 : <tensor<4xf32>>
  plan.copy %x to %a : <tensor<4xf32>>
  // expected-error @below {{writes outs 0 over ins 0, which it still reads}}
  plan.call "b" ins(%a : !plan.buffer<tensor<4xf32>>) outs(%b : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
}

// -----

plan.function @two_outputs arena 64 {
  %a = plan.alloc at 0 : <tensor<4xf32>>
  %b = plan.alloc at 0 : <tensor<4xf32>>
  // expected-error @below {{writes outs 0 and outs 1 to the same bytes}}
  plan.call "b" ins() outs(%a, %b : !plan.buffer<tensor<4xf32>>, !plan.buffer<tensor<4xf32>>) {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r, %r : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

plan.function @workspace_unplaced arena 64 {
  // expected-error @below {{has a workspace without a place in the arena}}
  plan.call "b" ins() outs() attributes {workspace_bytes = 8 : i64} {
    sinter.yield
  }
}

// -----

plan.function @workspace_outside arena 64 {
  // expected-error @below {{has a workspace at bytes 64 to 72 of an arena of 64}}
  plan.call "b" ins() outs() attributes {workspace_bytes = 8 : i64, workspace_offset = 64 : i64} {
    sinter.yield
  }
}

// -----

plan.function @workspace_overlaps arena 64 {
  %a = plan.alloc at 0 : <tensor<4xf32>>
  // expected-error @below {{has a workspace over bytes that it reads or writes}}
  plan.call "b" ins() outs(%a : !plan.buffer<tensor<4xf32>>) attributes {workspace_bytes = 8 : i64, workspace_offset = 8 : i64} {
    %r = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
}

// -----

plan.function @other_arena on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 and [128] {
  %b = plan.alloc at 64 on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{takes bytes 64 to 80 of an arena of 64}}
  %a = plan.alloc at 64 on <gpu, 0> : !plan.buffer<tensor<4xf32>>
}

// -----

plan.function @mixes on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 and [64] {
  // expected-note@+1 {{the buffer is here}}
  %x = plan.input "x" on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{runs on gpu:0 and uses a buffer of gpu:1}}
  plan.call "neg" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %0 = sinter.neg %i : tensor<4xf32>
    sinter.yield %0 : tensor<4xf32>
  }
}

// -----

plan.function @copy_elsewhere on [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] arena 64 and [64] {
  %x = plan.input "x" on <gpu, 1> : !plan.buffer<tensor<4xf32>>
  // expected-note@+1 {{the buffer is here}}
  %y = plan.alloc at 0 on <gpu, 0> : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{runs on gpu:1 and copies to gpu:0}}
  plan.copy %x to %y on <gpu, 1> : !plan.buffer<tensor<4xf32>>
}

// -----

plan.function @one_member on [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] arena 64 and [64] {
  %x0 = plan.input "x" on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %x1 = plan.input "x" on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  %y0 = plan.alloc at 0 on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{is of channel 3, which lacks its member of rank 1 on cpu:1 behind it}}
  plan.call "a" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%y0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 3 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
}

// -----

plan.function @apart on [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] arena 64 and [64] {
  %x0 = plan.input "x" on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %x1 = plan.input "x" on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  %y0 = plan.alloc at 0 on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %y1 = plan.alloc at 0 on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{is of channel 0, which lacks its member of rank 1 on cpu:1 behind it}}
  plan.call "a" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%y0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "n" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%y1 : !plan.buffer<tensor<4xf32>>) on <cpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.neg %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "b" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%y1 : !plan.buffer<tensor<4xf32>>) on <cpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
}

// -----

plan.function @again on [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] arena 64 and [64] {
  %x0 = plan.input "x" on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %x1 = plan.input "x" on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  %y0 = plan.alloc at 0 on <cpu, 0> : !plan.buffer<tensor<4xf32>>
  %y1 = plan.alloc at 0 on <cpu, 1> : !plan.buffer<tensor<4xf32>>
  plan.call "a" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%y0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "b" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%y1 : !plan.buffer<tensor<4xf32>>) on <cpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  // expected-error@+1 {{is of channel 0, whose members lie apart: devices would wait for each other for ever}}
  plan.call "c" ins(%x0 : !plan.buffer<tensor<4xf32>>) outs(%y0 : !plan.buffer<tensor<4xf32>>) on <cpu, 0> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
  plan.call "d" ins(%x1 : !plan.buffer<tensor<4xf32>>) outs(%y1 : !plan.buffer<tensor<4xf32>>) on <cpu, 1> {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.all_reduce sum %i over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
}
