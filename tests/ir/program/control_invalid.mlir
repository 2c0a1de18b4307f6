// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @trips(%h: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{makes -1 trips; expected 0 to 2147483647}}
  %s = sinter.scan -1 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    sinter.yield %c : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

func.func @no_trip(%h: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has a region whose first argument is not the trip; expected tensor<i64>}}
  %s = sinter.scan 2 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%c: tensor<2xf32>):
    sinter.yield %c : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

func.func @arguments(%h: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has 1 operands and a body of 2 arguments; expected one for each}}
  %s = sinter.scan 2 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>, %d: tensor<2xf32>):
    sinter.yield %c : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

func.func @slice(%x: tensor<3x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{operand 0 is 'tensor<3x2xf32>' and the body's argument 'tensor<2xf32>'; expected 'tensor<2x2xf32>'}}
  %s = sinter.scan 2 over(%x : tensor<3x2xf32>) -> (tensor<2x2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    sinter.yield %c : tensor<2xf32>
  }
  return %s : tensor<2x2xf32>
}

// -----

func.func @stack(%x: tensor<2x2xf32>) -> tensor<3x2xf32> {
  // expected-error @+1 {{result 0 is 'tensor<3x2xf32>' and the body yields 'tensor<2xf32>'; expected 'tensor<2x2xf32>'}}
  %s = sinter.scan 2 over(%x : tensor<2x2xf32>) -> (tensor<3x2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    sinter.yield %c : tensor<2xf32>
  }
  return %s : tensor<3x2xf32>
}

// -----

func.func @carry(%h: tensor<2xf32>) -> tensor<f32> {
  // expected-error @+1 {{gets carry 0 as 'tensor<2xf32>' and yields 'tensor<f32>'; expected the same type}}
  %s = sinter.scan 2 carry(%h : tensor<2xf32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %d = sinter.sum %c [0] : tensor<2xf32> -> tensor<f32>
    sinter.yield %d : tensor<f32>
  }
  return %s : tensor<f32>
}

// -----

func.func @results(%h: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has 1 carries, 1 results and a body that yields 2; expected the carries, then the stacks}}
  %s = sinter.scan 2 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    sinter.yield %c, %c : tensor<2xf32>, tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

func.func @body(%h: tensor<2xf32>) -> tensor<2xf32> {
  return %h : tensor<2xf32>
}
func.func @public(%h: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{runs @body; expected a private function of the module}}
  %s = sinter.loop @body 2 carry(%h) over() with() : (tensor<2xf32>) -> (tensor<2xf32>)
  return %s : tensor<2xf32>
}

// -----

func.func @few(%h: tensor<2xf32>) {
  // expected-error @+1 {{has 1 carries and 0 results; expected the carries, then the stacks}}
  sinter.loop @body 2 carry(%h) over() with() : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @unguarded(%h: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{is guarded by its first carry; expected one of type tensor<i1>}}
  %s = sinter.scan 2 guarded carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    sinter.yield %c : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

func.func @no_carry() {
  // expected-error @+1 {{is guarded by its first carry; expected one of type tensor<i1>}}
  sinter.scan 1 guarded -> () {
  ^bb0(%i: tensor<i64>):
    sinter.yield
  }
  return
}

// -----

func.func @stacks(%p: tensor<i1>) -> tensor<2xi1> {
  // expected-error @+1 {{ends by its guard after any of 2 trips, and has slices or stacks; expected carries and invariants alone}}
  %s:2 = sinter.scan 2 guarded carry(%p : tensor<i1>) -> (tensor<i1>, tensor<2xi1>) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>):
    sinter.yield %c, %c : tensor<i1>, tensor<i1>
  }
  return %s#1 : tensor<2xi1>
}
