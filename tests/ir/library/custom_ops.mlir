// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @squared_diff
func.func @squared_diff(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: sinter.elementwise_kernel "squared_diff"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}})
  // CHECK-SAME: body = "z = (x - y) * (x - y)", gradient = @squared_diff.gradient, n = 6 : i64
  // CHECK-SAME: parameters = ["x", "y", "z"], raw = array<i1: false, false, false>, types = {T = f32}}
  // CHECK-SAME: : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %z = sinter.elementwise_kernel "squared_diff"(%x, %y) {parameters = ["x", "y", "z"], raw = array<i1: false, false, false>,
    n = 6 : i64, body = "z = (x - y) * (x - y)", types = {T = f32}, gradient = @squared_diff.gradient}
    : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}

func.func private @squared_diff.gradient(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %z: tensor<2x3xf32>, %g: tensor<2x3xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %d = sinter.sub %x, %y : tensor<2x3xf32>
  %dg = sinter.mul %d, %g : tensor<2x3xf32>
  %dx = sinter.add %dg, %dg : tensor<2x3xf32>
  %dy = sinter.neg %dx : tensor<2x3xf32>
  return %dx, %dy : tensor<2x3xf32>, tensor<2x3xf32>
}

// Raw parameters may have any number of elements. A kernel may have text before and after the loop.
// CHECK-LABEL: func.func @raw
func.func @raw(%x: tensor<7xbf16>, %at: tensor<3xi32>) -> (tensor<3xf32>, tensor<2xi64>) {
  // CHECK: sinter.elementwise_kernel "pick"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}})
  // CHECK-SAME: epilogue = "count[0] = taken;"
  // CHECK-SAME: preamble = "typedef long taken_t;"
  // CHECK-SAME: prologue = "taken_t taken = 0;"
  %y:2 = sinter.elementwise_kernel "pick"(%x, %at) {parameters = ["x", "at", "y", "count"],
    raw = array<i1: true, false, false, true>, n = 3 : i64, body = "y = x[at]; ++taken;", prologue = "taken_t taken = 0;",
    epilogue = "count[0] = taken;", preamble = "typedef long taken_t;"} : (tensor<7xbf16>, tensor<3xi32>) -> (tensor<3xf32>, tensor<2xi64>)
  return %y#0, %y#1 : tensor<3xf32>, tensor<2xi64>
}
