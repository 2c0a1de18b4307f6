// RUN: sinter-opt %s --split-input-file --sinter-propagate-placement --mlir-print-local-scope | FileCheck %s

// Explicit placements stay. Other ops run on the device of their operands.
// CHECK-LABEL: func.func @operands
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {sinter.device = #sinter.device<gpu, 0>, sinter.input = "x"}
// CHECK-SAME: %[[Y:.*]]: tensor<4xf32> {sinter.device = #sinter.device<gpu, 1>, sinter.input = "y"}
// CHECK-SAME: -> (tensor<4xf32> {sinter.device = #sinter.device<gpu, 0>, sinter.output = "a"}, tensor<4xf32> {sinter.device = #sinter.device<gpu, 1>, sinter.output = "b"})
// CHECK: sinter.exp %[[X]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK: sinter.exp %[[Y]] {sinter.device = #sinter.device<gpu, 1>}
func.func @operands(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                    %y: tensor<4xf32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.output = "a"}, tensor<4xf32> {sinter.output = "b"}) {
  %a = sinter.exp %x : tensor<4xf32>
  %b = sinter.exp %y : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// A value without a placed operand goes to the device of its first user. This includes inputs and variables,
// in every function. An optimizer slot follows its update.
// CHECK: sinter.variable @w : {{.*}} {sinter.device = #sinter.device<gpu, 1>}
// CHECK: sinter.variable @slot : {{.*}} {sinter.device = #sinter.device<gpu, 1>}
// CHECK: sinter.variable @unused : {{.*}} {sinter.device = #sinter.device<cpu, 0>}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @slot : tensor<4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @unused : tensor<4xf32> = constant(0.0, 0.0) seed 0
// CHECK-LABEL: func.func @eval
// CHECK-SAME: {sinter.device = #sinter.device<gpu, 1>, sinter.variable = @w}
// CHECK: sinter.neg %{{.*}} {sinter.device = #sinter.device<gpu, 1>}
func.func @eval(%w: tensor<4xf32> {sinter.variable = @w}) -> (tensor<4xf32> {sinter.output = "y"}) {
  %y = sinter.neg %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @train
// CHECK-SAME: {sinter.device = #sinter.device<gpu, 1>, sinter.input = "x"}
func.func @train(%x: tensor<4xf32> {sinter.input = "x"}, %w: tensor<4xf32> {sinter.variable = @w},
                 %s: tensor<4xf32> {sinter.variable = @slot})
    -> (tensor<4xf32> {sinter.variable = @w}, tensor<4xf32> {sinter.variable = @slot}) {
  %p = sinter.exp %x : tensor<4xf32>
  %q = sinter.mul %p, %w {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  %t = sinter.add %q, %s : tensor<4xf32>
  return %q, %t : tensor<4xf32>, tensor<4xf32>
}

// -----

// A variable that is only assigned is on the device that computes its new value.
// CHECK: sinter.variable @mean : {{.*}} {sinter.device = #sinter.device<gpu, 1>}
sinter.variable @mean : tensor<4xf32> = constant(0.0, 0.0) seed 0
func.func @f(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.variable = @mean}) {
  %y = sinter.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A program only on cpu:0 has no device attributes and no copies.
// CHECK-LABEL: func.func @one_cpu
// CHECK-NOT: device
// CHECK: %[[Y:.*]] = sinter.neg %arg0 : tensor<4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @one_cpu(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<cpu, 0>})
    -> (tensor<4xf32> {sinter.output = "y"}) {
  %a = sinter.copy %x to <cpu, 0> : tensor<4xf32>
  %y = sinter.neg %a {sinter.device = #sinter.device<cpu, 0>} : tensor<4xf32>
  %b = sinter.copy %y like %x of tensor<4xf32> : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// Constants follow their users. After this pass they have no device attribute, even if the program placed
// them.
// CHECK-LABEL: func.func @constants
// CHECK: %[[C:.*]] = sinter.constant dense<1.0{{.*}}> : tensor<4xf32>{{$}}
// CHECK: %[[D:.*]] = sinter.neg %[[C]] : tensor<4xf32>
// CHECK: sinter.constant dense<2.0{{.*}}> : tensor<4xf32>{{$}}
// CHECK: sinter.add %{{.*}}, %[[D]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK: sinter.add %{{.*}}, %[[D]] {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NOT: sinter.copy
func.func @constants(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                     %y: tensor<4xf32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4xf32> {sinter.output = "a"}, tensor<4xf32> {sinter.output = "b"}, tensor<4xf32> {sinter.output = "c"}) {
  %c = sinter.constant dense<1.0> : tensor<4xf32>
  %d = sinter.neg %c : tensor<4xf32>
  %placed = sinter.constant dense<2.0> : tensor<4xf32> {sinter.device = #sinter.device<gpu, 0>}
  %a = sinter.add %x, %d : tensor<4xf32>
  %b = sinter.add %y, %d : tensor<4xf32>
  %c1 = sinter.copy %d to <gpu, 1> : tensor<4xf32>
  %b1 = sinter.add %b, %c1 : tensor<4xf32>
  %a1 = sinter.add %a, %placed : tensor<4xf32>
  return %a1, %b1, %placed : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Inputs and rank-0 values without a placement are copied to each device that uses them, once per device.
sinter.variable @step : tensor<f32> = constant(0.0, 0.0) seed 0
// CHECK-LABEL: func.func @everywhere
// CHECK-SAME: %[[LR:[a-z0-9]+]]: tensor<f32> {sinter.device = #sinter.device<gpu, 0>, sinter.input = "lr"}
// CHECK: %[[T:.*]] = sinter.neg %{{.*}} {sinter.device = #sinter.device<gpu, 0>}
// CHECK: sinter.add %[[LR]], %{{.*}} {sinter.device = #sinter.device<gpu, 0>}
// CHECK: %[[LR1:.*]] = sinter.copy %[[LR]] to <gpu, 1> because input
// CHECK-NEXT: sinter.add %{{.*}}, %[[LR1]] {sinter.device = #sinter.device<gpu, 1>}
// CHECK-NEXT: %[[T1:.*]] = sinter.copy %[[T]] to <gpu, 1> because scalar
// CHECK-NEXT: sinter.mul %{{.*}}, %[[T1]]
// CHECK-NEXT: sinter.mul %{{.*}}, %[[T1]]
// CHECK-NEXT: sinter.mul %{{.*}}, %[[LR1]]
// CHECK-NOT: sinter.copy
func.func @everywhere(%x: tensor<f32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                      %y: tensor<f32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>},
                      %lr: tensor<f32> {sinter.input = "lr"}, %step: tensor<f32> {sinter.variable = @step})
    -> (tensor<f32> {sinter.output = "a"}, tensor<f32> {sinter.output = "b"}, tensor<f32> {sinter.variable = @step}) {
  %t = sinter.neg %step : tensor<f32>
  %a = sinter.add %lr, %x : tensor<f32>
  %a1 = sinter.mul %a, %t : tensor<f32>
  %b = sinter.add %y, %lr : tensor<f32>
  %b1 = sinter.mul %b, %t : tensor<f32>
  %b2 = sinter.mul %b1, %t : tensor<f32>
  %b3 = sinter.mul %b2, %lr : tensor<f32>
  return %a1, %b3, %t : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// A gradient is on its value's device. The copy back goes to the device of the copied value.
// CHECK-LABEL: func.func @gradients
// CHECK: sinter.gradients
// CHECK: sinter.neg %{{.*}} {sinter.device = #sinter.device<gpu, 0>}
// CHECK: sinter.neg %{{.*}} {sinter.device = #sinter.device<gpu, 1>}
func.func @gradients(%x: tensor<f32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                     %y: tensor<f32> {sinter.input = "y", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<f32> {sinter.output = "a"}, tensor<f32> {sinter.output = "b"}) {
  %c = sinter.copy %y like %x of tensor<f32> : tensor<f32>
  %loss = sinter.mul %x, %c : tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %y : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %a = sinter.neg %g#0 : tensor<f32>
  %b = sinter.neg %g#1 : tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}
