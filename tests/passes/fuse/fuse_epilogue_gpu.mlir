// An epilogue that cuBLASLt and cuDNN do not support stays a separate op.
// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline="builtin.module(func.func(sinter-fuse-epilogue{report=true}))" 2>&1 | FileCheck %s

// CHECK: epilogue not fused: 'sinter.gelu' after 'sinter.matmul': cuBLASLt applies gelu_tanh only
func.func @gelu(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %h = sinter.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %r = sinter.gelu %h : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
// CHECK: epilogue not fused: 'sinter.relu' after 'sinter.matmul': cuBLASLt has no epilogues in f64
func.func @f64(%x: tensor<8x16xf64>, %w: tensor<16x32xf64>) -> tensor<8x32xf64> {
  %h = sinter.matmul %x, %w : (tensor<8x16xf64>, tensor<16x32xf64>) -> tensor<8x32xf64>
  %r = sinter.relu %h : tensor<8x32xf64>
  return %r : tensor<8x32xf64>
}
// CHECK: epilogue not fused: 'sinter.tanh' after 'sinter.conv2d': cuDNN applies no activation
func.func @conv(%x: tensor<1x2x4x4xf32>, %w: tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %h = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x2x4x4xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32>
  %r = sinter.tanh %h : tensor<1x8x4x4xf32>
  return %r : tensor<1x8x4x4xf32>
}
// NaN must stay NaN: the library's relu does not guarantee this.
// CHECK: epilogue not fused: 'sinter.relu' after 'sinter.matmul': cuBLASLt's relu may turn NaN into 0
func.func @relu(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %h = sinter.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %r = sinter.relu %h : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
// CHECK: epilogue not fused: 'sinter.relu' after 'sinter.conv2d': cuDNN's relu turns NaN into 0
func.func @conv_relu(%x: tensor<1x2x4x4xf32>, %w: tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %h = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x2x4x4xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32>
  %r = sinter.relu %h : tensor<1x8x4x4xf32>
  return %r : tensor<1x8x4x4xf32>
}
// Sinter's own tf32 kernels for small matmuls and few channels keep NaN.
// CHECK-LABEL: func.func @tf32_relu
// CHECK: sinter.matmul %{{.*}}, %{{.*}} bias %{{.*}} activation relu math tf32
// CHECK-NOT: sinter.relu
// CHECK: return
func.func @tf32_relu(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %h = sinter.matmul %x, %w math tf32 : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %c = sinter.broadcast %b [1] : tensor<32xf32> -> tensor<8x32xf32>
  %s = sinter.add %h, %c : tensor<8x32xf32>
  %r = sinter.relu %s : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
// CHECK-LABEL: func.func @tf32_conv_relu
// CHECK: sinter.conv2d %{{.*}}, %{{.*}} activation relu math tf32
// CHECK-NOT: sinter.relu
// CHECK: return
func.func @tf32_conv_relu(%x: tensor<1x2x4x4xf32>, %w: tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %h = sinter.conv2d %x, %w math tf32 {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x2x4x4xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x4x4xf32>
  %r = sinter.relu %h : tensor<1x8x4x4xf32>
  return %r : tensor<1x8x4x4xf32>
}
// Too large for these kernels: the libraries compute both.
// CHECK-LABEL: func.func @tf32_large
// CHECK: sinter.relu
func.func @tf32_large(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %h = sinter.matmul %x, %x math tf32 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = sinter.relu %h : tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
// CHECK-LABEL: func.func @tf32_large_images
// CHECK: sinter.relu
func.func @tf32_large_images(%x: tensor<256x128x56x56xf32>, %w: tensor<128x128x1x1xf32>) -> tensor<256x128x56x56xf32> {
  %h = sinter.conv2d %x, %w math tf32 {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<256x128x56x56xf32>, tensor<128x128x1x1xf32>) -> tensor<256x128x56x56xf32>
  %r = sinter.relu %h : tensor<256x128x56x56xf32>
  return %r : tensor<256x128x56x56xf32>
}
// Few rows of 16-bit floats have a kernel of their own, which applies every activation. A reshape comes behind it.
// CHECK-LABEL: func.func @few_rows
// CHECK: %[[Y:.*]] = sinter.matmul %{{.*}}, %{{.*}} bias %{{.*}} activation silu {{.*}} : (tensor<4x16xbf16>
// CHECK: %[[R:.*]] = sinter.reshape %[[Y]]
// CHECK: return %[[R]]
func.func @few_rows(%x: tensor<4x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xbf16>) -> tensor<4x1x32xbf16> {
  %h = sinter.matmul %x, %w : (tensor<4x16xbf16>, tensor<16x32xbf16>) -> tensor<4x32xbf16>
  %c = sinter.broadcast %b [1] : tensor<32xbf16> -> tensor<4x32xbf16>
  %s = sinter.add %h, %c : tensor<4x32xbf16>
  %t = sinter.reshape %s : tensor<4x32xbf16> -> tensor<4x1x32xbf16>
  %r = sinter.silu %t : tensor<4x1x32xbf16>
  return %r : tensor<4x1x32xbf16>
}
