// RUN: sinter-opt %s --sinter-propagate-placement=device=gpu:0 --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --sinter-propagate-placement | FileCheck %s --check-prefix=CPU
// RUN: sinter-opt %s --sinter-propagate-placement=device=gpu:0 --sinter-propagate-placement=device=gpu:0 --mlir-print-local-scope | FileCheck %s

// The default device for values without a placement. A second run changes nothing.
// CPU-NOT: device
// CHECK: sinter.variable @w : {{.*}} {sinter.device = #sinter.device<gpu, 0>}
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0
// CHECK: func.func @f(%[[W:.*]]: tensor<4xf32> {sinter.device = #sinter.device<gpu, 0>, sinter.variable = @w})
// CHECK-SAME: -> (tensor<4xf32> {sinter.device = #sinter.device<gpu, 0>, sinter.output = "y"}, tensor<2xf32> {sinter.device = #sinter.device<gpu, 0>, sinter.output = "c"}
// CHECK: sinter.constant dense<1.0{{.*}}> : tensor<2xf32>{{$}}
// CHECK: sinter.neg %[[W]] {sinter.device = #sinter.device<gpu, 0>}
func.func @f(%w: tensor<4xf32> {sinter.variable = @w})
    -> (tensor<4xf32> {sinter.output = "y"}, tensor<2xf32> {sinter.output = "c"}) {
  %c = sinter.constant dense<1.0> : tensor<2xf32>
  %y = sinter.neg %w : tensor<4xf32>
  return %y, %c : tensor<4xf32>, tensor<2xf32>
}

// A loop is on the default device, also one that is computed from constants alone.
// CHECK-LABEL: func.func @loop_of_constants
// CHECK: sinter.scan {{.*}} {sinter.device = #sinter.device<gpu, 0>}
// CHECK: sinter.neg {{.*}} {sinter.device = #sinter.device<gpu, 0>}
func.func @loop_of_constants() -> (tensor<2xf32> {sinter.output = "y"}) {
  %h = sinter.constant dense<1.0> : tensor<2xf32>
  %s = sinter.scan 2 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %n = sinter.exp %c : tensor<2xf32>
    sinter.yield %n : tensor<2xf32>
  }
  %y = sinter.neg %s : tensor<2xf32>
  return %y : tensor<2xf32>
}
