// RUN: sinter-opt %s --canonicalize --cse | FileCheck %s

// A copy to the device that already holds the value is removed.
// CHECK-LABEL: func.func @there_already
// CHECK-NEXT: return %arg0, %arg0
func.func @there_already(%x: tensor<4xf32> {sinter.device = #sinter.device<gpu, 1>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = sinter.copy %x to <gpu, 1> : tensor<4xf32>
  %b = sinter.copy %x like %a of tensor<4xf32> : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// If a value's device is unknown, only a copy like the value itself is removed.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: %[[A:.*]] = sinter.copy %arg0 to <cpu, 0>
// CHECK-NEXT: return %[[A]], %arg0
func.func @unknown(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = sinter.copy %x to <cpu, 0> : tensor<4xf32>
  %b = sinter.copy %x like %x of tensor<4xf32> : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// A constant needs no copy: each device makes its own.
// CHECK-LABEL: func.func @constant
// CHECK-NEXT: %[[C:.*]] = sinter.constant
// CHECK-NEXT: return %[[C]]
func.func @constant() -> tensor<4xf32> {
  %c = sinter.constant dense<1.0> : tensor<4xf32>
  %a = sinter.copy %c to <gpu, 1> : tensor<4xf32>
  return %a : tensor<4xf32>
}

// Two copies to one device are merged. A clone stays; an unread clone is removed.
// CHECK-LABEL: func.func @copies_and_clones
// CHECK-NEXT: %[[A:.*]] = sinter.copy %arg0 to <gpu, 1>
// CHECK-NEXT: %[[B:.*]] = sinter.copy %arg0 to <gpu, 2>
// CHECK-NEXT: %[[C:.*]] = sinter.clone %arg0
// CHECK-NEXT: %[[D:.*]] = sinter.clone %arg0
// CHECK-NEXT: return %[[A]], %[[A]], %[[B]], %[[C]], %[[D]]
func.func @copies_and_clones(%x: tensor<f32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = sinter.copy %x to <gpu, 1> : tensor<f32>
  %b = sinter.copy %x to <gpu, 1> : tensor<f32>
  %c = sinter.copy %x to <gpu, 2> : tensor<f32>
  %d = sinter.clone %x : tensor<f32>
  %e = sinter.clone %x : tensor<f32>
  %f = sinter.clone %x : tensor<f32>
  return %a, %b, %c, %d, %e : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// The same op on two devices is not merged.
// CHECK-LABEL: func.func @same_op
// CHECK-NEXT: %[[A:.*]] = sinter.exp %arg0 {sinter.device = #sinter.device<gpu, 0>}
// CHECK-NEXT: %[[B:.*]] = sinter.exp %arg0 {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NEXT: return %[[A]], %[[B]], %[[B]]
func.func @same_op(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = sinter.exp %x {sinter.device = #sinter.device<gpu, 0>} : tensor<f32>
  %b = sinter.exp %x {sinter.device = #sinter.device<gpu, 1>} : tensor<f32>
  %c = sinter.exp %x {sinter.device = #sinter.device<gpu, 1>} : tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}
