// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @names(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has 1 parameter names and 2 raw marks; expected one of each for 1 operands and 1 results}}
  %z = sinter.elementwise_kernel "k"(%x) {parameters = ["x"], raw = array<i1: false, false>, n = 4 : i64, body = "z = x"}
    : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func @elements(%x: tensor<4xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{has parameter "z" of type 'tensor<3xf32>'; expected 4 elements, or a raw parameter}}
  %z = sinter.elementwise_kernel "k"(%x) {parameters = ["x", "z"], raw = array<i1: false, false>, n = 4 : i64, body = "z = x"}
    : (tensor<4xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}

// -----

func.func @types(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has "f32" for the type "T"; expected an element type, such as f32}}
  %z = sinter.elementwise_kernel "k"(%x) {parameters = ["x", "z"], raw = array<i1: false, false>, n = 4 : i64, body = "z = x",
    types = {T = "f32"}} : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func @no_gradient_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has the gradient @nothing; expected a private function with a body of one block}}
  %z = sinter.elementwise_kernel "k"(%x) {parameters = ["x", "z"], raw = array<i1: false, false>, n = 4 : i64, body = "z = x",
    gradient = @nothing} : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func private @gradient(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  return %g : tensor<4xf32>
}
func.func @gradient_type(%x: tensor<4xf32>, %at: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{has the gradient @gradient of type '(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>'; expected '(tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>': from operands, results and the results' gradients to the gradients of the operands of floating-point type}}
  %z = sinter.elementwise_kernel "k"(%x, %at) {parameters = ["x", "at", "z"], raw = array<i1: false, false, false>, n = 4 : i64,
    body = "z = x", gradient = @gradient} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
