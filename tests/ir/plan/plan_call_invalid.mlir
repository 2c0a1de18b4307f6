// RUN: sinter-opt %s --split-input-file --verify-diagnostics

plan.function @view {
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{takes 12 bytes at offset 8 of a buffer of 16 bytes; expected bytes that lie within it}}
  %v = plan.view %a at 8 : !plan.buffer<tensor<4xf32>> -> !plan.buffer<tensor<3xf32>>
}

// -----

plan.function @terminator {
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{has a region that does not end in sinter.yield}}
  plan.call "b" ins() outs(%a : !plan.buffer<tensor<4xf32>>) {
    %0 = sinter.constant dense<0.0> : tensor<4xf32>
  }
}

// -----

plan.function @counts {
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{has 1 ins and 0 outs, its region 0 arguments and 1 results}}
  plan.call "b" ins(%a : !plan.buffer<tensor<4xf32>>) outs() {
    %0 = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %0 : tensor<4xf32>
  }
}

// -----

plan.function @argument_types {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{ins 0 is '!plan.buffer<tensor<4xf32>>', the region's argument 'tensor<2x2xf32>'}}
  plan.call "b" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%0: tensor<2x2xf32>):
    %1 = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
}

// -----

plan.function @result_types {
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{outs 0 is '!plan.buffer<tensor<4xf32>>', the region's result 'tensor<4xi32>'}}
  plan.call "b" ins() outs(%a : !plan.buffer<tensor<4xf32>>) {
    %0 = sinter.constant dense<0> : tensor<4xi32>
    sinter.yield %0 : tensor<4xi32>
  }
}

// -----

plan.function @in_place_range {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{has in_place numbers that are not pairs of ins and outs, of which there are 1 and 1}}
  plan.call "b" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<4xf32>>) attributes {in_place = array<i64: 0, 1>} {
  ^bb0(%0: tensor<4xf32>):
    %1 = sinter.neg %0 : tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
}

// -----

plan.function @in_place_odd {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{has in_place numbers that are not pairs of ins and outs, of which there are 1 and 1}}
  plan.call "b" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<4xf32>>) attributes {in_place = array<i64: 0>} {
  ^bb0(%0: tensor<4xf32>):
    %1 = sinter.neg %0 : tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
}

// -----

plan.function @library_op_and_another {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{holds 'sinter.cumsum' and other ops; expected a library op alone}}
  plan.call "b" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%0: tensor<4xf32>):
    %1 = sinter.cumsum %0 dim 0 : tensor<4xf32>
    %2 = sinter.neg %1 : tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
}

// -----

plan.function @library_results {
  %x = plan.input "x" : !plan.buffer<tensor<1x1x4x4xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<1x1x2x2xf32>>
  // expected-error@+1 {{holds 'sinter.max_pool2d'; expected outs for its results, in their order}}
  plan.call "b" ins(%x : !plan.buffer<tensor<1x1x4x4xf32>>) outs(%a : !plan.buffer<tensor<1x1x2x2xf32>>) {
  ^bb0(%0: tensor<1x1x4x4xf32>):
    %1, %2 = sinter.max_pool2d %0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>
    sinter.yield %1 : tensor<1x1x2x2xf32>
  }
}

// -----

plan.function @no_loop {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{holds 'sinter.softmax'; expected fusible ops and reductions only}}
  plan.call "b" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<4xf32>>) {
  ^bb0(%0: tensor<4xf32>):
    %1 = sinter.neg %0 : tensor<4xf32>
    %2 = sinter.softmax %1 dim 0 : tensor<4xf32> -> tensor<4xf32>
    sinter.yield %2 : tensor<4xf32>
  }
}

// -----

plan.function @constant {
  %a = plan.alloc at 0 : !plan.buffer<tensor<2xf32>>
  // expected-error@+1 {{holds a constant of type 'tensor<2xf32>' whose elements differ; expected it among the operands}}
  plan.call "b" ins() outs(%a : !plan.buffer<tensor<2xf32>>) {
    %0 = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    sinter.yield %0 : tensor<2xf32>
  }
}

// -----

// A value defined inside the region is not visible as an operand.
plan.function @call_of_itself {
  %a = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  // expected-error@+1 {{use of undeclared SSA value name}}
  plan.call "k" ins(%c : !plan.buffer<tensor<4xf32>>) outs(%a : !plan.buffer<tensor<4xf32>>) {
    %c = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  }
}
