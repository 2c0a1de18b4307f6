// RUN: sinter-opt %s --sinter-decompose --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-DAG: %[[ONE:.*]] = sinter.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[MAX:.*]] = sinter.max %[[X]] [1] : tensor<4x8xf32> -> tensor<4xf32>
// CHECK: %[[MAXES:.*]] = sinter.broadcast %[[MAX]] [0]
// CHECK: %[[SHIFTED:.*]] = sinter.sub %[[X]], %[[MAXES]]
// CHECK: %[[EXP:.*]] = sinter.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = sinter.sum %[[EXP]] [1]
// CHECK: %[[SCALE:.*]] = sinter.div %[[ONE]], %[[SUM]]
// CHECK: %[[SCALES:.*]] = sinter.broadcast %[[SCALE]] [0]
// CHECK: %[[R:.*]] = sinter.mul %[[EXP]], %[[SCALES]]
// CHECK: return %[[R]]
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = sinter.softmax %x dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Low-precision floats are cast to f32 once and back once.
// CHECK-LABEL: func.func @log_softmax_bf16
// CHECK: sinter.cast %{{.*}} : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK-NOT: bf16
// CHECK: sinter.log %{{.*}} : tensor<8xf32>
// CHECK: sinter.cast %{{.*}} : tensor<4x8xf32> -> tensor<4x8xbf16>
func.func @log_softmax_bf16(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %r = sinter.log_softmax %x dim 0 : tensor<4x8xbf16> -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @cross_entropy
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[LABELS:.*]]: tensor<4xi64>)
// CHECK-DAG: %[[IGNORED:.*]] = sinter.constant dense<-100> : tensor<4xi64>
// CHECK-DAG: %[[COUNTED:.*]] = sinter.compare ne %[[LABELS]], %[[IGNORED]]
// CHECK-DAG: %[[IOTA:.*]] = sinter.iota 1 : tensor<4x8xi32>
// CHECK: %[[IS_CLASS:.*]] = sinter.compare eq %[[IOTA]], %{{.*}} : tensor<4x8xi32>
// CHECK: %[[OWN:.*]] = sinter.select %[[IS_CLASS]], %[[X]],
// CHECK: sinter.sum %[[OWN]] [1]
// CHECK: sinter.select %[[COUNTED]]
// CHECK: %[[COUNT:.*]] = sinter.cast %[[COUNTED]] : tensor<4xi1> -> tensor<4xf32>
// CHECK: sinter.sum %[[COUNT]] [0] : tensor<4xf32> -> tensor<f32>
// CHECK: sinter.maximum
// CHECK: sinter.div %{{.*}} : tensor<f32>
func.func @cross_entropy(%x: tensor<4x8xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  %r = sinter.softmax_cross_entropy mean %x, %labels {ignore_label = -100 : i64} : tensor<4x8xf32>, tensor<4xi64> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @norms
// CHECK-NOT: layer_norm
// CHECK-NOT: rms_norm
// CHECK-COUNT-2: sinter.rsqrt %{{.*}} : tensor<4xf32>
// CHECK: return
func.func @norms(%x: tensor<4x8xf32>, %scale: tensor<8xf32>, %offset: tensor<8xf32>) -> tensor<4x8xf32> {
  %a = sinter.layer_norm %x, %scale, %offset {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %b = sinter.rms_norm %a, %scale {epsilon = 1.0e-6 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @batch_norm
// CHECK: sinter.sum %{{.*}} [0, 2, 3] : tensor<2x3x4x4xf32> -> tensor<3xf32>
// CHECK: %[[MEAN:.*]] = sinter.div
// CHECK: sinter.square
// CHECK: sinter.sum %{{.*}} [0, 2, 3] : tensor<2x3x4x4xf32> -> tensor<3xf32>
// CHECK: %[[VARIANCE:.*]] = sinter.div
// CHECK: return %{{.*}}, %[[MEAN]], %[[VARIANCE]]
func.func @batch_norm(%x: tensor<2x3x4x4xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>)
    -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %y, %m, %v = sinter.batch_norm_training %x, %scale, %offset dim 1 {epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y, %m, %v : tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// One pass over x in bf16: both sums read the same cast value.
// CHECK-LABEL: func.func @batch_norm_bf16
// CHECK: %[[X:.*]] = sinter.cast %{{.*}} : tensor<2x3x4x4xbf16> -> tensor<2x3x4x4xf32>
// CHECK: sinter.sum %[[X]] [0, 2, 3]
// CHECK: %[[SQUARE:.*]] = sinter.square %[[X]]
// CHECK: sinter.sum %[[SQUARE]] [0, 2, 3]
// CHECK: %[[VARIANCE:.*]] = sinter.maximum
// CHECK: return %{{.*}}, %{{.*}}, %[[VARIANCE]]
func.func @batch_norm_bf16(%x: tensor<2x3x4x4xbf16>, %scale: tensor<3xf32>, %offset: tensor<3xf32>)
    -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>) {
  %y, %m, %v = sinter.batch_norm_training %x, %scale, %offset dim 1 {epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
  return %y, %m, %v : tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @batch_norm_inference
// CHECK-NOT: sinter.batch_norm
// CHECK-NOT: sinter.sum
// CHECK: sinter.rsqrt %{{.*}} : tensor<3xf32>
// CHECK: return
func.func @batch_norm_inference(%x: tensor<2x3x4x4xf32>, %c: tensor<3xf32>) -> tensor<2x3x4x4xf32> {
  %y = sinter.batch_norm_inference %x, %c, %c, %c, %c dim 1 {epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// The kept elements are scaled by 1 / (1 - 0.75).
// CHECK-LABEL: func.func @dropout
// CHECK: sinter.constant dense<4.000000e+00> : tensor<16xf32>
// CHECK: %[[KEPT:.*]] = sinter.random_bernoulli {{.*}} stream 7 probability 2.500000e-01
// CHECK: sinter.select %[[KEPT]]
func.func @dropout(%x: tensor<16xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<16xf32> {
  %y = sinter.dropout %x, %seed, %step stream 7 {probability = 0.75 : f64} : tensor<16xf32>, tensor<i64>, tensor<i64> -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// CHECK-LABEL: func.func @losses
// CHECK-NOT: _loss
// CHECK: return
func.func @losses(%x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = sinter.mse_loss none %x, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = sinter.l1_loss sum %x, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %c = sinter.huber_loss mean %x, %t {delta = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %d = sinter.bce_with_logits_loss mean %x, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @stop_gradient
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @stop_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.stop_gradient %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
