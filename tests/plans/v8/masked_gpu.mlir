// The program of the golden plan masked_gpu.plan, compiled for a GPU, with kernels that NVRTC made for sm_80, sm_90 and
// sm_100. It documents the plan; never compile the plan again from it. The outputs are exact: q and k are zeros, so that
// each query takes the mean of two or four values, or of none.
module @masked_gpu {
  // Four queries, the last of eight positions: each sees itself and the key before.
  func.func @window(%v: tensor<1x8x1x8xf32> {sinter.input = "v", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<1x4x1x8xf32> {sinter.output = "y"}) {
    %q = sinter.constant dense<0.0> : tensor<1x4x1x8xbf16>
    %k = sinter.constant dense<0.0> : tensor<1x8x1x8xbf16>
    %n = sinter.cast %v : tensor<1x8x1x8xf32> -> tensor<1x8x1x8xbf16>
    %o = sinter.attention %q, %k, %n causal window 2 {scale = 0.5 : f64} : (tensor<1x4x1x8xbf16>, tensor<1x8x1x8xbf16>, tensor<1x8x1x8xbf16>) -> tensor<1x4x1x8xbf16>
    %y = sinter.cast %o : tensor<1x4x1x8xbf16> -> tensor<1x4x1x8xf32>
    return %y : tensor<1x4x1x8xf32>
  }
  // The bias hides keys: the first query sees none. Two heads of q share one of k.
  func.func @bias(%v: tensor<1x8x1x8xf32> {sinter.input = "v", sinter.device = #sinter.device<gpu, 0>}, %b: tensor<1x1x4x8xf32> {sinter.input = "bias", sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<1x4x2x8xf32> {sinter.output = "y"}, tensor<1x8x1x8xf32> {sinter.output = "gradient"}) {
    %q = sinter.constant dense<0.0> : tensor<1x4x2x8xbf16>
    %k = sinter.constant dense<0.0> : tensor<1x8x1x8xbf16>
    %n = sinter.cast %v : tensor<1x8x1x8xf32> -> tensor<1x8x1x8xbf16>
    %o, %s = sinter.attention %q, %k, %n bias %b {scale = 0.5 : f64} : (tensor<1x4x2x8xbf16>, tensor<1x8x1x8xbf16>, tensor<1x8x1x8xbf16>, tensor<1x1x4x8xf32>) -> (tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>)
    %g = sinter.constant dense<1.0> : tensor<1x4x2x8xbf16>
    %d:3 = sinter.attention_grad %q, %k, %n bias %b result %o stats %s gradient %g {scale = 0.5 : f64}
        : (tensor<1x4x2x8xbf16>, tensor<1x8x1x8xbf16>, tensor<1x8x1x8xbf16>, tensor<1x1x4x8xf32>, tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>, tensor<1x4x2x8xbf16>) -> (tensor<1x4x2x8xbf16>, tensor<1x8x1x8xbf16>, tensor<1x8x1x8xbf16>)
    %y = sinter.cast %o : tensor<1x4x2x8xbf16> -> tensor<1x4x2x8xf32>
    %dv = sinter.cast %d#2 : tensor<1x8x1x8xbf16> -> tensor<1x8x1x8xf32>
    return %y, %dv : tensor<1x4x2x8xf32>, tensor<1x8x1x8xf32>
  }
}
