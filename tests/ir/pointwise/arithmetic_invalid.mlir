// RUN: sinter-opt %s -split-input-file -verify-diagnostics

func.func @shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "sinter.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @elements(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "sinter.mul"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @bools(%x: tensor<2xi1>) {
  // expected-error @+1 {{operand #0 must be a static tensor of rank 0 to 8 of f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8}}
  %0 = sinter.add %x, %x : tensor<2xi1>
  return
}

// -----

func.func @pow_of_ints(%x: tensor<2xi32>) {
  // expected-error @+1 {{operand #0 must be a static tensor of rank 0 to 8 of f64 f32 bf16 f16}}
  %0 = sinter.pow %x, %x : tensor<2xi32>
  return
}
