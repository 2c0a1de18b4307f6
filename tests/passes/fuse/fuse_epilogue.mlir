// RUN: sinter-opt %s --sinter-fuse-epilogue --canonicalize | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline="builtin.module(func.func(sinter-fuse-epilogue{report=true}))" 2>&1 | FileCheck %s --check-prefix=REPORT

// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf32>, %[[W:.*]]: tensor<16x32xf32>, %[[B:.*]]: tensor<32xf32>)
// CHECK-NEXT: %[[R:.*]] = sinter.matmul %[[X]], %[[W]] bias %[[B]] activation gelu_tanh : (tensor<8x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
// CHECK-NEXT: return %[[R]]
func.func @linear(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %h = sinter.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %bias = sinter.broadcast %b [1] : tensor<32xf32> -> tensor<8x32xf32>
  %hb = sinter.add %bias, %h : tensor<8x32xf32>
  %r = sinter.gelu_tanh %hb : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// The bias follows the channels of the layout.
// CHECK-LABEL: func.func @conv_nhwc
// CHECK-NEXT: sinter.conv2d %{{.*}}, %{{.*}} bias %{{.*}} activation relu layout nhwc
// CHECK-NEXT: return
func.func @conv_nhwc(%x: tensor<1x4x4x2xf32>, %w: tensor<8x2x1x1xf32>, %b: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %y = sinter.conv2d %x, %w layout nhwc {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x4x4x2xf32>, tensor<8x2x1x1xf32>) -> tensor<1x4x4x8xf32>
  %bias = sinter.broadcast %b [3] : tensor<8xf32> -> tensor<1x4x4x8xf32>
  %yb = sinter.add %y, %bias : tensor<1x4x4x8xf32>
  %r = sinter.relu %yb : tensor<1x4x4x8xf32>
  return %r : tensor<1x4x4x8xf32>
}

// In training, relu's mask reads relu's result. The value before relu has one use, so relu fuses.
// CHECK-LABEL: func.func @relu_in_training
// CHECK: %[[R:.*]] = sinter.matmul %{{.*}}, %{{.*}} activation relu
// CHECK: sinter.compare gt %[[R]]
func.func @relu_in_training(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xi1>) {
  %h = sinter.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %r = sinter.relu %h : tensor<8x32xf32>
  %zero = sinter.constant dense<0.0> : tensor<8x32xf32>
  %mask = sinter.compare gt %r, %zero : tensor<8x32xf32> -> tensor<8x32xi1>
  return %r, %mask : tensor<8x32xf32>, tensor<8x32xi1>
}

// gelu's gradient reads its operand.
// CHECK-LABEL: func.func @gelu_in_training
// CHECK: sinter.matmul
// CHECK: sinter.gelu
// REPORT: fuse_epilogue.mlir:[[@LINE+2]]:{{.*}}: remark: epilogue not fused: 'sinter.gelu' after 'sinter.matmul': the value before it has other uses, such as its gradient
func.func @gelu_in_training(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %h = sinter.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %r = sinter.gelu %h : tensor<8x32xf32>
  return %r, %h : tensor<8x32xf32>, tensor<8x32xf32>
}

// CHECK-LABEL: func.func @not_a_bias
// CHECK: sinter.matmul %{{.*}}, %{{.*}} :
// CHECK: sinter.add
// REPORT: remark: epilogue not fused: 'sinter.add' after 'sinter.matmul': what is added is not a vector repeated along every dimension but 1
func.func @not_a_bias(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %h = sinter.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %rows = sinter.broadcast %b [0] : tensor<8xf32> -> tensor<8x8xf32>
  %y = sinter.add %h, %rows : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @used_without_bias
// CHECK: sinter.matmul %{{.*}}, %{{.*}} :
// REPORT: remark: epilogue not fused: 'sinter.add' after 'sinter.matmul': the result without bias has other uses
func.func @used_without_bias(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %h = sinter.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %bias = sinter.broadcast %b [1] : tensor<8xf32> -> tensor<8x8xf32>
  %y = sinter.add %h, %bias : tensor<8x8xf32>
  return %y, %h : tensor<8x8xf32>, tensor<8x8xf32>
}
