// RUN: sinter-opt %s --split-input-file --sinter-check-indices | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-check-indices=prefix=bounds/ | FileCheck %s --check-prefix=NAMED

// The variable holds the lowest index, the highest index and the size of the indexed dimension.
// CHECK: sinter.variable @"index_check/f/0" : tensor<3xi64> = constant
// NAMED: sinter.variable @"bounds/f/0"
// CHECK-LABEL: func.func @f
// CHECK-SAME: tensor<3xi64> {sinter.variable = @"index_check/f/0"}
func.func @f(%x: tensor<5x4xf32> {sinter.input = "x"}, %i: tensor<2x3xi32> {sinter.input = "i"})
    -> (tensor<2x3x4xf32> {sinter.output = "y"}) {
  // CHECK: %[[Y:.*]] = sinter.gather
  // CHECK: %[[SIZE:.*]] = sinter.constant dense<5> : tensor<1xi64>
  // CHECK-DAG: %[[LOW:.*]] = sinter.min %arg1 [0, 1]
  // CHECK-DAG: %[[LOW64:.*]] = sinter.cast %[[LOW]]
  // CHECK-DAG: %[[LOW1:.*]] = sinter.reshape %[[LOW64]]
  // CHECK-DAG: %[[HIGH:.*]] = sinter.max %arg1 [0, 1]
  // CHECK-DAG: %[[HIGH64:.*]] = sinter.cast %[[HIGH]]
  // CHECK-DAG: %[[HIGH1:.*]] = sinter.reshape %[[HIGH64]]
  // CHECK: %[[ALL:.*]] = sinter.concat %[[LOW1]], %[[HIGH1]], %[[SIZE]] dim 0
  // CHECK: return %[[Y]], %[[ALL]]
  %y = sinter.gather %x[%i] dim 0 : tensor<5x4xf32>, tensor<2x3xi32> -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// Every op that takes indices is checked; ignored labels count as 0.
// CHECK: sinter.variable @"index_check/g/0"
// CHECK: sinter.variable @"index_check/g/1"
// CHECK: sinter.variable @"index_check/g/2"
// CHECK: sinter.variable @"index_check/g/3"
// CHECK-NOT: sinter.variable
// CHECK-LABEL: func.func @g
// CHECK: sinter.constant dense<5> : tensor<1xi64>
// CHECK: sinter.concat
// CHECK: sinter.constant dense<4> : tensor<1xi64>
// CHECK: sinter.concat
// CHECK: sinter.constant dense<7> : tensor<1xi64>
// CHECK: sinter.concat
// CHECK: sinter.constant dense<-1> : tensor<5xi64>
// CHECK: sinter.compare
// CHECK: %[[LABELS:.*]] = sinter.select
// CHECK: sinter.constant dense<4> : tensor<1xi64>
// CHECK: sinter.min %[[LABELS]]
func.func @g(%x: tensor<5x4xf32> {sinter.input = "x"}, %i: tensor<5xi64> {sinter.input = "i"},
             %j: tensor<5x2xi64> {sinter.input = "j"})
    -> (tensor<5x4xf32> {sinter.output = "a"}, tensor<5x2xf32> {sinter.output = "b"},
        tensor<5x7xf32> {sinter.output = "c"}, tensor<f32> {sinter.output = "d"}) {
  %a = sinter.scatter_add %x[%i], %x dim 0 : tensor<5x4xf32>, tensor<5xi64>, tensor<5x4xf32>
  %b = sinter.take_along %x[%j] dim 1 : tensor<5x4xf32>, tensor<5x2xi64> -> tensor<5x2xf32>
  %c = sinter.one_hot %i : tensor<5xi64> -> tensor<5x7xf32>
  %d = sinter.softmax_cross_entropy mean %x, %i {ignore_label = -1 : i64} : tensor<5x4xf32>, tensor<5xi64> -> tensor<f32>
  return %a, %b, %c, %d : tensor<5x4xf32>, tensor<5x2xf32>, tensor<5x7xf32>, tensor<f32>
}

// -----

// Without indices there is nothing to check. The gradient function of a kernel is not checked: no caller can
// run it.
// CHECK-NOT: sinter.variable
func.func @none(%x: tensor<5x4xf32> {sinter.input = "x"}, %i: tensor<0xi64> {sinter.input = "i"})
    -> (tensor<0x4xf32> {sinter.output = "y"}) {
  %y = sinter.gather %x[%i] dim 0 : tensor<5x4xf32>, tensor<0xi64> -> tensor<0x4xf32>
  return %y : tensor<0x4xf32>
}
func.func private @gradient(%x: tensor<5x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  %y = sinter.gather %x[%i] dim 0 : tensor<5x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Indices in a loop: a carry holds those of all trips. It starts as a trip would leave it whose indices are all 0.
// CHECK-LABEL: sinter.variable @"index_check/loop/0"
// CHECK-LABEL: func.func @loop
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0> : tensor<2xi64>
// CHECK: %[[SIZE:.*]] = sinter.constant dense<5> : tensor<1xi64>
// CHECK: %[[START:.*]] = sinter.concat %[[ZERO]], %[[SIZE]] dim 0
// CHECK: %[[S:.*]]:2 = sinter.scan 3 carry(%[[START]] : tensor<3xi64>) over(%{{.*}} : tensor<3x2xi32>) with(%{{.*}} : tensor<5x4xf32>)
// CHECK: sinter.minimum
// CHECK: sinter.maximum
// CHECK: return %[[S]]#1, %[[S]]#0
func.func @loop(%table: tensor<5x4xf32> {sinter.input = "table"}, %ids: tensor<3x2xi32> {sinter.input = "ids"}) -> (tensor<3x2x4xf32> {sinter.output = "y"}) {
  %s = sinter.scan 3 over(%ids : tensor<3x2xi32>) with(%table : tensor<5x4xf32>) -> (tensor<3x2x4xf32>) {
  ^bb0(%i: tensor<i64>, %now: tensor<2xi32>, %t: tensor<5x4xf32>):
    %y = sinter.gather %t[%now] dim 0 : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
    sinter.yield %y : tensor<2x4xf32>
  }
  return %s : tensor<3x2x4xf32>
}

// -----

// The front end names ops whose indices may stand for no row.
// CHECK-NOT: sinter.variable
// CHECK-LABEL: func.func @unchecked
// CHECK-NOT: sinter.concat
func.func @unchecked(%x: tensor<5x4xf32> {sinter.input = "x"}, %i: tensor<2xi32> {sinter.input = "i"})
    -> (tensor<2x4xf32> {sinter.output = "y"}) {
  %y = sinter.gather %x[%i] dim 0 {sinter.unchecked} : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
