// RUN: sinter-opt %s --sinter-drop-unread-stats --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @unread
// CHECK-NEXT: %[[R:.*]] = sinter.attention %arg0 causal {scale = 5.000000e-01 : f64, sinter.device = #sinter.device<gpu, 1>} : (tensor<2x16x3x4x8xbf16>) -> tensor<2x16x4x8xbf16>
// CHECK-NEXT: return %[[R]]
func.func @unread(%qkv: tensor<2x16x3x4x8xbf16> {sinter.device = #sinter.device<gpu, 1>}) -> tensor<2x16x4x8xbf16> {
  %r:2 = sinter.attention %qkv causal {scale = 0.5 : f64, sinter.device = #sinter.device<gpu, 1>} : (tensor<2x16x3x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
  return %r#0 : tensor<2x16x4x8xbf16>
}

// CHECK-LABEL: func.func @read
// CHECK-NEXT: %[[R:.*]], %[[S:.*]] = sinter.attention
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @read(%qkv: tensor<2x16x3x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>) {
  %r:2 = sinter.attention %qkv {scale = 0.5 : f64} : (tensor<2x16x3x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
  return %r#0, %r#1 : tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>
}
