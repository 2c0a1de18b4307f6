// RUN: sinter-opt %s --split-input-file --verify-diagnostics '--sinter-partition=devices=gpu:0,gpu:1,gpu:2 whole=mask'

// expected-error @below {{input "x" of function "train" has a batch of 256, which is not a multiple of the 3 devices; the nearest are 255 and 258, or set DataParallel::even = false}}
func.func @train(%x: tensor<256x4xf32> {sinter.input = "x"}, %mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<256x4xf32> {sinter.output = "y"}) {
  return %x : tensor<256x4xf32>
}

// -----

func.func @train(%x: tensor<3x4xf32> {sinter.input = "x"},
                 // expected-error @below {{input "w" of function "train" has 4 rows, input "x" 3: the batch cannot be cut the same way in both; name what every device gets whole in DataParallel::whole_inputs}}
                 %w: tensor<4xf32> {sinter.input = "w"}, %mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<3x4xf32> {sinter.output = "y"}) {
  return %x : tensor<3x4xf32>
}

// -----

// expected-error @below {{DataParallel::whole_inputs names "mask", and no function has an input of that name}}
module {
  func.func @train(%x: tensor<3x4xf32> {sinter.input = "x"}) -> (tensor<3x4xf32> {sinter.output = "y"}) {
    return %x : tensor<3x4xf32>
  }
}

// -----

func.func @train(%x: tensor<3x4xf32> {sinter.input = "x"}, %mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<3x4xf32> {sinter.output = "y"}) {
  // expected-error @below {{this op is placed by the program, and one batch can be shared by several devices only where nothing else says what runs where; leave out the placement or the data parallelism, or build the model for each part of the batch and combine the gradients by AllReduce}}
  %y = sinter.neg %x {sinter.device = #sinter.device<gpu, 1>} : tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// expected-error @below {{variable "w" is placed by the program, and one batch can be shared}}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}
func.func @train(%mask: tensor<4xf32> {sinter.input = "mask"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  return %mask : tensor<4xf32>
}
