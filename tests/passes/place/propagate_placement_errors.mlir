// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-propagate-placement -o /dev/null

func.func @two_inputs(
    // expected-note@+1 {{operand 0 is made here, on gpu:0}}
    %x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
    // expected-note@+1 {{operand 1 is made here, on gpu:1}}
    %y: tensor<4xf32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>}) -> (tensor<4xf32> {sinter.output = "a"}) {
  // expected-error@+1 {{'sinter.add' op mixes devices: it runs on gpu:0 and its operand 1 is on gpu:1; copy that first, Copy(x, Device::Gpu(0)), or compile with CompileOptions::copies = Copies::kAutomatic}}
  %a = sinter.add %x, %y : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// Constants count too if the program places them.
func.func @two_constants() -> (tensor<4xf32> {sinter.output = "a"}) {
  // expected-note@+1 {{operand 0 is made here, on cpu:1}}
  %x = sinter.constant dense<1.0> : tensor<4xf32> {sinter.device = #sinter.device<cpu, 1>}
  // expected-note@+1 {{operand 1 is made here, on cpu:0}}
  %y = sinter.constant dense<1.0> : tensor<4xf32> {sinter.device = #sinter.device<cpu, 0>}
  // expected-error@+1 {{'sinter.add' op mixes devices: it runs on cpu:1 and its operand 1 is on cpu:0; copy that first, Copy(x, Device::Cpu(1))}}
  %a = sinter.add %x, %y : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// The op's own device counts. A placed value of rank 0 is not exempt.
// expected-note@+1 {{operand 0 is made here, on gpu:0}}
func.func @own_place(%x: tensor<f32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<f32> {sinter.output = "a"}) {
  // expected-error@+1 {{'sinter.neg' op mixes devices: it runs on gpu:1 and its operand 0 is on gpu:0; copy that first, Copy(x, Device::Gpu(1))}}
  %a = sinter.neg %x {sinter.device = #sinter.device<gpu, 1>} : tensor<f32>
  return %a : tensor<f32>
}

// -----

sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}
func.func @new_value(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4xf32> {sinter.variable = @w}) {
  // expected-error@+1 {{the new value of variable "w" is on gpu:0, the variable on gpu:1; copy it first, Copy(x, Device::Gpu(1)), or compile with CompileOptions::copies = Copies::kAutomatic}}
  %a = sinter.neg %x : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @result(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<4xf32> {sinter.output = "y", sinter.device = #sinter.device<cpu, 0>}) {
  // expected-error@+1 {{result 0 of 'result' is computed on gpu:0 and wanted on cpu:0; copy it first, Copy(x, Device::Cpu(0))}}
  %a = sinter.neg %x : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// A variable has only one device.
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0
func.func @variable(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                    // expected-note@+1 {{operand 1 is made here, on gpu:0}}
                    %w: tensor<4xf32> {sinter.variable = @w},
                    // expected-note@+1 {{operand 0 is made here, on gpu:1}}
                    %y: tensor<4xf32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.output = "a"}, tensor<4xf32> {sinter.output = "b"}) {
  %a = sinter.add %x, %w : tensor<4xf32>
  // expected-error@+1 {{mixes devices: it runs on gpu:1 and its operand 1 is on gpu:0}}
  %b = sinter.add %y, %w : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
