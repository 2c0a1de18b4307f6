// The program of the golden plan float8_gpu.plan, compiled for a GPU, with kernels that NVRTC made for sm_90. It documents the
// plan; never compile the plan again from it. The outputs are those of the same program on a CPU.
module @float8_gpu {
  func.func @product(%x: tensor<6x32xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %w: tensor<16x32xf32> {sinter.input = "w", sinter.device = #sinter.device<gpu, 0>},
                     %s: tensor<f32> {sinter.input = "s", sinter.device = #sinter.device<gpu, 0>}, %t: tensor<f32> {sinter.input = "t", sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<6x16xbf16> {sinter.output = "y"}) {
    %a = sinter.cast %x : tensor<6x32xf32> -> tensor<6x32xf8E5M2>
    %b = sinter.cast %w : tensor<16x32xf32> -> tensor<16x32xf8E4M3FN>
    %y = sinter.scaled_matmul %a, %b scales %s, %t : (tensor<6x32xf8E5M2>, tensor<16x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<6x16xbf16>
    return %y : tensor<6x16xbf16>
  }
  // A scale for each row of both operands, and fast sums.
  func.func @rows(%x: tensor<6x32xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %w: tensor<16x32xf32> {sinter.input = "w", sinter.device = #sinter.device<gpu, 0>},
                  %s: tensor<6xf32> {sinter.input = "s", sinter.device = #sinter.device<gpu, 0>}, %t: tensor<16xf32> {sinter.input = "t", sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<6x16xf32> {sinter.output = "y"}) {
    %a = sinter.cast %x : tensor<6x32xf32> -> tensor<6x32xf8E4M3FN>
    %b = sinter.cast %w : tensor<16x32xf32> -> tensor<16x32xf8E4M3FN>
    %y = sinter.scaled_matmul %a, %b scales %s, %t {fast} : (tensor<6x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<6xf32>, tensor<16xf32>) -> tensor<6x16xf32>
    return %y : tensor<6x16xf32>
  }
}
