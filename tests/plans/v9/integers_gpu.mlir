// The program of the golden plan integers_gpu.plan, compiled for a GPU, with kernels that NVRTC made for sm_80, sm_90 and
// sm_100. It documents the plan; never compile the plan again from it. The outputs are those of the same program on a CPU.
module @integers_gpu {
  func.func @product(%x: tensor<6x40xi8> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %v: tensor<8x40xi8> {sinter.input = "v", sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<6x8xi32> {sinter.output = "y"}) {
    %y = sinter.matmul %x, %v {transpose_b} : (tensor<6x40xi8>, tensor<8x40xi8>) -> tensor<6x8xi32>
    return %y : tensor<6x8xi32>
  }
  // Odd sizes and the other layout.
  func.func @odd(%x: tensor<5x13xi8> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %v: tensor<13x7xi8> {sinter.input = "v", sinter.device = #sinter.device<gpu, 0>})
      -> (tensor<5x7xi32> {sinter.output = "y"}) {
    %y = sinter.matmul %x, %v : (tensor<5x13xi8>, tensor<13x7xi8>) -> tensor<5x7xi32>
    return %y : tensor<5x7xi32>
  }
}
