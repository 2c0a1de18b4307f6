// RUN: sinter-opt %s --verify-diagnostics --sinter-localise

module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
    // expected-error @below {{makes terms of a max over axis "data" of a value that its ranks have as [4]; expected such terms, or a sum}}
    %0 = sinter.reshard %x to <[4] partial max data> : tensor<4xf32>
    %1 = sinter.neg %0 {sinter.sharding = [#sinter.sharding<[4] partial max data>]} : tensor<4xf32>
    %2 = sinter.reshard %1 to <[4]> : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
