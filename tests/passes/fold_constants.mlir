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

// bf16 is computed in f32 and rounded to nearest even: 257 is not a bf16.
// CHECK-LABEL: func.func @bf16
// CHECK-NEXT: sinter.constant dense<2.560000e+02> : tensor<2xbf16>
func.func @bf16() -> tensor<2xbf16> {
  %a = sinter.constant dense<256.0> : tensor<2xbf16>
  %b = sinter.constant dense<1.0> : tensor<2xbf16>
  %c = sinter.add %a, %b : tensor<2xbf16>
  return %c : tensor<2xbf16>
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

// Above the limit: stays for the runtime. So does what depends on an argument.
// CHECK-LABEL: func.func @stays
// CHECK: sinter.exp
// CHECK: sinter.add
func.func @stays(%x: tensor<9xf32>) -> tensor<9xf32> {
  %c = sinter.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %e = sinter.exp %c : tensor<9xf32>
  %r = sinter.add %e, %x : tensor<9xf32>
  return %r : tensor<9xf32>
}

// NaN that was there before is nobody's mistake.
// CHECK-LABEL: func.func @nan_operand
// CHECK-NEXT: sinter.constant dense<0x7FC00000> : tensor<2xf32>
func.func @nan_operand() -> tensor<2xf32> {
  %nan = sinter.constant dense<0x7FC00000> : tensor<2xf32>
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %c = sinter.add %nan, %one : tensor<2xf32>
  return %c : tensor<2xf32>
}

// -----

func.func @gives_nan() -> tensor<2xf32> {
  %c = sinter.constant dense<-1.0> : tensor<2xf32>
  // expected-error@+1 {{folding 'sinter.log' of finite constants gives NaN}}
  %e = sinter.log %c : tensor<2xf32>
  return %e : tensor<2xf32>
}

// -----

func.func @gives_infinity() -> tensor<2xf32> {
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %zero = sinter.constant dense<0.0> : tensor<2xf32>
  // expected-error@+1 {{folding 'sinter.div' of finite constants gives infinity}}
  %e = sinter.div %one, %zero : tensor<2xf32>
  return %e : tensor<2xf32>
}
