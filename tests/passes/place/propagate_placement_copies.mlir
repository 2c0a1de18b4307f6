// RUN: sinter-opt %s --sinter-propagate-placement=copies=automatic --mlir-print-local-scope | FileCheck %s

sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}

// One copy for each value and device; a copy in the program is reused. An op runs on the device of its first
// operand.
// CHECK-LABEL: func.func @f
// CHECK: %[[A:.*]] = sinter.copy %[[X:.*]] to <gpu, 1> because automatic
// CHECK-NEXT: %[[P:.*]] = sinter.add %[[Y:.*]], %[[A]] {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NEXT: %[[Q:.*]] = sinter.sub %[[P]], %[[A]] {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NEXT: %[[C:.*]] = sinter.copy %[[Q]] to <gpu, 0> : tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = sinter.mul %[[X]], %[[C]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK-NEXT: %[[S:.*]] = sinter.mul %[[X]], %[[C]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK-NEXT: %[[D:.*]] = sinter.copy %[[S]] to <gpu, 1> because automatic
// CHECK-NEXT: return %[[R]], %[[D]]
func.func @f(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
             %y: tensor<4xf32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.output = "a"}, tensor<4xf32> {sinter.variable = @w}) {
  %p = sinter.add %y, %x : tensor<4xf32>
  %q = sinter.sub %p, %x : tensor<4xf32>
  %c = sinter.copy %q to <gpu, 0> : tensor<4xf32>
  %r = sinter.mul %x, %c : tensor<4xf32>
  %s = sinter.mul %x, %q : tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}
