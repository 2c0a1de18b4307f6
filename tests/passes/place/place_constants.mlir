// RUN: sinter-opt %s --split-input-file --sinter-place-constants --mlir-print-local-scope | FileCheck %s

sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}

// A chain of constants is copied as a whole to each device. Unused constants are removed.
// CHECK-LABEL: func.func @each_device
// CHECK-NEXT: %[[I1:.*]] = sinter.iota 0 {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
// CHECK-NEXT: %[[I0:.*]] = sinter.iota 0 {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
// CHECK-NEXT: %[[N1:.*]] = sinter.neg %[[I1]] {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NEXT: %[[N0:.*]] = sinter.neg %[[I0]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK-NEXT: sinter.add %{{.*}}, %[[N0]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK-NEXT: sinter.add %{{.*}}, %[[N1]] {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NEXT: return %{{.*}}, %{{.*}}, %[[I0]], %[[N1]]
func.func @each_device(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                       %y: tensor<4xf32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.output = "a", sinter.device = #sinter.device<gpu, 0>},
        tensor<4xf32> {sinter.output = "b", sinter.device = #sinter.device<gpu, 1>},
        tensor<4xf32> {sinter.output = "c", sinter.device = #sinter.device<gpu, 0>}, tensor<4xf32> {sinter.variable = @w}) {
  %unused = sinter.constant dense<1.0> : tensor<4xf32>
  %i = sinter.iota 0 : tensor<4xf32>
  %n = sinter.neg %i : tensor<4xf32>
  %a = sinter.add %x, %n {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  %b = sinter.add %y, %n {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  return %a, %b, %i, %n : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @one_cpu
// CHECK-NOT: device
func.func @one_cpu(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "a"}) {
  %c = sinter.iota 0 : tensor<4xf32>
  %a = sinter.add %x, %c : tensor<4xf32>
  return %a : tensor<4xf32>
}
