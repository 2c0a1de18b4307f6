// The program of the golden plan mesh_gpu.plan, compiled for two GPUs that share the batch, with kernels that NVRTC made
// for sm_90. It documents the plan; never compile the plan again from it. The outputs are those of the same program on a
// CPU.
module @mesh_gpu {
  sinter.variable @weight : tensor<8x8xf32> = uniform(-5.000000e-01, 5.000000e-01) seed -5496759951907304666 trainable
  sinter.variable @bias : tensor<8xf32> = constant(5.000000e-01, 0.000000e+00) seed 293950824528690587 trainable
  func.func @train(%arg0: tensor<4x8xf32> {sinter.input = "x"}, %arg1: tensor<4xi32> {sinter.input = "y"}, %arg2: tensor<8x8xf32> {sinter.variable = @weight}, %arg3: tensor<8xf32> {sinter.variable = @bias}, %arg4: tensor<f32> {sinter.input = "lr"}) -> (tensor<f32> {sinter.output = "loss"}, tensor<8x8xf32> {sinter.output = "new_w"}, tensor<8x8xf32> {sinter.variable = @weight}, tensor<8xf32> {sinter.variable = @bias}) {
    %0 = sinter.matmul %arg0, %arg2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = sinter.broadcast %arg3 [1] : tensor<8xf32> -> tensor<4x8xf32>
    %2 = sinter.add %0, %1 : tensor<4x8xf32>
    %3 = sinter.gelu_tanh %2 : tensor<4x8xf32>
    %4 = sinter.softmax_cross_entropy mean %3, %arg1 : tensor<4x8xf32>, tensor<4xi32> -> tensor<f32>
    %5:2 = sinter.gradients %4 wrt %arg2, %arg3 : (tensor<f32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
    %6 = sinter.broadcast %arg4 [] : tensor<f32> -> tensor<8x8xf32>
    %7 = sinter.mul %5#0, %6 : tensor<8x8xf32>
    %8 = sinter.sub %arg2, %7 : tensor<8x8xf32>
    %9 = sinter.broadcast %arg4 [] : tensor<f32> -> tensor<8xf32>
    %10 = sinter.mul %5#1, %9 : tensor<8xf32>
    %11 = sinter.sub %arg3, %10 : tensor<8xf32>
    return %4, %8, %8, %11 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }
}
