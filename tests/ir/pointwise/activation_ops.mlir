// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<2x3xf32>, %h: tensor<4xbf16>) -> tensor<2x3xf32> {
  // CHECK: sinter.sigmoid %{{.*}} : tensor<2x3xf32>
  %0 = sinter.sigmoid %x : tensor<2x3xf32>
  // CHECK: sinter.relu %{{.*}} : tensor<2x3xf32>
  %1 = sinter.relu %0 : tensor<2x3xf32>
  // CHECK: sinter.silu %{{.*}} : tensor<2x3xf32>
  %2 = sinter.silu %1 : tensor<2x3xf32>
  // CHECK: sinter.softplus %{{.*}} : tensor<2x3xf32>
  %3 = sinter.softplus %2 : tensor<2x3xf32>
  // CHECK: sinter.gelu %{{.*}} : tensor<2x3xf32>
  %4 = sinter.gelu %3 : tensor<2x3xf32>
  // CHECK: sinter.gelu_tanh %{{.*}} : tensor<2x3xf32>
  %5 = sinter.gelu_tanh %4 : tensor<2x3xf32>
  // CHECK: sinter.leaky_relu %{{.*}} {alpha = 1.000000e-02 : f64} : tensor<2x3xf32>
  %6 = sinter.leaky_relu %5 {alpha = 0.01 : f64} : tensor<2x3xf32>
  // CHECK: sinter.elu %{{.*}} {alpha = 1.000000e+00 : f64} : tensor<2x3xf32>
  %7 = sinter.elu %6 {alpha = 1.0 : f64} : tensor<2x3xf32>
  // CHECK: sinter.relu %{{.*}} : tensor<4xbf16>
  %8 = sinter.relu %h : tensor<4xbf16>
  // CHECK: sinter.log_sigmoid %{{.*}} : tensor<2x3xf32>
  %9 = sinter.log_sigmoid %7 : tensor<2x3xf32>
  return %9 : tensor<2x3xf32>
}
