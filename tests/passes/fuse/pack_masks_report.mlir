// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline='builtin.module(func.func(sinter-pack-masks{least-bytes=100000 report}))' --verify-diagnostics | FileCheck %s

// Packing would save less than the limit.
// CHECK-LABEL: func.func @small(
func.func @small(%x: tensor<256x64xbf16> {sinter.input = "x"}, %y: tensor<256x64xbf16> {sinter.input = "y"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<256x64xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<256x64xbf16>
  %sum = sinter.add %x, %y : tensor<256x64xbf16>
  %r = sinter.relu %sum : tensor<256x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<256x64xbf16>, tensor<64x64xbf16>) -> tensor<256x64xbf16>
  // expected-remark @+1 {{a mask is not packed into bits: it would save 28672 bytes, less than 100000}}
  %mask = sinter.compare gt %r, %zero : tensor<256x64xbf16> -> tensor<256x64xi1>
  %dx = sinter.select %mask, %p, %zero : tensor<256x64xi1>, tensor<256x64xbf16>
  return %dx : tensor<256x64xbf16>
}

// The kernel of the gradient multiplies by the relu's result, so it reads it anyway.
// CHECK-LABEL: func.func @in_full(
func.func @in_full(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %y: tensor<1024x64xbf16> {sinter.input = "y"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %sum = sinter.add %x, %y : tensor<1024x64xbf16>
  %r = sinter.relu %sum : tensor<1024x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  // expected-remark @+1 {{a mask is not packed into bits: its reader needs more than the mask}}
  %mask = sinter.compare gt %r, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %g = sinter.select %mask, %p, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  %dx = sinter.mul %g, %r : tensor<1024x64xbf16>
  return %dx : tensor<1024x64xbf16>
}

// The sums of the gradient read x anyway, from which they compute the relu's result again.
// CHECK-LABEL: func.func @computed_again(
func.func @computed_again(%a: tensor<65536x32xbf16> {sinter.input = "a"}, %w: tensor<32x64xbf16> {sinter.input = "w"},
                  %v: tensor<64x32xbf16> {sinter.input = "v"}, %mean: tensor<64xf32> {sinter.input = "mean"},
                  %scale: tensor<64xf32> {sinter.input = "scale"})
    -> (tensor<65536x32xbf16> {sinter.output = "z"}) {
  %x = sinter.matmul %a, %w : (tensor<65536x32xbf16>, tensor<32x64xbf16>) -> tensor<65536x64xbf16>
  %wide = sinter.cast %x : tensor<65536x64xbf16> -> tensor<65536x64xf32>
  %means = sinter.broadcast %mean [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %centered = sinter.sub %wide, %means : tensor<65536x64xf32>
  %scales = sinter.broadcast %scale [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %normal = sinter.mul %centered, %scales : tensor<65536x64xf32>
  %narrow = sinter.cast %normal : tensor<65536x64xf32> -> tensor<65536x64xbf16>
  %y = sinter.relu %narrow : tensor<65536x64xbf16>
  %h = sinter.matmul %y, %v : (tensor<65536x64xbf16>, tensor<64x32xbf16>) -> tensor<65536x32xbf16>
  %dy = sinter.matmul %h, %w : (tensor<65536x32xbf16>, tensor<32x64xbf16>) -> tensor<65536x64xbf16>
  %zero = sinter.constant dense<0.0> : tensor<65536x64xbf16>
  // expected-remark @+1 {{a mask is not packed into bits: its reader computes again what it compares}}
  %mask = sinter.compare gt %y, %zero : tensor<65536x64xbf16> -> tensor<65536x64xi1>
  %g = sinter.select %mask, %dy, %zero : tensor<65536x64xi1>, tensor<65536x64xbf16>
  %gwide = sinter.cast %g : tensor<65536x64xbf16> -> tensor<65536x64xf32>
  %sum = sinter.sum %gwide [0] : tensor<65536x64xf32> -> tensor<64xf32>
  %along = sinter.mul %gwide, %normal : tensor<65536x64xf32>
  %total = sinter.sum %along [0] : tensor<65536x64xf32> -> tensor<64xf32>
  %sums = sinter.broadcast %sum [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %totals = sinter.broadcast %total [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %rest = sinter.sub %gwide, %sums : tensor<65536x64xf32>
  %part = sinter.mul %normal, %totals : tensor<65536x64xf32>
  %inner = sinter.sub %rest, %part : tensor<65536x64xf32>
  %dx = sinter.cast %inner : tensor<65536x64xf32> -> tensor<65536x64xbf16>
  %z = sinter.matmul %dx, %v : (tensor<65536x64xbf16>, tensor<64x32xbf16>) -> tensor<65536x32xbf16>
  return %z : tensor<65536x32xbf16>
}

// A matmul computes what is compared.
// CHECK-LABEL: func.func @of_a_library(
func.func @of_a_library(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %r = sinter.matmul %x, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  // expected-remark @+1 {{a mask is not packed into bits: one kernel may hold it and its reader}}
  %mask = sinter.compare gt %r, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %dx = sinter.select %mask, %p, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  return %dx : tensor<1024x64xbf16>
}

// The kernel that computes the relu also sums its rows, which are not bytes.
// CHECK-LABEL: func.func @summed(
func.func @summed(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %y: tensor<1024x64xbf16> {sinter.input = "y"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}, tensor<1024xbf16> {sinter.output = "s"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %sum = sinter.add %x, %y : tensor<1024x64xbf16>
  %r = sinter.relu %sum : tensor<1024x64xbf16>
  %s = sinter.sum %r [1] : tensor<1024x64xbf16> -> tensor<1024xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  // expected-remark @+1 {{a mask is not packed into bits: its kernel computes sinter.sum, too}}
  %mask = sinter.compare gt %r, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %dx = sinter.select %mask, %p, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  return %dx, %s : tensor<1024x64xbf16>, tensor<1024xbf16>
}

// Rows in another order lead to the mask in the same kernel.
// CHECK-LABEL: func.func @moved_rows(
func.func @moved_rows(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %moved = sinter.reverse %x [0] : tensor<1024x64xbf16>
  %r = sinter.add %moved, %x : tensor<1024x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  // expected-remark @+1 {{a mask is not packed into bits: more than pointwise ops and broadcasts compute it}}
  %mask = sinter.compare gt %r, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %dx = sinter.select %mask, %p, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  return %dx : tensor<1024x64xbf16>
}
// CHECK-NOT: ui8
