// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-shard="axes=data rows=tensor report=1"

// Weights that ZeRO cuts for storage bring no rows, even if no function changes them.
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @w : tensor<8x4xf32> = constant(1.0, 0.0) seed 1 trainable {sinter.sharding = #sinter.sharding<[8 data, 4]>, sinter.stored = ["data"]}
  // expected-remark @below {{every rank of axis "tensor" has all rows in function "f": rows are those of a batch, and no input has one}}
  func.func @f(%w: tensor<8x4xf32> {sinter.variable = @w}) -> (tensor<8x4xf32> {sinter.output = "y"}) {
    %y = sinter.relu %w : tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}

// -----

// Nor do variables that a function changes.
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @w : tensor<8x4xf32> = constant(1.0, 0.0) seed 1 trainable {sinter.sharding = #sinter.sharding<[8 data, 4]>}
  // expected-remark @below {{every rank of axis "tensor" has all rows in function "f"}}
  func.func @f(%w: tensor<8x4xf32> {sinter.variable = @w}) -> (tensor<8x4xf32> {sinter.variable = @w}) {
    %y = sinter.relu %w : tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}

// -----

// Data that stay on the devices do.
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @x : tensor<8x4xf32> = constant(1.0, 0.0) seed 1 {sinter.sharding = #sinter.sharding<[8 data, 4]>}
  func.func @f(%x: tensor<8x4xf32> {sinter.variable = @x}) -> (tensor<8x4xf32> {sinter.output = "y"}) {
    %y = sinter.relu %x : tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}
