module @m {
  sinter.variable @w : tensor<6x4xf32> = uniform(-0.5, 0.5) seed 3 trainable
  func.func @f(%x: tensor<5x6xf32> {sinter.input = "x"}, %w: tensor<6x4xf32> {sinter.variable = @w}) -> (tensor<5x4xf32> {sinter.output = "y"}) {
    %0 = sinter.matmul %x, %w : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
    %1 = sinter.softmax %0 dim 1 : tensor<5x4xf32> -> tensor<5x4xf32>
    %2 = sinter.clamp %1 {low = 0.0, high = 1.0} : tensor<5x4xf32>
    return %2 : tensor<5x4xf32>
  }
}
