// RUN: sinter-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>}
// CHECK: sinter.all_reduce sum %{{.*}} over ["data", "tensor"] channel 0
// CHECK: sinter.all_gather %{{.*}} sizes [] over ["data"] channel 1 : tensor<4xf32> -> tensor<8xf32>
// CHECK: sinter.reduce_scatter sum %{{.*}} sizes [] over ["tensor"] channel 2 : tensor<4xf32> -> tensor<1xf32>
// CHECK: sinter.all_gather %{{.*}} sizes [4, 2] over ["data"] channel 3 : tensor<4xf32> -> tensor<6xf32>
// CHECK: sinter.reshard %{{.*}} to <[4 data]> : tensor<4xf32>
// CHECK: sinter.reshard %{{.*}} to <[2 * 2 tensor] partial max data> : tensor<4xf32>
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  func.func @exchanges(%x: tensor<4xf32>) {
    %a = sinter.all_reduce sum %x over ["data", "tensor"] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    %b = sinter.all_gather %x sizes [] over ["data"] channel 1 : tensor<4xf32> -> tensor<8xf32>
    %c = sinter.reduce_scatter sum %x sizes [] over ["tensor"] channel 2 : tensor<4xf32> -> tensor<1xf32>
    %d = sinter.all_gather %x sizes [4, 2] over ["data"] channel 3 : tensor<4xf32> -> tensor<6xf32>
    %e = sinter.reshard %x to <[4 data]> : tensor<4xf32>
    %f = sinter.reshard %e to <[2 * 2 tensor] partial max data> : tensor<4xf32>
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

// -----

// CHECK: sinter.variable @rows : tensor<3x8xf32> {{.*}}sinter.box = #sinter.box<[3 of 6 from [0, 3, 0], 8] of tensor<6x8xf32>>
// CHECK: sinter.variable @heads : {{.*}}sinter.box = #sinter.box<[16, 3, 3 of 12 from [0, 0, 3], 64] of tensor<16x2304xf32>>
// CHECK: sinter.variable @both : {{.*}}sinter.box = #sinter.box<[1 of 8 from [4, -4, 1]] of tensor<8xf32>>
// CHECK: sinter.variable @same : {{.*}}sinter.box = #sinter.box<[4 from [0, 0, 0], 1] of tensor<4x1xf32>>
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  sinter.variable @rows : tensor<3x8xf32> = normal(0.0, 1.0) seed 1 {sinter.box = #sinter.box<[3 of 6 from [0, 3, 0], 8] of tensor<6x8xf32>>}
  sinter.variable @heads : tensor<16x576xf32> = normal(0.0, 1.0) seed 1 {sinter.box = #sinter.box<[16, 3, 3 of 12 from [0, 0, 3], 64] of tensor<16x2304xf32>>}
  sinter.variable @both : tensor<1xf32> = normal(0.0, 1.0) seed 1 {sinter.box = #sinter.box<[1 of 8 from [4, -4, 1]] of tensor<8xf32>>}
  sinter.variable @same : tensor<4x1xf32> = normal(0.0, 1.0) seed 1 {sinter.box = #sinter.box<[4 of 4 from [0, 0, 0], 1] of tensor<4x1xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has sinter.box = 3 : i64; expected a box, such as #sinter.box<[2 of 4 from [0, 2]] of tensor<4xf32>>}}
  sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = 3}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{is of type 'tensor<4xf32>', and its box is of type 'tensor<2xf32>'; expected equal types}}
  sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, 2, 0]] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box whose extent 0 begins at [0, 2]; expected a constant, and a stride for each of the 2 axes of the module's mesh}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, 2]] of tensor<4xf32>>}
}

// -----

module {
  // expected-error @below {{has a box whose extent 0 begins at [0, 2]; expected a constant, and a stride for each of the 0 axes of the module's mesh}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, 2]] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box that axis "data" moves along extents 0 and 1; expected one extent}}
  sinter.variable @w : tensor<2x2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, 2, 0], 2 of 4 from [0, 2, 0]] of tensor<4x4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 4 iterations of extent 0, from []; expected parts that begin at the multiples of 2 below 4, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 4 iterations of extent 0, from [0, 0, 2]; expected parts that begin at the multiples of 2 below 4, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, 0, 2]] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 8 iterations of extent 0, from [0, 2, 0]; expected parts that begin at the multiples of 2 below 8, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 8 from [0, 2, 0]] of tensor<8xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 5 iterations of extent 0, from [0, 2, 0]; expected parts that begin at the multiples of 2 below 5, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 5 from [0, 2, 0]] of tensor<5xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 4 iterations of extent 0, from [0, 1, 0]; expected parts that begin at the multiples of 2 below 4, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, 1, 0]] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 4 iterations of extent 0, from [2, 2, 0]; expected parts that begin at the multiples of 2 below 4, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [2, 2, 0]] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 4 iterations of extent 0, from [0, -2, 0]; expected parts that begin at the multiples of 2 below 4, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, -2, 0]] of tensor<4xf32>>}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  // expected-error @below {{has a box with 2 of 4 iterations of extent 0, from [0, -1000000, 0]; expected parts that begin at the multiples of 2 below 4, and nowhere else}}
  sinter.variable @w : tensor<2xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2 of 4 from [0, -1000000, 0]] of tensor<4xf32>>}
}

// -----

// expected-error @below {{a box has 5 of 4 iterations of an extent; expected at least one and at most all}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[5 of 4] of tensor<4xf32>>}

// -----

// expected-error @below {{a box has 0 of 0 iterations of an extent; expected at least one and at most all}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[0] of tensor<0xf32>>}

// -----

// expected-error @below {{a box has the extents [3, 4], which are no view of 'tensor<2x6xf32>'; expected for each dimension extents whose product it is}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[3, 4] of tensor<2x6xf32>>}

// -----

// expected-error @below {{a box has the extents [2, 3], which are no view of 'tensor<2xf32>'}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2, 3] of tensor<2xf32>>}

// -----

// expected-error @below {{a box of 'tensor<?xf32>'; expected a static shape}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[2] of tensor<?xf32>>}

// -----

// expected-error @below {{has the attribute sinter.box; expected it on sinter.variable alone}}
func.func @f(%x: tensor<4xf32>) attributes {sinter.box = #sinter.box<[4] of tensor<4xf32>>} {
  return
}

// -----

// expected-error @below {{has the attribute sinter.sum_axes; expected it on sinter.variable alone}}
func.func @f(%x: tensor<4xf32>) attributes {sinter.sum_axes = ["data"]} {
  return
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @good : tensor<4xf64> = constant(0.0, 0.0) seed 0 {sinter.sum_axes = ["data", "tensor"]}
  // expected-error @below {{of type 'tensor<4xi32>' has the attribute sinter.sum_axes; expected it on variables of f32 and f64}}
  sinter.variable @w : tensor<4xi32> = constant(0.0, 0.0) seed 0 {sinter.sum_axes = ["data"]}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  // expected-error @below {{has sinter.sum_axes = ["tensor", "data"]; expected axes of the module's mesh, in its order}}
  sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.sum_axes = ["tensor", "data"]}
}

// -----

// expected-error @below {{has sinter.sum_axes = ["data"]; expected axes of the module's mesh, in its order}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.sum_axes = ["data"]}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4x4xf32>) {
    // expected-error @below {{axis "data" is named twice: it cuts one extent, or its ranks have terms}}
    %a = sinter.reshard %x to <[4 data, 4 data]> : tensor<4x4xf32>
    return
  }
}
