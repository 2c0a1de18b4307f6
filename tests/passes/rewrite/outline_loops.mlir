// RUN: sinter-opt %s --sinter-outline-loops --split-input-file --verify-diagnostics | FileCheck %s

// The trip's number becomes a slice, and a constant that is no splat an invariant; a splat stays.
// CHECK-LABEL: func.func private @count.loop0
// CHECK-SAME: (%[[H:.*]]: tensor<2xf32> {sinter.parameter = @carry0}, %[[X:.*]]: tensor<2xf32> {sinter.parameter = @slice0}, %[[I:.*]]: tensor<i64> {sinter.parameter = @slice1}, %[[C:.*]]: tensor<2xf32> {sinter.parameter = @with0})
// CHECK-SAME: -> (tensor<2xf32> {sinter.parameter = @carry0}, tensor<i64> {sinter.parameter = @stack0}) attributes {sinter.fragment}
// CHECK: sinter.constant dense<2.000000e+00>
// CHECK: return
// CHECK-LABEL: func.func @count
// CHECK-DAG: %[[ALL:.*]] = sinter.iota 0 : tensor<4xi64>
// CHECK-DAG: %[[LIST:.*]] = sinter.constant dense<[1.000000e+00, 3.000000e+00]>
// CHECK: sinter.loop @count.loop0 4 reverse carry(%{{.*}}) over(%{{.*}}, %[[ALL]]) with(%[[LIST]])
func.func @count(%h: tensor<2xf32>, %x: tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4xi64>) {
  %s:2 = sinter.scan 4 reverse carry(%h : tensor<2xf32>) over(%x : tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4xi64>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>, %slice: tensor<2xf32>):
    %list = sinter.constant dense<[1.0, 3.0]> : tensor<2xf32>
    %two = sinter.constant dense<2.0> : tensor<2xf32>
    %a = sinter.mul %slice, %two : tensor<2xf32>
    %b = sinter.add %c, %list : tensor<2xf32>
    %n = sinter.add %a, %b : tensor<2xf32>
    sinter.yield %n, %i : tensor<2xf32>, tensor<i64>
  }
  return %s#0, %s#1 : tensor<2xf32>, tensor<4xi64>
}

// The body of the inner loop comes first.
// CHECK-LABEL: func.func private @nested.loop0
// CHECK-LABEL: func.func private @nested.loop1
// CHECK: sinter.loop @nested.loop0 3
// CHECK-LABEL: func.func @nested
// CHECK: sinter.loop @nested.loop1 4
func.func @nested(%h: tensor<2xf32>) -> tensor<2xf32> {
  %s = sinter.scan 4 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %t = sinter.scan 3 carry(%c : tensor<2xf32>) -> (tensor<2xf32>) {
    ^bb0(%k: tensor<i64>, %d: tensor<2xf32>):
      %e = sinter.exp %d : tensor<2xf32>
      sinter.yield %e : tensor<2xf32>
    }
    sinter.yield %t : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

#gpu = #sinter.device<gpu, 0>

// The body is where the loop is.
// CHECK-LABEL: func.func private @placed.loop0(%{{.*}}: tensor<2xf32> {sinter.device = #{{.*}}, sinter.parameter = @carry0})
// CHECK: sinter.exp {{.*}} {sinter.device
func.func @placed(%h: tensor<2xf32> {sinter.device = #gpu}) -> tensor<2xf32> {
  %s = sinter.scan 4 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) attributes {sinter.device = #gpu} {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %e = sinter.exp %c : tensor<2xf32>
    sinter.yield %e : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

#gpu = #sinter.device<gpu, 0>
#other = #sinter.device<gpu, 1>

func.func @apart(%h: tensor<2xf32> {sinter.device = #gpu}) -> tensor<2xf32> {
  // expected-note @+1 {{the loop is here}}
  %s = sinter.scan 4 carry(%h : tensor<2xf32>) -> (tensor<2xf32>) attributes {sinter.device = #gpu} {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    // expected-error @+1 {{in a loop is on another device than the loop, gpu:0; expected one device: place the loop whole, or copy before it}}
    %e = sinter.exp %c {sinter.device = #other} : tensor<2xf32>
    sinter.yield %e : tensor<2xf32>
  }
  return %s : tensor<2xf32>
}

// -----

// A while counts its trips in a carry, since slices are for trips that are all made; the trip of a branch is a slice of one.
// CHECK-LABEL: func.func private @ends.loop0
// CHECK-SAME: (%[[GO:.*]]: tensor<i1> {sinter.parameter = @carry0}, %[[C:.*]]: tensor<i64> {sinter.parameter = @carry1}, %[[I:.*]]: tensor<i64> {sinter.parameter = @carry2}, %[[N:.*]]: tensor<i64> {sinter.parameter = @with0})
// CHECK-DAG: %[[ONE:.*]] = sinter.constant dense<1> : tensor<i64>
// CHECK-DAG: sinter.add %[[I]], %[[ONE]]
// CHECK-LABEL: func.func @ends
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0> : tensor<i64>
// CHECK: sinter.loop @ends.loop0 100 guarded carry(%{{.*}}, %{{.*}}, %[[ZERO]]) over() with(%{{.*}})
func.func @ends(%go: tensor<i1>, %h: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {
  %s:2 = sinter.scan 100 guarded carry(%go, %h : tensor<i1>, tensor<i64>) with(%n : tensor<i64>) -> (tensor<i1>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %c: tensor<i64>, %m: tensor<i64>):
    %a = sinter.add %c, %i : tensor<i64>
    %t = sinter.compare lt %a, %m : tensor<i64> -> tensor<i1>
    sinter.yield %t, %a : tensor<i1>, tensor<i64>
  }
  return %s#1 : tensor<i64>
}
