// RUN: sinter-opt %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: sinter.add %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %0 = sinter.add %x, %y : tensor<2x3xf32>
  // CHECK: sinter.sub %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %1 = sinter.sub %0, %y : tensor<2x3xf32>
  // CHECK: sinter.mul %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %2 = sinter.mul %1, %y : tensor<2x3xf32>
  // CHECK: sinter.div %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %3 = sinter.div %2, %y : tensor<2x3xf32>
  // CHECK: sinter.pow %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %4 = sinter.pow %3, %y : tensor<2x3xf32>
  // CHECK: sinter.maximum %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %5 = sinter.maximum %4, %y : tensor<2x3xf32>
  // CHECK: sinter.minimum %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %6 = sinter.minimum %5, %y : tensor<2x3xf32>
  // CHECK: sinter.rem %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %7 = sinter.rem %6, %y : tensor<2x3xf32>
  // CHECK: sinter.atan2 %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %8 = sinter.atan2 %7, %y : tensor<2x3xf32>
  return %8 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<f64>) -> tensor<f64> {
  // CHECK: sinter.neg %{{.*}} : tensor<f64>
  %0 = sinter.neg %x : tensor<f64>
  // CHECK: sinter.abs %{{.*}} : tensor<f64>
  %1 = sinter.abs %0 : tensor<f64>
  // CHECK: sinter.sign %{{.*}} : tensor<f64>
  %2 = sinter.sign %1 : tensor<f64>
  // CHECK: sinter.floor %{{.*}} : tensor<f64>
  %3 = sinter.floor %2 : tensor<f64>
  // CHECK: sinter.ceil %{{.*}} : tensor<f64>
  %4 = sinter.ceil %3 : tensor<f64>
  // CHECK: sinter.round %{{.*}} : tensor<f64>
  %5 = sinter.round %4 : tensor<f64>
  return %5 : tensor<f64>
}

// CHECK-LABEL: func.func @element_types
func.func @element_types(%a: tensor<0x2xi64>, %b: tensor<2xi32>, %c: tensor<2xi8>, %d: tensor<2xui8>, %e: tensor<2xf16>) {
  // CHECK: sinter.add %{{.*}} : tensor<0x2xi64>
  %0 = sinter.add %a, %a : tensor<0x2xi64>
  // CHECK: sinter.div %{{.*}} : tensor<2xi32>
  %1 = sinter.div %b, %b : tensor<2xi32>
  // CHECK: sinter.rem %{{.*}} : tensor<2xi8>
  %2 = sinter.rem %c, %c : tensor<2xi8>
  // CHECK: sinter.maximum %{{.*}} : tensor<2xui8>
  %3 = sinter.maximum %d, %d : tensor<2xui8>
  // CHECK: sinter.abs %{{.*}} : tensor<2xf16>
  %4 = sinter.abs %e : tensor<2xf16>
  // CHECK: sinter.trunc %{{.*}} : tensor<2xf16>
  %5 = sinter.trunc %e : tensor<2xf16>
  // CHECK: sinter.mod %{{.*}} : tensor<2xi8>
  %6 = sinter.mod %c, %c : tensor<2xi8>
  // CHECK: sinter.hypot %{{.*}} : tensor<2xf16>
  %7 = sinter.hypot %e, %e : tensor<2xf16>
  // CHECK: sinter.log_add_exp %{{.*}} : tensor<2xf16>
  %8 = sinter.log_add_exp %e, %e : tensor<2xf16>
  // CHECK: sinter.x_log_y %{{.*}} : tensor<2xf16>
  %9 = sinter.x_log_y %e, %e : tensor<2xf16>
  return
}
