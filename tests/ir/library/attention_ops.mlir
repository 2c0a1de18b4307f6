// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x4x8xbf16>, %k: tensor<2x7x2x8xbf16>, %qkv: tensor<2x5x3x4x8xf32>, %b: tensor<2x1x5x7xf32>,
                     %fq: tensor<2x1x8x8xbf16>, %fk: tensor<2x2x7x8xbf16>, %fb: tensor<1x1x1x7xf32>, %at: tensor<1xi32>) {
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
  // CHECK: sinter.few_queries_attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} heads 4 by_head causal window 3 {first_head = 2 : i64, scale = 5.000000e-01 : f64}
  %5 = sinter.few_queries_attention %fq, %fk, %fk bias %fb heads 4 by_head causal window 3 {first_head = 2 : i64, scale = 0.5 : f64}
      : (tensor<2x1x8x8xbf16>, tensor<2x2x7x8xbf16>, tensor<2x2x7x8xbf16>, tensor<1x1x1x7xf32>) -> tensor<2x1x4x8xbf16>
  // CHECK: sinter.few_queries_attention %{{.*}}, %{{.*}}, %{{.*}} rows %{{.*}}, %{{.*}} at %{{.*}} heads 8 by_head {first_key = 4 : i64, scale = 5.000000e-01 : f64}
  %6:3 = sinter.few_queries_attention %fq, %fk, %fk rows %fq, %fq at %at heads 8 by_head {first_key = 4 : i64, scale = 0.5 : f64}
      : (tensor<2x1x8x8xbf16>, tensor<2x2x7x8xbf16>, tensor<2x2x7x8xbf16>, tensor<2x1x8x8xbf16>, tensor<2x1x8x8xbf16>, tensor<1xi32>) -> (tensor<2x1x8x8xbf16>, tensor<2x2x7x8xbf16>, tensor<2x2x7x8xbf16>)
  return
}
