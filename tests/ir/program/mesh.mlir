// RUN: sinter-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>}
// CHECK: sinter.all_reduce sum %{{.*}} over ["data", "tensor"] channel 0
// CHECK: sinter.all_gather %{{.*}} sizes [] over ["data"] channel 1 : tensor<4xf32> -> tensor<8xf32>
// CHECK: sinter.reduce_scatter sum %{{.*}} sizes [] over ["tensor"] channel 2 : tensor<4xf32> -> tensor<1xf32>
// CHECK: sinter.all_gather %{{.*}} sizes [4, 2] over ["data"] channel 3 : tensor<4xf32> -> tensor<6xf32>
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  func.func @exchanges(%x: tensor<4xf32>) {
    %a = sinter.all_reduce sum %x over ["data", "tensor"] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    %b = sinter.all_gather %x sizes [] over ["data"] channel 1 : tensor<4xf32> -> tensor<8xf32>
    %c = sinter.reduce_scatter sum %x sizes [] over ["tensor"] channel 2 : tensor<4xf32> -> tensor<1xf32>
    %d = sinter.all_gather %x sizes [4, 2] over ["data"] channel 3 : tensor<4xf32> -> tensor<6xf32>
    return
  }
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{is over axis "data", and the module has no mesh; expected the attribute sinter.mesh}}
  %a = sinter.all_reduce sum %x over ["data"] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{is over axis "rows", which #sinter.mesh<data 2> lacks}}
    %a = sinter.all_reduce sum %x over ["rows"] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{is over axis "data" out of order; expected each once, in the order of #sinter.mesh<data 2, tensor 4>}}
    %a = sinter.all_reduce sum %x over ["tensor", "data"] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{names devices and axes in its group; expected one or the other}}
    %a = sinter.all_reduce sum %x over ["data", #sinter.device<cpu, 0>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 3>} {
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{has 3 equal parts of type 'tensor<4xf32>' of a whole of type 'tensor<8xf32>'; expected equal types but for dimension 0, which the parts divide}}
    %a = sinter.all_gather %x sizes [] over ["data"] channel 0 : tensor<4xf32> -> tensor<8xf32>
    return
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{expects a group of two devices, sender and receiver, and to be on the first}}
    sinter.send %x over ["data"] channel 0 : tensor<4xf32>
    return
  }
}

// -----

// expected-error @below {{a mesh has two axes named data}}
module attributes {sinter.mesh = #sinter.mesh<data 2, data 3>} {
}

// -----

// expected-error @below {{axis tensor of a mesh has the size 0; expected 1 or more, and at most 1048576 ranks in all}}
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 0>} {
}
