// RUN: sinter-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(sinter-fold-constants{limit=8}))" --verify-diagnostics | FileCheck %s

// A splat stays a splat, whatever its size.
// CHECK-LABEL: func.func @splat
// CHECK-NEXT: %[[C:.*]] = sinter.constant dense<1.000000e+00> : tensor<1000x1000xf32>
// CHECK-NEXT: return %[[C]]
func.func @splat() -> tensor<1000x1000xf32> {
  %zero = sinter.constant dense<0.0> : tensor<1000xf32>
  %e = sinter.exp %zero : tensor<1000xf32>
  %b = sinter.broadcast %e [1] : tensor<1000xf32> -> tensor<1000x1000xf32>
  return %b : tensor<1000x1000xf32>
}

// CHECK-LABEL: func.func @elements
// CHECK-NEXT: %[[C:.*]] = sinter.constant dense<{{\[}}[1.000000e+00, 9.000000e+00], [4.000000e+00, 1.600000e+01]]> : tensor<2x2xf32>
// CHECK-NEXT: return %[[C]]
func.func @elements() -> tensor<2x2xf32> {
  %c = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = sinter.mul %c, %c : tensor<2x2xf32>
  %t = sinter.transpose %s [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  return %t : tensor<2x2xf32>
}

// bf16 is computed in f32 and rounded to nearest even: 257 is not representable in bf16.
// CHECK-LABEL: func.func @bf16
// CHECK-NEXT: sinter.constant dense<2.560000e+02> : tensor<2xbf16>
func.func @bf16() -> tensor<2xbf16> {
  %a = sinter.constant dense<256.0> : tensor<2xbf16>
  %b = sinter.constant dense<1.0> : tensor<2xbf16>
  %c = sinter.add %a, %b : tensor<2xbf16>
  return %c : tensor<2xbf16>
}

// CHECK-LABEL: func.func @narrowing
// CHECK-NEXT: sinter.constant dense<[2.560000e+02, 2.600000e+02]> : tensor<2xbf16>
func.func @narrowing() -> tensor<2xbf16> {
  %a = sinter.constant dense<[257.0, 259.0]> : tensor<2xf32>
  %b = sinter.cast %a : tensor<2xf32> -> tensor<2xbf16>
  return %b : tensor<2xbf16>
}

// ui8 wraps around, integers divide towards zero, and a comparison gives booleans.
// CHECK-LABEL: func.func @integers
// CHECK-DAG: sinter.constant dense<4> : tensor<2xui8>
// CHECK-DAG: sinter.constant dense<[-2, 3]> : tensor<2xi32>
// CHECK-DAG: sinter.constant dense<[true, false]> : tensor<2xi1>
func.func @integers() -> (tensor<2xui8>, tensor<2xi32>, tensor<2xi1>) {
  %a = sinter.constant dense<250> : tensor<2xui8>
  %b = sinter.constant dense<10> : tensor<2xui8>
  %c = sinter.add %a, %b : tensor<2xui8>
  %d = sinter.constant dense<[-5, 7]> : tensor<2xi32>
  %two = sinter.constant dense<2> : tensor<2xi32>
  %e = sinter.div %d, %two : tensor<2xi32>
  %f = sinter.compare lt %d, %two : tensor<2xi32> -> tensor<2xi1>
  return %c, %e, %f : tensor<2xui8>, tensor<2xi32>, tensor<2xi1>
}

// Padding a splat gives more than one value.
// CHECK-LABEL: func.func @pad
// CHECK-NEXT: sinter.constant dense<[0.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<3xf32>
func.func @pad() -> tensor<3xf32> {
  %c = sinter.constant dense<1.0> : tensor<2xf32>
  %p = sinter.pad %c value 0.0 low [1] high [0] interior [0] : tensor<2xf32> -> tensor<3xf32>
  return %p : tensor<3xf32>
}

// A reduction is folded if it reads no more elements than the limit.
// CHECK-LABEL: func.func @reductions
// CHECK-DAG: sinter.constant dense<[6.000000e+00, 1.500000e+01]> : tensor<2xf32>
// CHECK-DAG: sinter.constant dense<[4.000000e+00, 5.000000e+00, 6.000000e+00]> : tensor<3xf32>
// CHECK-DAG: sinter.constant dense<7.200000e+02> : tensor<f32>
// CHECK-DAG: sinter.constant dense<[2, 0]> : tensor<2xi32>
// CHECK-NOT: sinter.{{sum|max|prod|argmin}}
func.func @reductions() -> (tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<2xi32>) {
  %x = sinter.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = sinter.constant dense<[[5.0, 5.0, 3.0], [4.0, 4.0, 6.0]]> : tensor<2x3xf32>
  %sum = sinter.sum %x [1] : tensor<2x3xf32> -> tensor<2xf32>
  %max = sinter.max %x [0] : tensor<2x3xf32> -> tensor<3xf32>
  %prod = sinter.prod %x [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %argmin = sinter.argmin %y dim 1 : tensor<2x3xf32> -> tensor<2xi32>
  return %sum, %max, %prod, %argmin : tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<2xi32>
}

// bf16 sums accumulate in f32: 259 is halfway between two bf16 values and rounds to the even one. ui8 wraps
// around.
// CHECK-LABEL: func.func @reduced_types
// CHECK-DAG: sinter.constant dense<2.600000e+02> : tensor<bf16>
// CHECK-DAG: sinter.constant dense<4> : tensor<ui8>
// CHECK-DAG: sinter.constant dense<[true, false]> : tensor<2xi1>
func.func @reduced_types() -> (tensor<bf16>, tensor<ui8>, tensor<2xi1>) {
  %x = sinter.constant dense<[256.0, 1.0, 1.0, 1.0]> : tensor<4xbf16>
  %y = sinter.constant dense<[250, 10]> : tensor<2xui8>
  %z = sinter.constant dense<[[false, true], [false, false]]> : tensor<2x2xi1>
  %a = sinter.sum %x [0] : tensor<4xbf16> -> tensor<bf16>
  %b = sinter.sum %y [0] : tensor<2xui8> -> tensor<ui8>
  %c = sinter.any %z [1] : tensor<2x2xi1> -> tensor<2xi1>
  return %a, %b, %c : tensor<bf16>, tensor<ui8>, tensor<2xi1>
}

// For a splat, the limit applies only to the number of elements that are reduced to one.
// CHECK-LABEL: func.func @reduced_splat
// CHECK-DAG: sinter.constant dense<4.000000e+00> : tensor<1000xf32>
// CHECK-DAG: sinter.sum %{{.*}} [0]
func.func @reduced_splat() -> (tensor<1000xf32>, tensor<8xf32>) {
  %x = sinter.constant dense<0.5> : tensor<1000x8xf32>
  %a = sinter.sum %x [1] : tensor<1000x8xf32> -> tensor<1000xf32>
  %b = sinter.sum %x [0] : tensor<1000x8xf32> -> tensor<8xf32>
  return %a, %b : tensor<1000xf32>, tensor<8xf32>
}

// Reductions above the limit and reductions of no elements stay for the runtime.
// CHECK-LABEL: func.func @reductions_stay
// CHECK: sinter.sum
// CHECK: sinter.max
func.func @reductions_stay() -> (tensor<f32>, tensor<2xf32>) {
  %x = sinter.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %none = sinter.constant dense<> : tensor<2x0xf32>
  %a = sinter.sum %x [0] : tensor<9xf32> -> tensor<f32>
  %b = sinter.max %none [1] : tensor<2x0xf32> -> tensor<2xf32>
  return %a, %b : tensor<f32>, tensor<2xf32>
}

// An op above the limit stays for the runtime, and so does an op that depends on an argument.
// CHECK-LABEL: func.func @stays
// CHECK: sinter.exp
// CHECK: sinter.add
func.func @stays(%x: tensor<9xf32>) -> tensor<9xf32> {
  %c = sinter.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %e = sinter.exp %c : tensor<9xf32>
  %r = sinter.add %e, %x : tensor<9xf32>
  return %r : tensor<9xf32>
}

// CHECK-LABEL: func.func @nan_operand
// CHECK-NEXT: sinter.constant dense<0x7FC00000> : tensor<2xf32>
func.func @nan_operand() -> tensor<2xf32> {
  %nan = sinter.constant dense<0x7FC00000> : tensor<2xf32>
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %c = sinter.add %nan, %one : tensor<2xf32>
  return %c : tensor<2xf32>
}

// CHECK-LABEL: func.func @gives_nan
// CHECK-NEXT: sinter.constant dense<0x7FC00000> : tensor<2xf32>
func.func @gives_nan() -> tensor<2xf32> {
  %c = sinter.constant dense<-1.0> : tensor<2xf32>
  %e = sinter.log %c : tensor<2xf32>
  return %e : tensor<2xf32>
}

// CHECK-LABEL: func.func @gives_infinity
// CHECK-NEXT: sinter.constant dense<0x7F800000> : tensor<2xf32>
// CHECK-NEXT: sinter.constant dense<0xFF800000> : tensor<2xf32>
// CHECK-NEXT: return
func.func @gives_infinity() -> (tensor<2xf32>, tensor<2xf32>) {
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %zero = sinter.constant dense<0.0> : tensor<2xf32>
  %quotient = sinter.div %one, %zero : tensor<2xf32>
  %log = sinter.log %zero : tensor<2xf32>
  return %quotient, %log : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @reduction_gives_infinity
// CHECK-NEXT: sinter.constant dense<0x7C00> : tensor<f16>
func.func @reduction_gives_infinity() -> tensor<f16> {
  %x = sinter.constant dense<[6.0e+04, 1.0e+04]> : tensor<2xf16>
  %a = sinter.sum %x [0] : tensor<2xf16> -> tensor<f16>
  return %a : tensor<f16>
}
