// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{has type 'tensor<?xf32>'; expected a static tensor of rank 0 to 8 of f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2}}
sinter.variable @w : tensor<?xf32> = constant(0.0, 0.0) seed 0

// -----

// expected-error@+1 {{of type 'tensor<4xi32>' has the random initializer normal; expected a floating-point element type, or the initializer constant}}
sinter.variable @w : tensor<4xi32> = normal(0.0, 1.0) seed 0

// -----

// expected-error@+1 {{is initialised with 5.000000e-01, which 'i32' cannot hold; expected a whole number of its range}}
sinter.variable @w : tensor<4xi32> = constant(0.5, 0.0) seed 0

// -----

// expected-error@+1 {{has the initializer normal(0.000000e+00, INF); expected finite parameters}}
sinter.variable @w : tensor<4xf32> = normal(0.0, 0x7FF0000000000000) seed 0

// -----

// expected-error@+1 {{is uniform in [1.000000e+00, -1.000000e+00); expected the lower bound first}}
sinter.variable @w : tensor<4xf32> = uniform(1.0, -1.0) seed 0

// -----

// expected-error@+1 {{is normal with deviation -1.000000e+00; expected 0 or more}}
sinter.variable @w : tensor<4xf32> = normal(0.0, -1.0) seed 0

// -----

// expected-error@+1 {{of type 'tensor<4xf32>' is orthogonal; expected rank 2 or more}}
sinter.variable @w : tensor<4xf32> = orthogonal(1.0, 0.0) seed 0

// -----

// expected-error@+1 {{has the initial range array<f64: 2.000000e+00, -1.000000e+00>; expected two finite numbers, the lower first, and a normal initializer}}
sinter.variable @w : tensor<4xf32> = normal(0.0, 1.0) seed 0 {sinter.initial_range = array<f64: 2.0, -1.0>}

// -----

// expected-error@+1 {{of type 'tensor<4xf32>' has initial values 'tensor<3xf32>'; expected dense values of its type, and a constant initializer}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.initial_values = dense<1.0> : tensor<3xf32>}

// -----

func.func @loss_rank(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has a loss of type 'tensor<4xf32>'; expected rank 0: sum or mean it first}}
  %g = sinter.gradients %x wrt %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func @gradient_count(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{has 2 values and 1 gradients; expected one gradient a value}}
  %g = sinter.gradients %x wrt %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}

// -----

func.func @gradient_type(%x: tensor<f32>, %y: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{gives value 0 of type 'tensor<2xf32>' a gradient of type 'tensor<3xf32>'; expected the same type}}
  %g = sinter.gradients %x wrt %y : (tensor<f32>, tensor<2xf32>) -> tensor<3xf32>
  return %g : tensor<3xf32>
}

// -----

func.func @fusion_inputs(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has 1 inputs and 0 arguments; expected as many}}
  %r = sinter.fusion(%x : tensor<4xf32>) -> (tensor<4xf32>) {
    %c = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @fusion_types(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{output 0 is 'tensor<4xf32>', the region's result 'tensor<3xf32>'}}
  %r = sinter.fusion(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %c = sinter.constant dense<0.0> : tensor<3xf32>
    sinter.yield %c : tensor<3xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @fusion_body(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error@+1 {{holds 'sinter.matmul'; expected fusible ops and reductions only}}
  %r = sinter.fusion(%x : tensor<2x2xf32>) -> (tensor<2x2xf32>) {
  ^bb0(%a: tensor<2x2xf32>):
    %c = sinter.matmul %a, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    sinter.yield %c : tensor<2x2xf32>
  }
  return %r : tensor<2x2xf32>
}

// -----

func.func @fusion_empty() {
  // expected-error@+1 {{has an empty region; expected ops that end in sinter.yield}}
  sinter.fusion() -> () {}
  return
}

// -----

func.func @fusion_terminator(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has a region that does not end in sinter.yield}}
  %r = sinter.fusion(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %c = sinter.neg %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @fusion_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{holds a constant of type 'tensor<2xf32>' whose elements differ; expected it among the operands}}
  %r = sinter.fusion(%x : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %s = sinter.add %a, %c : tensor<2xf32>
    sinter.yield %s : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// -----

// A value defined inside the region is not visible as an operand.
func.func @fusion_of_itself() -> tensor<4xf32> {
  // expected-error@+1 {{use of undeclared SSA value name}}
  %r = sinter.fusion(%c : tensor<4xf32>) -> (tensor<4xf32>) {
    %c = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// expected-error@+1 {{has more than 2^47 elements, of type 'tensor<1099511627776x1099511627776xf32>'}}
sinter.variable @w : tensor<1099511627776x1099511627776xf32> = constant(0.0, 0.0) seed 0

// -----

// expected-error@+1 {{is initialised with -3.000000e+02, which 'i8' cannot hold; expected a whole number of its range}}
sinter.variable @w : tensor<2xi8> = constant(-3.0e+02, 0.0) seed 0

// -----

// expected-error@+1 {{input "x" has more than 2^47 elements, of type 'tensor<1099511627776x1099511627776xf32>'}}
func.func @f(%x: tensor<1099511627776x1099511627776xf32> {sinter.input = "x"}) {
  return
}
