// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-localise

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
    // expected-error @below {{makes terms of a max over axis "data" of a value that its ranks have as [4]; expected such terms, or a sum}}
    %0 = sinter.reshard %x to <[4] partial max data> : tensor<4xf32>
    %1 = sinter.neg %0 {sinter.sharding = [#sinter.sharding<[4] partial max data>]} : tensor<4xf32>
    %2 = sinter.reshard %1 to <[4]> : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

module attributes {sinter.mesh = #sinter.mesh<replica 2, data 3>} {
  // expected-error @below {{2 axes of the mesh cut a dimension of 7 in 6 parts, which do not divide it; choose sizes that do, or cut by one axis}}
  func.func @f(%x: tensor<7xf32> {sinter.input = "x", sinter.sharding = #sinter.sharding<[7 replica data]>}) -> (tensor<7xf32> {sinter.output = "y", sinter.sharding = #sinter.sharding<[7 replica data]>}) {
    %0 = sinter.neg %x {sinter.sharding = [#sinter.sharding<[7 replica data]>]} : tensor<7xf32>
    return %0 : tensor<7xf32>
  }
}
