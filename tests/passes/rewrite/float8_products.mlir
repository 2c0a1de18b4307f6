// RUN: sinter-opt %s --split-input-file --sinter-float8-products | FileCheck %s

module attributes {sinter.float8 = {recipe = "tensorwise", least_features = 32 : i64}} {
  sinter.variable @wq : tensor<64x32xbf16> = constant(0.0, 0.0) seed 0
  sinter.variable @table : tensor<48x64xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @narrow : tensor<64x16xbf16> = constant(0.0, 0.0) seed 0

  // CHECK-LABEL: func.func @layers
  func.func @layers(%x: tensor<16x64xbf16> {sinter.input = "x"}, %odd: tensor<15x64xbf16> {sinter.input = "odd"},
                    %w: tensor<64x32xbf16> {sinter.variable = @wq}, %table: tensor<48x64xf32> {sinter.variable = @table},
                    %narrow: tensor<64x16xbf16> {sinter.variable = @narrow}, %labels: tensor<16xi32> {sinter.input = "labels"})
      -> (tensor<16x32xbf16> {sinter.output = "q"}, tensor<15x32xbf16> {sinter.output = "o"},
          tensor<16x16xbf16> {sinter.output = "n"}, tensor<f32> {sinter.output = "loss"},
          tensor<16x16xbf16> {sinter.output = "p"}) {
    // The variable's name is excluded.
    // CHECK: sinter.float8_matmul %{{.*}}, %{{.*}} recipe tensorwise : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    %q = sinter.matmul %x, %w : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    // 15 rows.
    // CHECK: sinter.matmul %{{.*}} : (tensor<15x64xbf16>
    %o = sinter.matmul %odd, %w : (tensor<15x64xbf16>, tensor<64x32xbf16>) -> tensor<15x32xbf16>
    // Fewer columns than `least`.
    // CHECK: sinter.matmul %{{.*}} : (tensor<16x64xbf16>, tensor<64x16xbf16>)
    %n = sinter.matmul %x, %narrow : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
    // Logits, whose weights are a cast of a variable.
    // CHECK: sinter.matmul %{{.*}} {transpose_b}
    %t = sinter.cast %table : tensor<48x64xf32> -> tensor<48x64xbf16>
    %logits = sinter.matmul %x, %t {transpose_b} : (tensor<16x64xbf16>, tensor<48x64xbf16>) -> tensor<16x48xbf16>
    %wide = sinter.cast %logits : tensor<16x48xbf16> -> tensor<16x48xf32>
    %loss = sinter.softmax_cross_entropy mean %wide, %labels : tensor<16x48xf32>, tensor<16xi32> -> tensor<f32>
    // No variable.
    // CHECK: sinter.matmul
    %p = sinter.matmul %x, %x {transpose_b} : (tensor<16x64xbf16>, tensor<16x64xbf16>) -> tensor<16x16xbf16>
    return %q, %o, %n, %loss, %p : tensor<16x32xbf16>, tensor<15x32xbf16>, tensor<16x16xbf16>, tensor<f32>, tensor<16x16xbf16>
  }
}

// -----

// Rows have scales; a name is excluded, and logits are not.
module attributes {sinter.float8 = {recipe = "rowwise", least_features = 32 : i64, logits = true, exclude = ["wq"]}} {
  sinter.variable @wq : tensor<64x32xbf16> = constant(0.0, 0.0) seed 0
  sinter.variable @table : tensor<48x64xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @narrow : tensor<64x16xbf16> = constant(0.0, 0.0) seed 0

  // CHECK-LABEL: func.func @rowwise
  func.func @rowwise(%x: tensor<16x64xbf16> {sinter.input = "x"}, %odd: tensor<15x64xbf16> {sinter.input = "odd"},
                    %w: tensor<64x32xbf16> {sinter.variable = @wq}, %table: tensor<48x64xf32> {sinter.variable = @table},
                    %narrow: tensor<64x16xbf16> {sinter.variable = @narrow}, %labels: tensor<16xi32> {sinter.input = "labels"})
      -> (tensor<16x32xbf16> {sinter.output = "q"}, tensor<15x32xbf16> {sinter.output = "o"},
          tensor<16x16xbf16> {sinter.output = "n"}, tensor<f32> {sinter.output = "loss"},
          tensor<16x16xbf16> {sinter.output = "p"}) {
    // CHECK: sinter.matmul %{{.*}} : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    %q = sinter.matmul %x, %w : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
    %o = sinter.matmul %odd, %w : (tensor<15x64xbf16>, tensor<64x32xbf16>) -> tensor<15x32xbf16>
    %n = sinter.matmul %x, %narrow : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
    // CHECK: sinter.float8_matmul %{{.*}} recipe rowwise {transpose_b} : (tensor<16x64xbf16>, tensor<48x64xbf16>) -> tensor<16x48xbf16>
    %t = sinter.cast %table : tensor<48x64xf32> -> tensor<48x64xbf16>
    %logits = sinter.matmul %x, %t {transpose_b} : (tensor<16x64xbf16>, tensor<48x64xbf16>) -> tensor<16x48xbf16>
    %wide = sinter.cast %logits : tensor<16x48xbf16> -> tensor<16x48xf32>
    %loss = sinter.softmax_cross_entropy mean %wide, %labels : tensor<16x48xf32>, tensor<16xi32> -> tensor<f32>
    // CHECK: sinter.matmul
    %p = sinter.matmul %x, %x {transpose_b} : (tensor<16x64xbf16>, tensor<16x64xbf16>) -> tensor<16x16xbf16>
    return %q, %o, %n, %loss, %p : tensor<16x32xbf16>, tensor<15x32xbf16>, tensor<16x16xbf16>, tensor<f32>, tensor<16x16xbf16>
  }
}

// -----

// Without the attribute nothing changes.
module {
  sinter.variable @w : tensor<256x256xbf16> = constant(0.0, 0.0) seed 0
  // CHECK-LABEL: func.func @bf16
  // CHECK: sinter.matmul
  func.func @bf16(%x: tensor<16x256xbf16> {sinter.input = "x"}, %w: tensor<256x256xbf16> {sinter.variable = @w})
      -> (tensor<16x256xbf16> {sinter.output = "y"}) {
    %y = sinter.matmul %x, %w : (tensor<16x256xbf16>, tensor<256x256xbf16>) -> tensor<16x256xbf16>
    return %y : tensor<16x256xbf16>
  }
}
