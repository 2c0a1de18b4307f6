// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @pairs(%a: tensor<2x8xf32>) {
  // expected-error@+1 {{takes complex numbers of type 'tensor<2x8xf32>'; expected [..., n, 2]}}
  %0 = sinter.fft %a : tensor<2x8xf32>
  return
}

// -----

func.func @rank(%a: tensor<2xf32>) {
  // expected-error@+1 {{takes complex numbers of type 'tensor<2xf32>'; expected [..., n, 2]}}
  %0 = sinter.fft %a {inverse} : tensor<2xf32>
  return
}

// -----

func.func @none(%a: tensor<3x0x2xf32>) {
  // expected-error@+1 {{transforms 0 numbers; expected at least one}}
  %0 = sinter.fft %a : tensor<3x0x2xf32>
  return
}

// -----

func.func @scalar(%a: tensor<f64>) {
  // expected-error@+1 {{has real numbers of type 'tensor<f64>'; expected rank 1 or more}}
  %0 = sinter.rfft %a : tensor<f64> -> tensor<1x2xf64>
  return
}

// -----

func.func @no_reals(%a: tensor<0xf64>) {
  // expected-error@+1 {{transforms 0 numbers; expected at least one}}
  %0 = sinter.rfft %a : tensor<0xf64> -> tensor<1x2xf64>
  return
}

// -----

func.func @half(%a: tensor<3x8xf32>) {
  // expected-error@+1 {{has complex numbers of type 'tensor<3x8x2xf32>' for real ones of type 'tensor<3x8xf32>'; expected 'tensor<3x5x2xf32>'}}
  %0 = sinter.rfft %a : tensor<3x8xf32> -> tensor<3x8x2xf32>
  return
}

// -----

func.func @element(%a: tensor<8xf32>) {
  // expected-error@+1 {{has complex numbers of type 'tensor<5x2xf64>' for real ones of type 'tensor<8xf32>'; expected 'tensor<5x2xf32>'}}
  %0 = sinter.rfft %a : tensor<8xf32> -> tensor<5x2xf64>
  return
}

// -----

func.func @inverse(%a: tensor<5x2xf32>) {
  // expected-error@+1 {{has complex numbers of type 'tensor<5x2xf32>' for real ones of type 'tensor<10xf32>'; expected 'tensor<6x2xf32>'}}
  %0 = sinter.irfft %a : tensor<5x2xf32> -> tensor<10xf32>
  return
}
