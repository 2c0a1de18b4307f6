// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<2x3xf32>, %labels: tensor<2xi64>) {
  // CHECK: sinter.softmax %{{.*}} dim 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %0 = sinter.softmax %x dim 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: sinter.log_softmax %{{.*}} dim 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = sinter.log_softmax %x dim 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: sinter.softmax_cross_entropy mean %{{.*}}, %{{.*}} {ignore_label = -1 : i64} : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
  %2 = sinter.softmax_cross_entropy mean %x, %labels {ignore_label = -1 : i64} : tensor<2x3xf32>, tensor<2xi64> -> tensor<f32>
  // CHECK: sinter.softmax_cross_entropy none %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<2xi64> -> tensor<2xf32>
  %3 = sinter.softmax_cross_entropy none %x, %labels : tensor<2x3xf32>, tensor<2xi64> -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) {
  // CHECK: sinter.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = sinter.layer_norm %x, %s, %o {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: sinter.rms_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = sinter.rms_norm %x, %s {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: sinter.batch_norm_training %{{.*}}, %{{.*}}, %{{.*}} dim 1 {epsilon = 1.000000e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %2:3 = sinter.batch_norm_training %x, %s, %o dim 1 {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: sinter.batch_norm_inference %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} dim 1 {epsilon = 1.000000e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %3 = sinter.batch_norm_inference %x, %s, %o, %2#1, %2#2 dim 1 {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<2x3xf32>, %seed: tensor<i64>, %step: tensor<i64>) {
  // CHECK: sinter.dropout %{{.*}}, %{{.*}}, %{{.*}} stream 3 {probability = 1.000000e-01 : f64} : tensor<2x3xf32>, tensor<i64>, tensor<i64> -> tensor<2x3xf32>
  %0 = sinter.dropout %x, %seed, %step stream 3 {probability = 0.1 : f64} : tensor<2x3xf32>, tensor<i64>, tensor<i64> -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @losses
func.func @losses(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // CHECK: sinter.mse_loss mean %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %0 = sinter.mse_loss mean %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: sinter.l1_loss sum %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %1 = sinter.l1_loss sum %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: sinter.huber_loss mean %{{.*}}, %{{.*}} {delta = 1.000000e+00 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %2 = sinter.huber_loss mean %x, %y {delta = 1.0 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: sinter.bce_with_logits_loss none %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = sinter.bce_with_logits_loss none %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
