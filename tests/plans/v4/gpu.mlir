// The program of the golden plan gpu.plan, whose kernels NVRTC made for sm_90. It documents the plan; never compile the
// plan again from it. The outputs are those of the same program on a CPU.
module @gpu {
  sinter.variable @w : tensor<8x8xf32> = uniform(-0.5, 0.5) seed 3 trainable {sinter.device = #sinter.device<gpu, 0>}
  func.func @train(%x: tensor<4x8xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                   %lr: tensor<f32> {sinter.input = "lr"}, %w: tensor<8x8xf32> {sinter.variable = @w})
      -> (tensor<4x8xf32> {sinter.output = "p"}, tensor<8x8xf32> {sinter.output = "new_w"},
          tensor<8x8xf32> {sinter.variable = @w}) {
    %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = sinter.gelu_tanh %0 : tensor<4x8xf32>
    %2 = sinter.softmax %1 dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
    %3 = sinter.square %2 : tensor<4x8xf32>
    %4 = sinter.sum %3 [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %5 = sinter.gradients %4 wrt %w : (tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %6 = sinter.broadcast %lr [] : tensor<f32> -> tensor<8x8xf32>
    %7 = sinter.mul %5, %6 : tensor<8x8xf32>
    %8 = sinter.sub %w, %7 : tensor<8x8xf32>
    return %2, %8, %8 : tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
