// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @rank(%a: tensor<3xf32>) {
  // expected-error@+1 {{takes matrices of type 'tensor<3xf32>'; expected rank 2 or more}}
  %0 = sinter.cholesky %a : tensor<3xf32>
  return
}

// -----

func.func @square(%a: tensor<2x3x4xf32>) {
  // expected-error@+1 {{takes matrices of 3x4; expected as many rows as columns}}
  %0 = sinter.cholesky %a : tensor<2x3x4xf32>
  return
}

// -----

func.func @sides(%a: tensor<3x3xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+1 {{has right-hand sides of type 'tensor<4x3xf32>'; expected 'tensor<3x3xf32>'}}
  %0 = sinter.triangular_solve %a, %b : tensor<3x3xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @right(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{has right-hand sides of type 'tensor<3x4xf32>'; expected 'tensor<3x3xf32>'}}
  %0 = sinter.triangular_solve %a, %b {right} : tensor<3x3xf32>, tensor<3x4xf32>
  return
}

// -----

func.func @batch(%a: tensor<2x3x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error@+1 {{has right-hand sides of type 'tensor<3x3xf32>'; expected 'tensor<2x3x3xf32>'}}
  %0 = sinter.solve %a, %b : tensor<2x3x3xf32>, tensor<3x3xf32>
  return
}

// -----

func.func @element(%a: tensor<3x3xf32>, %b: tensor<3x3xf64>) {
  // expected-error@+1 {{has right-hand sides of type 'tensor<3x3xf64>'; expected 'tensor<3x3xf32>'}}
  %0 = sinter.solve %a, %b : tensor<3x3xf32>, tensor<3x3xf64>
  return
}

// -----

func.func @q(%a: tensor<5x3xf32>) {
  // expected-error@+1 {{has Q of type 'tensor<5x5xf32>'; expected 'tensor<5x3xf32>'}}
  %0:2 = sinter.qr %a : tensor<5x3xf32> -> tensor<5x5xf32>, tensor<3x3xf32>
  return
}

// -----

func.func @r(%a: tensor<5x3xf32>) {
  // expected-error@+1 {{has R of type 'tensor<3x3xf32>'; expected 'tensor<5x3xf32>'}}
  %0:2 = sinter.qr_complete %a : tensor<5x3xf32> -> tensor<5x5xf32>, tensor<3x3xf32>
  return
}

// -----

func.func @values(%a: tensor<3x3xf32>) {
  // expected-error@+1 {{has eigenvalues of type 'tensor<4xf32>'; expected 'tensor<3xf32>'}}
  %0:2 = sinter.eigh %a : tensor<3x3xf32> -> tensor<4xf32>, tensor<3x3xf32>
  return
}

// -----

func.func @vectors(%a: tensor<3x3xf32>) {
  // expected-error@+1 {{has eigenvectors of type 'tensor<3x2xf32>'; expected 'tensor<3x3xf32>'}}
  %0:2 = sinter.eigh %a : tensor<3x3xf32> -> tensor<3xf32>, tensor<3x2xf32>
  return
}

// -----

func.func @singular(%a: tensor<5x3xf32>) {
  // expected-error@+1 {{has singular values of type 'tensor<5xf32>'; expected 'tensor<3xf32>'}}
  %0:3 = sinter.svd %a : tensor<5x3xf32> -> tensor<5x3xf32>, tensor<5xf32>, tensor<3x3xf32>
  return
}

// -----

func.func @vt(%a: tensor<3x5xf32>) {
  // expected-error@+1 {{has V^T of type 'tensor<5x3xf32>'; expected 'tensor<3x5xf32>'}}
  %0:3 = sinter.svd %a : tensor<3x5xf32> -> tensor<3x3xf32>, tensor<3xf32>, tensor<5x3xf32>
  return
}

// -----

func.func @permutation(%a: tensor<3x3xf32>) {
  // expected-error@+1 {{has a permutation of type 'tensor<2xi32>'; expected 'tensor<3xi32>'}}
  %0:2 = sinter.lu %a : tensor<3x3xf32> -> tensor<3x3xf32>, tensor<2xi32>
  return
}
