// RUN: sinter-opt %s --split-input-file --sinter-differentiate --canonicalize --cse --mlir-print-local-scope | FileCheck %s

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>

// Each member's operand contributes to all results. Its gradient is the sum of the result gradients; a result
// that the loss does not need contributes zeros.
// CHECK-LABEL: func.func @sums
// CHECK: %[[Z:.*]] = sinter.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: sinter.all_reduce sum %{{.*}} channel 3 {sinter.device = #sinter.device<cpu, 0>}
// CHECK-NEXT: sinter.all_reduce sum %{{.*}} channel 3 {sinter.device = #sinter.device<cpu, 1>}
// CHECK: %[[G0:.*]] = sinter.all_reduce sum %{{.*}} channel 4 {sinter.device = #sinter.device<cpu, 0>}
// CHECK-NEXT: %[[G1:.*]] = sinter.all_reduce sum %[[Z]] over {{.*}} channel 4 {sinter.device = #sinter.device<cpu, 1>}
// CHECK: return %[[G0]], %[[G1]]
func.func @sums(%x: tensor<2xf32> {sinter.input = "x", sinter.device = #d0}, %y: tensor<2xf32> {sinter.input = "y", sinter.device = #d1})
    -> (tensor<2xf32> {sinter.output = "dx"}, tensor<2xf32> {sinter.output = "dy"}) {
  %a = sinter.all_reduce sum %x over [#d0, #d1] channel 3 {sinter.device = #d0} : (tensor<2xf32>) -> tensor<2xf32>
  %b = sinter.all_reduce sum %y over [#d0, #d1] channel 3 {sinter.device = #d1} : (tensor<2xf32>) -> tensor<2xf32>
  %loss = sinter.sum %a [0] {sinter.device = #d0} : tensor<2xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %y : (tensor<f32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %g#0, %g#1 : tensor<2xf32>, tensor<2xf32>
}

// -----

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>

// The gradient of a reduce is a broadcast, and that of a broadcast is a reduce. A mean is divided on each
// device, after the broadcast.
// CHECK-LABEL: func.func @rooted
// CHECK: %[[B0:.*]] = sinter.broadcast_from root 1 over {{.*}} channel 2 {sinter.device = #sinter.device<cpu, 0>}
// CHECK-NEXT: %[[B1:.*]] = sinter.broadcast_from %{{.*}} root 1 over {{.*}} channel 2 {sinter.device = #sinter.device<cpu, 1>}
// CHECK: %[[H0:.*]] = sinter.mul %[[B0]], %
// CHECK: %[[H1:.*]] = sinter.mul %[[B1]], %
// CHECK: %[[R0:.*]] = sinter.reduce sum %[[H0]] to 0 over {{.*}} channel 3 {sinter.device = #sinter.device<cpu, 0>}
// CHECK-NEXT: sinter.reduce sum %[[H1]] to 0 over {{.*}} channel 3 {sinter.device = #sinter.device<cpu, 1>} : (tensor<2xf32>) -> ()
// CHECK: return %[[R0]]
func.func @rooted(%x: tensor<2xf32> {sinter.input = "x", sinter.device = #d0}) -> (tensor<2xf32> {sinter.output = "dx"}) {
  %a = sinter.broadcast_from %x root 0 over [#d0, #d1] channel 0 {sinter.device = #d0} : (tensor<2xf32>) -> tensor<2xf32>
  %b = sinter.broadcast_from root 0 over [#d0, #d1] channel 0 {sinter.device = #d1} : () -> tensor<2xf32>
  sinter.reduce mean %a to 1 over [#d0, #d1] channel 1 {sinter.device = #d0} : (tensor<2xf32>) -> ()
  %s = sinter.reduce mean %b to 1 over [#d0, #d1] channel 1 {sinter.device = #d1} : (tensor<2xf32>) -> tensor<2xf32>
  %loss = sinter.sum %s [0] {sinter.device = #d1} : tensor<2xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}

// -----

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>

// The gradient of an all_gather is a reduce_scatter of the same sizes, and the other way round.
// CHECK-LABEL: func.func @parts
// CHECK: sinter.all_gather %{{.*}} sizes [1, 2] over {{.*}} channel 2 {sinter.device = #sinter.device<cpu, 0>} : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT: sinter.all_gather %{{.*}} sizes [1, 2] over {{.*}} channel 2 {sinter.device = #sinter.device<cpu, 1>} : tensor<2xf32> -> tensor<3xf32>
// CHECK: sinter.reduce_scatter sum %{{.*}} sizes [1, 2] over {{.*}} channel 3 {sinter.device = #sinter.device<cpu, 0>} : tensor<3xf32> -> tensor<1xf32>
// CHECK-NEXT: sinter.reduce_scatter sum %{{.*}} sizes [1, 2] over {{.*}} channel 3 {sinter.device = #sinter.device<cpu, 1>} : tensor<3xf32> -> tensor<2xf32>
func.func @parts(%x: tensor<1xf32> {sinter.input = "x", sinter.device = #d0}, %y: tensor<2xf32> {sinter.input = "y", sinter.device = #d1})
    -> (tensor<1xf32> {sinter.output = "dx"}, tensor<2xf32> {sinter.output = "dy"}) {
  %a = sinter.all_gather %x sizes [1, 2] over [#d0, #d1] channel 0 {sinter.device = #d0} : tensor<1xf32> -> tensor<3xf32>
  %b = sinter.all_gather %y sizes [1, 2] over [#d0, #d1] channel 0 {sinter.device = #d1} : tensor<2xf32> -> tensor<3xf32>
  %c = sinter.reduce_scatter sum %a sizes [1, 2] over [#d0, #d1] channel 1 {sinter.device = #d0} : tensor<3xf32> -> tensor<1xf32>
  %d = sinter.reduce_scatter sum %b sizes [1, 2] over [#d0, #d1] channel 1 {sinter.device = #d1} : tensor<3xf32> -> tensor<2xf32>
  %loss = sinter.sum %d [0] {sinter.device = #d1} : tensor<2xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %y : (tensor<f32>, tensor<1xf32>, tensor<2xf32>) -> (tensor<1xf32>, tensor<2xf32>)
  return %g#0, %g#1 : tensor<1xf32>, tensor<2xf32>
}

// -----

#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>
#d2 = #sinter.device<cpu, 2>

// The gradient of a ring_shift is sent back.
// CHECK-LABEL: func.func @ring
// CHECK-COUNT-3: sinter.ring_shift %{{.*}} by 1 over {{.*}} channel 0
// CHECK-COUNT-3: sinter.ring_shift %{{.*}} by 2 over {{.*}} channel 1
func.func @ring(%x: tensor<2xf32> {sinter.input = "x", sinter.device = #d0}, %y: tensor<2xf32> {sinter.input = "y", sinter.device = #d1},
                %z: tensor<2xf32> {sinter.input = "z", sinter.device = #d2}) -> (tensor<2xf32> {sinter.output = "dx"}) {
  %a = sinter.ring_shift %x by 1 over [#d0, #d1, #d2] channel 0 {sinter.device = #d0} : (tensor<2xf32>) -> tensor<2xf32>
  %b = sinter.ring_shift %y by 1 over [#d0, #d1, #d2] channel 0 {sinter.device = #d1} : (tensor<2xf32>) -> tensor<2xf32>
  %c = sinter.ring_shift %z by 1 over [#d0, #d1, #d2] channel 0 {sinter.device = #d2} : (tensor<2xf32>) -> tensor<2xf32>
  %s = sinter.square %b {sinter.device = #d1} : tensor<2xf32>
  %loss = sinter.sum %s [0] {sinter.device = #d1} : tensor<2xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}
