// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x4x8xbf16>, %k: tensor<2x7x2x8xbf16>, %qkv: tensor<2x5x3x4x8xf32>, %b: tensor<2x1x5x7xf32>) {
  // CHECK: sinter.attention %{{.*}}, %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f64} : (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>) -> (tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>)
  %0:2 = sinter.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>) -> (tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>)
  // CHECK: sinter.attention_grad %{{.*}}, %{{.*}}, %{{.*}} result %{{.*}} stats %{{.*}} gradient %{{.*}} {scale = 5.000000e-01 : f64} : ({{.*}}) -> (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>)
  %1:3 = sinter.attention_grad %q, %k, %k result %0#0 stats %0#1 gradient %0#0 {scale = 0.5 : f64}
      : (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>, tensor<2x5x4x8xbf16>) -> (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>)
  // CHECK: sinter.attention %{{.*}} causal math tf32 {scale = 5.000000e-01 : f64} : (tensor<2x5x3x4x8xf32>) -> tensor<2x5x4x8xf32>
  %2 = sinter.attention %qkv causal math tf32 {scale = 0.5 : f64} : (tensor<2x5x3x4x8xf32>) -> tensor<2x5x4x8xf32>
  // CHECK: sinter.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} causal window 3 {scale = 5.000000e-01 : f64} : (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x1x5x7xf32>) -> tensor<2x5x4x8xbf16>
  %3 = sinter.attention %q, %k, %k bias %b causal window 3 {scale = 0.5 : f64} : (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x1x5x7xf32>) -> tensor<2x5x4x8xbf16>
  // CHECK: sinter.attention_grad %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} result %{{.*}} stats %{{.*}} gradient %{{.*}} window 2
  %4:3 = sinter.attention_grad %q, %k, %k bias %b result %0#0 stats %0#1 gradient %0#0 window 2 {scale = 0.5 : f64}
      : (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x1x5x7xf32>, tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>, tensor<2x5x4x8xbf16>) -> (tensor<2x5x4x8xbf16>, tensor<2x7x2x8xbf16>, tensor<2x7x2x8xbf16>)
  return
}
