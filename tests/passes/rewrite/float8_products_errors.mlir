// RUN: sinter-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(sinter-float8-products{without=sm_80,sm_86 without-rows=sm_89 report})'

module attributes {sinter.float8 = {least_features = 32 : i64}} {
  sinter.variable @w : tensor<64x32xbf16> = constant(0.0, 0.0) seed 0
  func.func @on_an_older_gpu(%x: tensor<16x64xbf16> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                             %w: tensor<64x32xbf16> {sinter.variable = @w, sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<16x32xbf16> {sinter.output = "y"}) {
    // expected-remark@+2 {{product of 16x64 by 64x32 in float8, tensorwise}}
    // expected-error@+1 {{GraphOptions::float8 asks for products of 8-bit floats, which GPUs of sm_80, sm_86 lack: set CompileOptions::gpu_architectures to sm_89, sm_90 or newer, or leave float8 out}}
    %y = sinter.matmul %x, %w {sinter.device = #sinter.device<gpu, 0>} : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    return %y : tensor<16x32xbf16>
  }
}

// -----

// expected-error@+1 {{GraphOptions::float8 applies to no product: it takes matmuls of bf16 by a variable of at least 32 rows and columns, whose sizes are multiples of 16; set precision to bf16, or lower Float8::least_features}}
module attributes {sinter.float8 = {least_features = 32 : i64}} {
  sinter.variable @w : tensor<64x32xf32> = constant(0.0, 0.0) seed 0
  func.func @f32(%x: tensor<16x64xf32> {sinter.input = "x"}, %w: tensor<64x32xf32> {sinter.variable = @w})
      -> (tensor<16x32xf32> {sinter.output = "y"}) {
    // expected-remark@+1 {{product of 16x64 by 64x32 stays in 'f32': its operands and its result are not all of bf16}}
    %y = sinter.matmul %x, %w : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    return %y : tensor<16x32xf32>
  }
}

// -----

// expected-error@+1 {{expected a dictionary}}
module attributes {sinter.float8 = "tensorwise"} {
}

// -----

// expected-error@+1 {{expected recipe tensorwise, rowwise or rowwise_with_bf16_weight_gradient}}
module attributes {sinter.float8 = {recipe = "colwise"}} {
}

// -----

// expected-error@+1 {{expected least_features of at least 0}}
module attributes {sinter.float8 = {least_features = -1 : i64}} {
}

// -----

// expected-error@+1 {{expected logits true or false}}
module attributes {sinter.float8 = {logits = 1 : i64}} {
}

// -----

// expected-error@+1 {{expected exclude a list of strings}}
module attributes {sinter.float8 = {exclude = [1]}} {
}

// -----

// expected-error@+1 {{expected the entries recipe, least_features, logits and exclude}}
module attributes {sinter.float8 = {exclud = []}} {
}

// -----

// Why matmuls stay.
module attributes {sinter.float8 = {least_features = 32 : i64, exclude = ["head"]}} {
  sinter.variable @w : tensor<64x32xbf16> = constant(0.0, 0.0) seed 0
  sinter.variable @narrow : tensor<64x16xbf16> = constant(0.0, 0.0) seed 0
  sinter.variable @odd : tensor<64x40xbf16> = constant(0.0, 0.0) seed 0
  sinter.variable @head : tensor<64x32xbf16> = constant(0.0, 0.0) seed 0
  func.func @reasons(%x: tensor<16x64xbf16> {sinter.input = "x"}, %b: tensor<2x16x64xbf16> {sinter.input = "b"},
                     %c: tensor<2x64x32xbf16> {sinter.input = "c"}, %labels: tensor<16xi32> {sinter.input = "labels"},
                     %bias: tensor<32xbf16> {sinter.input = "bias"}, %given: tensor<64x32xbf16> {sinter.input = "given"},
                     %w: tensor<64x32xbf16> {sinter.variable = @w}, %narrow: tensor<64x16xbf16> {sinter.variable = @narrow},
                     %odd: tensor<64x40xbf16> {sinter.variable = @odd}, %head: tensor<64x32xbf16> {sinter.variable = @head})
      -> (tensor<2x16x32xbf16> {sinter.output = "batch"}, tensor<16x32xbf16> {sinter.output = "biased"}, tensor<16x32xbf16> {sinter.output = "given"},
          tensor<16x40xbf16> {sinter.output = "odd"}, tensor<16x16xbf16> {sinter.output = "narrow"}, tensor<f32> {sinter.output = "loss"},
          tensor<16x32xbf16> {sinter.output = "head"}, tensor<16x32xbf16> {sinter.output = "y"}) {
    // expected-remark@+1 {{stays in 'bf16': it has a batch of matrices}}
    %0 = sinter.matmul %b, %c : (tensor<2x16x64xbf16>, tensor<2x64x32xbf16>) -> tensor<2x16x32xbf16>
    // expected-remark@+1 {{stays in 'bf16': it has an epilogue}}
    %1 = sinter.matmul %x, %w bias %bias : (tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<32xbf16>) -> tensor<16x32xbf16>
    // expected-remark@+1 {{stays in 'bf16': its second operand is no variable}}
    %2 = sinter.matmul %x, %given : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    // expected-remark@+1 {{product of 16x64 by 64x40 stays in 'bf16': its sizes are not all multiples of 16}}
    %3 = sinter.matmul %x, %odd : (tensor<16x64xbf16>, tensor<64x40xbf16>) -> tensor<16x40xbf16>
    // expected-remark@+1 {{stays in 'bf16': its weights have fewer than 32 rows or columns}}
    %4 = sinter.matmul %x, %narrow : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
    // expected-remark@+1 {{stays in 'bf16': it computes logits}}
    %5 = sinter.matmul %x, %w : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    %wide = sinter.cast %5 : tensor<16x32xbf16> -> tensor<16x32xf32>
    %loss = sinter.softmax_cross_entropy mean %wide, %labels : tensor<16x32xf32>, tensor<16xi32> -> tensor<f32>
    // expected-remark@+1 {{stays in 'bf16': "head" is excluded}}
    %6 = sinter.matmul %x, %head : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    // expected-remark@+1 {{product of 16x64 by 64x32 in float8, tensorwise}}
    %7 = sinter.matmul %x, %w : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    return %0, %1, %2, %3, %4, %loss, %6, %7 : tensor<2x16x32xbf16>, tensor<16x32xbf16>, tensor<16x32xbf16>, tensor<16x40xbf16>, tensor<16x16xbf16>, tensor<f32>, tensor<16x32xbf16>, tensor<16x32xbf16>
  }
}
