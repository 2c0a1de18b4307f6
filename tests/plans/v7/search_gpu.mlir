// The program of the golden plan search_gpu.plan, compiled for a GPU, with kernels that NVRTC made for sm_80, sm_90 and
// sm_100. It documents the plan; never compile the plan again from it. The outputs are those of the same program on a CPU.
module @search_gpu {
  sinter.variable @w : tensor<3xf32> = uniform(-0.5, 0.5) seed 1 trainable {sinter.device = #sinter.device<gpu, 0>}
  // Steps down the slope until the loss is small, and at most 50 of them.
  func.func @train(%x: tensor<3xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %w: tensor<3xf32> {sinter.variable = @w, sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<i64> {sinter.output = "steps"}, tensor<3xf32> {sinter.variable = @w}) {
    %zero = sinter.constant dense<0> : tensor<i64>
    %go = sinter.constant dense<true> : tensor<i1>
    %s:3 = sinter.scan 50 guarded carry(%go, %w, %zero : tensor<i1>, tensor<3xf32>, tensor<i64>) with(%x : tensor<3xf32>) -> (tensor<i1>, tensor<3xf32>, tensor<i64>) {
    ^bb0(%i: tensor<i64>, %g: tensor<i1>, %v: tensor<3xf32>, %n: tensor<i64>, %target: tensor<3xf32>):
      %error = sinter.sub %v, %target : tensor<3xf32>
      %half = sinter.constant dense<0.25> : tensor<3xf32>
      %step = sinter.mul %error, %half : tensor<3xf32>
      %new = sinter.sub %v, %step : tensor<3xf32>
      %square = sinter.square %step : tensor<3xf32>
      %loss = sinter.sum %square [0] : tensor<3xf32> -> tensor<f32>
      %small = sinter.constant dense<1.0e-3> : tensor<f32>
      %goes = sinter.compare gt %loss, %small : tensor<f32> -> tensor<i1>
      %one = sinter.constant dense<1> : tensor<i64>
      %more = sinter.add %n, %one : tensor<i64>
      sinter.yield %goes, %new, %more : tensor<i1>, tensor<3xf32>, tensor<i64>
    }
    return %s#2, %s#1 : tensor<i64>, tensor<3xf32>
  }
  // Doubles x where its sum is above 1.
  func.func @predict(%x: tensor<3xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<3xf32> {sinter.output = "y"}) {
    %sum = sinter.sum %x [0] : tensor<3xf32> -> tensor<f32>
    %one = sinter.constant dense<1.0> : tensor<f32>
    %large = sinter.compare gt %sum, %one : tensor<f32> -> tensor<i1>
    %s:2 = sinter.scan 1 guarded carry(%large, %x : tensor<i1>, tensor<3xf32>) -> (tensor<i1>, tensor<3xf32>) {
    ^bb0(%i: tensor<i64>, %g: tensor<i1>, %v: tensor<3xf32>):
      %d = sinter.add %v, %v : tensor<3xf32>
      sinter.yield %g, %d : tensor<i1>, tensor<3xf32>
    }
    return %s#1 : tensor<3xf32>
  }
}
