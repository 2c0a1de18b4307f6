// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a device cannot have the index -1; expected 0 or more, as in <gpu, 0>}}
func.func @index(%x: tensor<4xf32> {sinter.device = #sinter.device<gpu, -1>})

// -----

// expected-error@+2 {{there are no devices of kind "tpu"; expected cpu or gpu}}
// expected-error@+1 {{failed to parse Sinter_Device parameter 'kind'}}
func.func @kind(%x: tensor<4xf32> {sinter.device = #sinter.device<tpu, 0>})

// -----

// expected-error@+1 {{has sinter.device = "gpu:0"; expected a device, such as #sinter.device<gpu, 0>}}
func.func @argument(%x: tensor<4xf32> {sinter.device = "gpu:0"}) {
  return
}

// -----

// expected-error@+1 {{has sinter.device = 0 : i64; expected a device, such as #sinter.device<gpu, 0>}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.device = 0}) {
  return %x : tensor<4xf32>
}

// -----

func.func @op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has sinter.device = unit; expected a device, such as #sinter.device<gpu, 0>}}
  %y = sinter.neg %x {sinter.device} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has the attribute sinter.device; expected none: a copy names its device behind `to`}}
  %y = sinter.copy %x to <gpu, 0> {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @gradients(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{has the attribute sinter.device; expected none: each gradient is where its value is}}
  %g = sinter.gradients %x wrt %x {sinter.device = #sinter.device<gpu, 0>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}

// -----

func.func @nowhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no device to copy to; expected either `to` a device or `like` a value}}
  %y = sinter.copy %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @both(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has both a device and a value to be like; expected either `to` a device or `like` a value}}
  %y = sinter.copy %x to <gpu, 0> like %x of tensor<4xf32> : tensor<4xf32>
  return %y : tensor<4xf32>
}
