// The program of the golden plan mlp.plan. It documents the plan; never compile the plan again from it.
module @mlp {
  sinter.variable @w : tensor<6x4xf32> = uniform(-0.5, 0.5) seed 3 trainable
  sinter.variable @b : tensor<4xf32> = constant(0.5, 0.0) seed 0 trainable
  func.func @train(%x: tensor<5x6xf32> {sinter.input = "x"}, %y: tensor<5xi32> {sinter.input = "y"},
                   %lr: tensor<f32> {sinter.input = "lr"},
                   %w: tensor<6x4xf32> {sinter.variable = @w}, %b: tensor<4xf32> {sinter.variable = @b})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<5x4xf32> {sinter.output = "probabilities"},
          tensor<6x4xf32> {sinter.output = "old_w"},
          tensor<6x4xf32> {sinter.output = "new_w"}, tensor<6x4xf32> {sinter.variable = @w},
          tensor<4xf32> {sinter.variable = @b}) {
    %0 = sinter.matmul %x, %w : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
    %1 = sinter.broadcast %b [1] : tensor<4xf32> -> tensor<5x4xf32>
    %2 = sinter.add %0, %1 : tensor<5x4xf32>
    %3 = sinter.gelu_tanh %2 : tensor<5x4xf32>
    %4 = sinter.softmax %3 dim 1 : tensor<5x4xf32> -> tensor<5x4xf32>
    %5 = sinter.softmax_cross_entropy mean %3, %y : tensor<5x4xf32>, tensor<5xi32> -> tensor<f32>
    %6:2 = sinter.gradients %5 wrt %w, %b : (tensor<f32>, tensor<6x4xf32>, tensor<4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>)
    %7 = sinter.broadcast %lr [] : tensor<f32> -> tensor<6x4xf32>
    %8 = sinter.mul %6#0, %7 : tensor<6x4xf32>
    %9 = sinter.sub %w, %8 : tensor<6x4xf32>
    %10 = sinter.broadcast %lr [] : tensor<f32> -> tensor<4xf32>
    %11 = sinter.mul %6#1, %10 : tensor<4xf32>
    %12 = sinter.sub %b, %11 : tensor<4xf32>
    return %5, %4, %w, %9, %9, %12
        : tensor<f32>, tensor<5x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>
  }
}
