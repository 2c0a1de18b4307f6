// RUN: sinter-opt %s -split-input-file -verify-diagnostics

func.func @clamp(%x: tensor<3xf32>) {
  // expected-error @+1 {{'sinter.clamp' op has low 2.000000e+00 and high 1.000000e+00: low must not be above high, neither a NaN}}
  %0 = sinter.clamp %x {low = 2.0 : f64, high = 1.0 : f64} : tensor<3xf32>
  return
}

// -----

func.func @clamp_nan(%x: tensor<3xf32>) {
  // expected-error @+1 {{low must not be above high, neither a NaN}}
  %0 = sinter.clamp %x {low = 0x7FF8000000000000 : f64, high = 1.0 : f64} : tensor<3xf32>
  return
}

// -----

func.func @compare_types(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error @+1 {{requires all operands to have the same type}}
  %0 = "sinter.compare"(%x, %y) {predicate = 0 : i32} : (tensor<3xf32>, tensor<3xf64>) -> tensor<3xi1>
  return
}

// -----

func.func @select_shape(%c: tensor<2xi1>, %x: tensor<3xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = sinter.select %c, %x, %x : tensor<2xi1>, tensor<3xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<3xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = sinter.cast %x : tensor<3xf32> -> tensor<4xf64>
  return
}
