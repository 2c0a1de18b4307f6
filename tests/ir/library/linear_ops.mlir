// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>, %bias: tensor<4xf32>, %at: tensor<3x2xf32>, %bt: tensor<4x3xf32>) {
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  %0 = sinter.matmul %a, %b : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} bias %{{.*}} activation relu math bf16x3 : (tensor<5x2x3xf32>, tensor<5x3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  %1 = sinter.matmul %a, %b bias %bias activation relu math bf16x3 : (tensor<5x2x3xf32>, tensor<5x3x4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} {transpose_a, transpose_b} : (tensor<3x2xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = sinter.matmul %at, %bt {transpose_a, transpose_b} : (tensor<3x2xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @matmul_sums
func.func @matmul_sums(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>, %bias: tensor<4xf32>, %d: tensor<2x4xf32>, %s: tensor<f32>) {
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} bias %{{.*}} addend %{{.*}} scale %{{.*}} activation relu : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %0 = sinter.matmul %a, %b bias %bias addend %d scale %s activation relu : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} scale %{{.*}} : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<f32>) -> tensor<2x4xbf16>
  %1 = sinter.matmul %a, %b scale %s : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<f32>) -> tensor<2x4xbf16>
  return
}

// CHECK-LABEL: func.func @matmul_grad
func.func @matmul_grad(%a: tensor<2x3xf16>, %b: tensor<4x3xf16>, %x: tensor<2x4xf32>, %aw: tensor<2x3xf32>, %bw: tensor<3x4xf32>) {
  // CHECK: sinter.matmul_grad %{{.*}}, %{{.*}} preactivation %{{.*}} activation gelu_tanh {transpose_b} : (tensor<2x3xf16>, tensor<4x3xf16>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = sinter.matmul_grad %a, %b preactivation %x activation gelu_tanh {transpose_b} : (tensor<2x3xf16>, tensor<4x3xf16>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: sinter.matmul_grad %{{.*}}, %{{.*}} preactivation %{{.*}} activation relu math tf32 : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = sinter.matmul_grad %aw, %bw preactivation %x activation relu math tf32 : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %bias: tensor<6xf32>, %nhwc: tensor<2x8x8x4xf32>, %blocks: tensor<2x4x8x8x16xf32>) {
  // CHECK: sinter.conv2d %{{.*}}, %{{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  %0 = sinter.conv2d %x, %w bias %bias {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  // CHECK: sinter.conv2d %{{.*}}, %{{.*}} layout nhwc {{.*}} : (tensor<2x8x8x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  %1 = sinter.conv2d %nhwc, %w layout nhwc {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x8x8x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  // CHECK: sinter.conv2d %{{.*}}, %{{.*}} bias %{{.*}} activation relu layout nchw16n {{.*}} : (tensor<2x4x8x8x16xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x6x6x16xf32>
  %4 = sinter.conv2d %blocks, %w bias %bias activation relu layout nchw16n {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8x16xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x6x6x16xf32>
  // CHECK: sinter.conv2d_input_grad %{{.*}}, %{{.*}} {{.*}} : (tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  %2 = sinter.conv2d_input_grad %0, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: sinter.conv2d_weight_grad %{{.*}}, %{{.*}} {{.*}} : (tensor<2x4x8x8xf32>, tensor<2x6x4x4xf32>) -> tensor<6x4x3x3xf32>
  %3 = sinter.conv2d_weight_grad %x, %0 {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8xf32>, tensor<2x6x4x4xf32>) -> tensor<6x4x3x3xf32>
  return
}

// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<2x4x8x8xf32>) {
  // CHECK: sinter.max_pool2d %{{.*}} {{.*}} : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>
  %0:2 = sinter.max_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>} : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>
  // CHECK: sinter.max_pool2d_grad %{{.*}}, %{{.*}} {{.*}} : tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8> -> tensor<2x4x8x8xf32>
  %1 = sinter.max_pool2d_grad %0#0, %0#1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>} : tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8> -> tensor<2x4x8x8xf32>
  // CHECK: sinter.avg_pool2d %{{.*}} {{.*}} : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>
  %2 = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>} : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>
  // CHECK: sinter.avg_pool2d_grad %{{.*}} {{.*}} : tensor<2x4x4x4xf32> -> tensor<2x4x8x8xf32>
  %3 = sinter.avg_pool2d_grad %2 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>} : tensor<2x4x4x4xf32> -> tensor<2x4x8x8xf32>
  return
}

// CHECK-LABEL: func.func @quantized
func.func @quantized(%a: tensor<3x64xi8>, %b: tensor<5x64xi8>, %x: tensor<3x64xbf16>, %w: tensor<5x64xi8>,
                     %pairs: tensor<5x32xui8>, %s: tensor<5x1xf32>, %t: tensor<5x2xbf16>) {
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} {transpose_b} : (tensor<3x64xi8>, tensor<5x64xi8>) -> tensor<3x5xi32>
  %0 = sinter.matmul %a, %b {transpose_b} : (tensor<3x64xi8>, tensor<5x64xi8>) -> tensor<3x5xi32>
  // CHECK: sinter.quantized_matmul %{{.*}}, %{{.*}} scale %{{.*}} : (tensor<3x64xbf16>, tensor<5x64xi8>, tensor<5x1xf32>) -> tensor<3x5xbf16>
  %1 = sinter.quantized_matmul %x, %w scale %s : (tensor<3x64xbf16>, tensor<5x64xi8>, tensor<5x1xf32>) -> tensor<3x5xbf16>
  // CHECK: sinter.quantized_matmul %{{.*}}, %{{.*}} scale %{{.*}} : (tensor<3x64xbf16>, tensor<5x32xui8>, tensor<5x2xbf16>) -> tensor<3x5xbf16>
  %2 = sinter.quantized_matmul %x, %pairs scale %t : (tensor<3x64xbf16>, tensor<5x32xui8>, tensor<5x2xbf16>) -> tensor<3x5xbf16>
  return
}

// CHECK-LABEL: func.func @float8
func.func @float8(%a: tensor<3x64xf8E4M3FN>, %b: tensor<5x64xf8E5M2>, %s: tensor<f32>, %t: tensor<3xf32>, %u: tensor<5xf32>,
                  %x: tensor<64x3xbf16>, %y: tensor<64x5xbf16>) {
  // CHECK: sinter.scaled_matmul %{{.*}}, %{{.*}} scales %{{.*}}, %{{.*}} {fast} : (tensor<3x64xf8E4M3FN>, tensor<5x64xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<3x5xbf16>
  %0 = sinter.scaled_matmul %a, %b scales %s, %s {fast} : (tensor<3x64xf8E4M3FN>, tensor<5x64xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<3x5xbf16>
  // CHECK: sinter.scaled_matmul %{{.*}}, %{{.*}} scales %{{.*}}, %{{.*}} : (tensor<3x64xf8E4M3FN>, tensor<5x64xf8E5M2>, tensor<3xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %1 = sinter.scaled_matmul %a, %b scales %t, %u : (tensor<3x64xf8E4M3FN>, tensor<5x64xf8E5M2>, tensor<3xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  // CHECK: sinter.float8_matmul %{{.*}}, %{{.*}} recipe rowwise {gradient = 1 : i64, transpose_a} : (tensor<64x3xbf16>, tensor<64x5xbf16>) -> tensor<3x5xbf16>
  %2 = sinter.float8_matmul %x, %y recipe rowwise {transpose_a, gradient = 1 : i64} : (tensor<64x3xbf16>, tensor<64x5xbf16>) -> tensor<3x5xbf16>
  return
}
