// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-verify-placement --mlir-print-local-scope | FileCheck %s

// Ops computed from constants alone have no device, copies have operands elsewhere, and a program without devices is right.
// CHECK-LABEL: func.func @placed
// CHECK: sinter.copy
func.func @placed(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4xf32> {sinter.output = "a"}) {
  %c = sinter.constant dense<2.0> : tensor<4xf32>
  %e = sinter.exp %c : tensor<4xf32>
  %a = sinter.mul %x, %e {sinter.device = #sinter.device<gpu, 0>} : tensor<4xf32>
  %b = sinter.copy %a to <gpu, 1> : tensor<4xf32>
  %d = sinter.neg %b {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  return %d : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @on_one_cpu
func.func @on_one_cpu(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "a"}) {
  %a = sinter.neg %x : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @dropped(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4xf32> {sinter.output = "a"}) {
  // expected-error@+1 {{'sinter.neg' op has no device, while its operands have one: the pass that made it dropped the device of the op that it replaced; build the op by ir::PlacedBuilder}}
  %a = sinter.neg %x : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @mixed(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4xf32> {sinter.output = "a"}) {
  // expected-error@+1 {{'sinter.neg' op runs on gpu:1, and its operand 0 is on gpu:0: only copies and collectives take a value to another device}}
  %a = sinter.neg %x {sinter.device = #sinter.device<gpu, 1>} : tensor<4xf32>
  return %a : tensor<4xf32>
}
