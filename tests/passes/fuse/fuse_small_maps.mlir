// RUN: sinter-opt %s --sinter-fuse --mlir-print-local-scope | FileCheck %s

// On a GPU small casts of weights are one kernel. A large cast stays close to its reader, and so does a cast
// of another value than a variable.
// CHECK-LABEL: func.func @casts(
// CHECK: sinter.fusion(%{{.*}} : tensor<32x64xf32>) -> (tensor<32x64xbf16>)
// CHECK: sinter.fusion(%{{.*}} : tensor<64x128xf32>, tensor<128x64xf32>) -> (tensor<64x128xbf16>, tensor<128x64xbf16>) attributes {kind = "horizontal"
// CHECK: sinter.fusion(%{{.*}} : tensor<64x16384xf32>) -> (tensor<64x16384xbf16>)
func.func @casts(%x: tensor<32x64xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %a: tensor<64x128xf32> {sinter.variable = "a", sinter.device = #sinter.device<gpu, 0>}, %b: tensor<128x64xf32> {sinter.variable = "b", sinter.device = #sinter.device<gpu, 0>}, %c: tensor<64x16384xf32> {sinter.variable = "c", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<32x16384xbf16> {sinter.output = "y"}) {
  %xn = sinter.cast %x {sinter.device = #sinter.device<gpu, 0>} : tensor<32x64xf32> -> tensor<32x64xbf16>
  %an = sinter.cast %a {sinter.device = #sinter.device<gpu, 0>} : tensor<64x128xf32> -> tensor<64x128xbf16>
  %h = sinter.matmul %xn, %an {sinter.device = #sinter.device<gpu, 0>} : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %bn = sinter.cast %b {sinter.device = #sinter.device<gpu, 0>} : tensor<128x64xf32> -> tensor<128x64xbf16>
  %i = sinter.matmul %h, %bn {sinter.device = #sinter.device<gpu, 0>} : (tensor<32x128xbf16>, tensor<128x64xbf16>) -> tensor<32x64xbf16>
  %cn = sinter.cast %c {sinter.device = #sinter.device<gpu, 0>} : tensor<64x16384xf32> -> tensor<64x16384xbf16>
  %y = sinter.matmul %i, %cn {sinter.device = #sinter.device<gpu, 0>} : (tensor<32x64xbf16>, tensor<64x16384xbf16>) -> tensor<32x16384xbf16>
  return %y : tensor<32x16384xbf16>
}

// On a CPU each cast is a kernel.
// CHECK-LABEL: func.func @on_cpu(
// CHECK-NOT: horizontal
func.func @on_cpu(%x: tensor<32x64xbf16> {sinter.input = "x"}, %a: tensor<64x128xf32> {sinter.variable = "a"}, %b: tensor<128x64xf32> {sinter.variable = "b"})
    -> (tensor<32x64xbf16> {sinter.output = "y"}) {
  %an = sinter.cast %a : tensor<64x128xf32> -> tensor<64x128xbf16>
  %h = sinter.matmul %x, %an : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %bn = sinter.cast %b : tensor<128x64xf32> -> tensor<128x64xbf16>
  %y = sinter.matmul %h, %bn : (tensor<32x128xbf16>, tensor<128x64xbf16>) -> tensor<32x64xbf16>
  return %y : tensor<32x64xbf16>
}

// Updates with the same rate have separate loops although they all read it: no thread handles several
// variables. A large variable joins if its gradient is an input, and does not if this function computes its
// gradient.
// CHECK-LABEL: func.func @updates(
// CHECK: sinter.fusion({{.*}}) -> (tensor<256xf32>, tensor<256xf32>, tensor<1024x1024xf32>) attributes {kind = "horizontal"
// CHECK: sinter.matmul
// CHECK: sinter.fusion({{.*}}) -> (tensor<1024x1024xf32>) attributes {kind = "map"
func.func @updates(%rate: tensor<f32> {sinter.input = "rate", sinter.device = #sinter.device<gpu, 0>}, %g: tensor<256xf32> {sinter.input = "g", sinter.device = #sinter.device<gpu, 0>}, %gl: tensor<1024x1024xf32> {sinter.input = "gl", sinter.device = #sinter.device<gpu, 0>}, %p: tensor<256xf32> {sinter.variable = "p", sinter.device = #sinter.device<gpu, 0>}, %q: tensor<256xf32> {sinter.variable = "q", sinter.device = #sinter.device<gpu, 0>}, %l: tensor<1024x1024xf32> {sinter.variable = "l", sinter.device = #sinter.device<gpu, 0>}, %m: tensor<1024x1024xf32> {sinter.variable = "m", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<256xf32> {sinter.variable = "p"}, tensor<256xf32> {sinter.variable = "q"}, tensor<1024x1024xf32> {sinter.variable = "l"}, tensor<1024x1024xf32> {sinter.variable = "m"}) {
  %r = sinter.broadcast %rate [] {sinter.device = #sinter.device<gpu, 0>} : tensor<f32> -> tensor<256xf32>
  %sp = sinter.mul %g, %r {sinter.device = #sinter.device<gpu, 0>} : tensor<256xf32>
  %np = sinter.sub %p, %sp {sinter.device = #sinter.device<gpu, 0>} : tensor<256xf32>
  %nq = sinter.mul %q, %r {sinter.device = #sinter.device<gpu, 0>} : tensor<256xf32>
  %rl = sinter.broadcast %rate [] {sinter.device = #sinter.device<gpu, 0>} : tensor<f32> -> tensor<1024x1024xf32>
  %sl = sinter.mul %gl, %rl {sinter.device = #sinter.device<gpu, 0>} : tensor<1024x1024xf32>
  %nl = sinter.sub %l, %sl {sinter.device = #sinter.device<gpu, 0>} : tensor<1024x1024xf32>
  %gm = sinter.matmul %gl, %gl {sinter.device = #sinter.device<gpu, 0>} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %rm = sinter.broadcast %rate [] {sinter.device = #sinter.device<gpu, 0>} : tensor<f32> -> tensor<1024x1024xf32>
  %sm = sinter.mul %gm, %rm {sinter.device = #sinter.device<gpu, 0>} : tensor<1024x1024xf32>
  %nm = sinter.sub %m, %sm {sinter.device = #sinter.device<gpu, 0>} : tensor<1024x1024xf32>
  return %np, %nq, %nl, %nm : tensor<256xf32>, tensor<256xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// An update waits for the readers of the old value, so that it can run in place. It is not fused with the sum
// that also comes after these readers.
// CHECK-LABEL: func.func @read_later(
// CHECK: %[[SUM:.*]] = sinter.fusion(%{{.*}} : tensor<8192x256xf32>) -> (tensor<256xf32>)
// CHECK: sinter.fusion({{.*}} -> (tensor<8192x256xf32>)
// CHECK: sinter.fusion({{.*}} -> (tensor<256xf32>) attributes {kind = "map"
func.func @read_later(%x: tensor<8192x256xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %s: tensor<256xf32> {sinter.variable = "s", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<256xf32> {sinter.variable = "s"}, tensor<8192x256xf32> {sinter.output = "y"}) {
  %d = sinter.sum %x [0] {sinter.device = #sinter.device<gpu, 0>} : tensor<8192x256xf32> -> tensor<256xf32>
  %b = sinter.broadcast %s [1] {sinter.device = #sinter.device<gpu, 0>} : tensor<256xf32> -> tensor<8192x256xf32>
  %e = sinter.broadcast %d [1] {sinter.device = #sinter.device<gpu, 0>} : tensor<256xf32> -> tensor<8192x256xf32>
  %m = sinter.mul %x, %b {sinter.device = #sinter.device<gpu, 0>} : tensor<8192x256xf32>
  %y = sinter.sub %m, %e {sinter.device = #sinter.device<gpu, 0>} : tensor<8192x256xf32>
  %n = sinter.sub %s, %d {sinter.device = #sinter.device<gpu, 0>} : tensor<256xf32>
  return %n, %y : tensor<256xf32>, tensor<8192x256xf32>
}
