// The program of the golden plan replica.plan, for level x86-64-v3, the oldest CPUs that Sinter runs on. It documents the
// plan; never compile the plan again from it. The weight has a replica in bf16, which version 4 brought: `predict` reads
// it, `train` writes both.
module @replica {
  sinter.variable @w : tensor<8x8xf32> = uniform(-0.5, 0.5) seed 3 trainable
  sinter.variable @b : tensor<8xf32> = constant(0.5, 0.0) seed 0 trainable
  func.func @train(%x: tensor<5x8xf32> {sinter.input = "x"}, %y: tensor<5xi32> {sinter.input = "y"},
                   %lr: tensor<f32> {sinter.input = "lr"},
                   %w: tensor<8x8xf32> {sinter.variable = @w}, %b: tensor<8xf32> {sinter.variable = @b})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<8x8xf32> {sinter.output = "new_w"},
          tensor<8x8xf32> {sinter.variable = @w}, tensor<8xf32> {sinter.variable = @b}) {
    %0 = sinter.matmul %x, %w : (tensor<5x8xf32>, tensor<8x8xf32>) -> tensor<5x8xf32>
    %1 = sinter.broadcast %b [1] : tensor<8xf32> -> tensor<5x8xf32>
    %2 = sinter.add %0, %1 : tensor<5x8xf32>
    %3 = sinter.gelu_tanh %2 : tensor<5x8xf32>
    %4 = sinter.softmax_cross_entropy mean %3, %y : tensor<5x8xf32>, tensor<5xi32> -> tensor<f32>
    %5:2 = sinter.gradients %4 wrt %w, %b : (tensor<f32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
    %6 = sinter.broadcast %lr [] : tensor<f32> -> tensor<8x8xf32>
    %7 = sinter.mul %5#0, %6 : tensor<8x8xf32>
    %8 = sinter.sub %w, %7 : tensor<8x8xf32>
    %9 = sinter.broadcast %lr [] : tensor<f32> -> tensor<8xf32>
    %10 = sinter.mul %5#1, %9 : tensor<8xf32>
    %11 = sinter.sub %b, %10 : tensor<8xf32>
    return %4, %8, %8, %11 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }
  func.func @predict(%x: tensor<5x8xf32> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.variable = @w})
      -> (tensor<5x8xf32> {sinter.output = "p"}, tensor<8xf32> {sinter.output = "sums"}) {
    %n = sinter.cast %x : tensor<5x8xf32> -> tensor<5x8xbf16>
    %0 = sinter.cast %w : tensor<8x8xf32> -> tensor<8x8xbf16>
    %1 = sinter.matmul %n, %0 : (tensor<5x8xbf16>, tensor<8x8xbf16>) -> tensor<5x8xbf16>
    %2 = sinter.cast %1 : tensor<5x8xbf16> -> tensor<5x8xf32>
    %3 = sinter.softmax %2 dim 1 : tensor<5x8xf32> -> tensor<5x8xf32>
    %4 = sinter.sum %3 [0] : tensor<5x8xf32> -> tensor<8xf32>
    return %3, %4 : tensor<5x8xf32>, tensor<8xf32>
  }
}
