// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-shard="axes=data whole=mask"

module attributes {sinter.mesh = #sinter.mesh<data 3>} {
  sinter.variable @v : tensor<256x4xf32> = constant(0.0, 0.0) seed 0
  // expected-error @below {{input "x" of function "train" has a batch of 256, which is not a multiple of the 3 devices; the nearest are 255 and 258, or set even = false}}
  func.func @train(%x: tensor<256x4xf32> {sinter.input = "x"}, %mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<256x4xf32> {sinter.variable = @v}) {
    return %x : tensor<256x4xf32>
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 3>} {
  sinter.variable @v : tensor<3x4xf32> = constant(0.0, 0.0) seed 0
  func.func @train(%x: tensor<3x4xf32> {sinter.input = "x"},
                   // expected-error @below {{input "w" of function "train" has 4 rows, input "x" 3: the batch cannot be cut the same way in both; name what every device gets whole in whole_inputs}}
                   %w: tensor<4xf32> {sinter.input = "w"}, %mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<3x4xf32> {sinter.variable = @v}) {
    return %x : tensor<3x4xf32>
  }
}

// -----

// expected-error @below {{whole_inputs names "mask", and no function has an input of that name}}
module attributes {sinter.mesh = #sinter.mesh<data 3>} {
  func.func @train(%x: tensor<3x4xf32> {sinter.input = "x"}) -> (tensor<3x4xf32> {sinter.output = "y"}) {
    return %x : tensor<3x4xf32>
  }
}

// -----

// expected-error @below {{the batch is cut along axis "data", and the mesh is #sinter.mesh<tensor 2>; name one of its axes}}
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  func.func @f(%mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<4xf32> {sinter.output = "y"}) {
    return %mask : tensor<4xf32>
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<4xf32> {sinter.output = "y"}) {
    // expected-error @below {{this exchange names its devices, and a program for several ranks has only the devices of one; leave it out}}
    %y = sinter.all_reduce sum %mask over [#sinter.device<cpu, 0>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
