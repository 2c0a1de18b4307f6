// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{has an empty group; expected the devices that take part}}
  %0 = sinter.all_reduce sum %x over [] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{names gpu:0 twice in its group}}
  %0 = sinter.all_reduce sum %x over [#sinter.device<gpu, 0>, #sinter.device<gpu, 0>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{is on gpu:2, which is not in its group}}
  %0 = sinter.all_reduce sum %x over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 2>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{has results of other types than its operands; expected the same}}
  %0 = sinter.all_reduce sum %x over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{has root 2; expected a rank from 0 to 1}}
  %0 = sinter.reduce sum %x to 2 over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{of rank 1 has 1 operands and 1 results; expected no results: the root alone has them}}
  %0 = sinter.reduce sum %x to 0 over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{of rank 1 has 1 operands and 1 results; expected no operands: the root alone has them}}
  %0 = sinter.broadcast_from %x root 0 over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{of rank 0 has 0 operands and 1 results; expected as many of each on the root}}
  %0 = sinter.broadcast_from root 0 over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{has 3 sizes; expected one of 0 or more for each of 2 devices}}
  %0 = sinter.all_gather %x sizes [4, 2, 2] over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{has parts of type 'tensor<4xf32>' of a whole of type 'tensor<8xf32>'; expected equal types but for dimension 0, which `sizes` divides}}
  %0 = sinter.all_gather %x sizes [5, 3] over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @below {{has parts of type 'tensor<2x3xf32>' of a whole of type 'tensor<4x2xf32>'}}
  %0 = sinter.reduce_scatter sum %x sizes [2, 2] over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : tensor<4x2xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @below {{cuts 'tensor<3xf32>' for 2 devices; expected a dimension 0 that is a multiple of their number}}
  %0 = sinter.all_to_all %x over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @below {{shifts by 2; expected 0 to 1}}
  %0 = sinter.ring_shift %x by 2 over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @below {{expects a group of two devices, sender and receiver, and to be on the first}}
  sinter.send %x over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 1>} : tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @below {{expects a group of two devices, sender and receiver, and to be on the second}}
  %0 = sinter.recv over [#sinter.device<gpu, 0>] channel 0 : tensor<3xf32>
  return
}
