// The program of the golden plan recurrent_gpu.plan, compiled for a GPU, with kernels that NVRTC made for sm_80, sm_90 and
// sm_100. It documents the plan; never compile the plan again from it. The outputs are those of the same program on a CPU.
module @recurrent_gpu {
  sinter.variable @w : tensor<3x3xf32> = uniform(-0.5, 0.5) seed 1 trainable {sinter.device = #sinter.device<gpu, 0>}
  func.func @train(%x: tensor<4x2x3xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %w: tensor<3x3xf32> {sinter.variable = @w, sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<3x3xf32> {sinter.variable = @w}) {
    %zero = sinter.constant dense<0.0> : tensor<2x3xf32>
    %last = sinter.scan 4 carry(%zero : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>) {
    ^bb0(%i: tensor<i64>, %h: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xf32>):
      %p = sinter.matmul %h, %wi : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %s = sinter.add %p, %xi : tensor<2x3xf32>
      %n = sinter.tanh %s : tensor<2x3xf32>
      sinter.yield %n : tensor<2x3xf32>
    }
    %square = sinter.square %last : tensor<2x3xf32>
    %loss = sinter.sum %square [0, 1] : tensor<2x3xf32> -> tensor<f32>
    %g = sinter.gradients %loss wrt %w : (tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %rate = sinter.constant dense<0.1> : tensor<3x3xf32>
    %step = sinter.mul %g, %rate : tensor<3x3xf32>
    %new = sinter.sub %w, %step : tensor<3x3xf32>
    return %loss, %new : tensor<f32>, tensor<3x3xf32>
  }
  func.func @predict(%x: tensor<4x2x3xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %w: tensor<3x3xf32> {sinter.variable = @w, sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<4x2x3xf32> {sinter.output = "h"}) {
    %zero = sinter.constant dense<0.0> : tensor<2x3xf32>
    %s:2 = sinter.scan 4 reverse carry(%zero : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>) {
    ^bb0(%i: tensor<i64>, %h: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xf32>):
      %p = sinter.matmul %h, %wi : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %t = sinter.add %p, %xi : tensor<2x3xf32>
      %n = sinter.tanh %t : tensor<2x3xf32>
      sinter.yield %n, %n : tensor<2x3xf32>, tensor<2x3xf32>
    }
    return %s#1 : tensor<4x2x3xf32>
  }
}
