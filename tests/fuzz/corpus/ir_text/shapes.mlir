func.func @f(%x: tensor<2x3xbf16>, %i: tensor<4xi32>) -> tensor<4x3xbf16> {
  %0 = sinter.transpose %x [1, 0] : tensor<2x3xbf16> -> tensor<3x2xbf16>
  %1 = sinter.pad %x value 0.0 low [0, 1] high [1, 0] interior [0, 0] : tensor<2x3xbf16> -> tensor<3x4xbf16>
  %2 = sinter.sum %x [0] : tensor<2x3xbf16> -> tensor<3xbf16>
  %3 = sinter.gather %x[%i] dim 0 : tensor<2x3xbf16>, tensor<4xi32> -> tensor<4x3xbf16>
  return %3 : tensor<4x3xbf16>
}
