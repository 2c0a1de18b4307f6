// RUN: sinter-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(sinter-lower-to-plan)'

// expected-error @below {{argument 0 has neither sinter.input nor sinter.variable, so that nothing says where it comes from}}
func.func @argument(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.output = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 has neither sinter.output nor sinter.variable, so that nothing says where it goes}}
func.func @result(%x: tensor<4xf32> {sinter.input = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @unfused(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  // expected-error @below {{has no place in a plan: it is neither a sinter.fusion nor a library call; run sinter-fuse first}}
  %y = sinter.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unplaced_op(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4xf32> {sinter.output = "y"}) {
  // expected-error@+1 {{has no device; run sinter-propagate-placement first}}
  %y = sinter.reshape %x : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0 has no device; run sinter-propagate-placement first}}
func.func @unplaced_argument(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  %y = sinter.copy %x to <gpu, 0> : tensor<4xf32>
  return %y : tensor<4xf32>
}
