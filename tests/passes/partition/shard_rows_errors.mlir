// RUN: sinter-opt %s --verify-diagnostics --sinter-shard="axes=data rows=tensor"

// expected-error @below {{rows are cut along axis "tensor", and the mesh is #sinter.mesh<data 2>; name one of its axes}}
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
    return %x : tensor<4xf32>
  }
}
