// RUN: sinter-opt %s --device=gpu:0 --sinter-fuse | FileCheck %s
// RUN: sinter-opt %s --sinter-fuse | FileCheck %s --check-prefix=CPU

// On a GPU small casts of weights are one kernel. A large cast stays close to its reader, and so does a cast
// of another value than a variable.
// CHECK-LABEL: func.func @casts(
// CHECK: sinter.fusion(%{{.*}} : tensor<32x64xf32>) -> (tensor<32x64xbf16>)
// CHECK: sinter.fusion(%{{.*}} : tensor<64x128xf32>, tensor<128x64xf32>) -> (tensor<64x128xbf16>, tensor<128x64xbf16>) attributes {kind = "horizontal"
// CHECK: sinter.fusion(%{{.*}} : tensor<64x16384xf32>) -> (tensor<64x16384xbf16>)
// On a CPU each cast is a kernel.
// CPU-LABEL: func.func @casts(
// CPU-COUNT-4: sinter.fusion({{.*}}) -> (tensor<{{[0-9x]*}}xbf16>) attributes {kind = "map"
// CPU-NOT: sinter.fusion(
// CPU-LABEL: func.func @updates(
func.func @casts(%x: tensor<32x64xf32> {sinter.input = "x"}, %a: tensor<64x128xf32> {sinter.variable = "a"},
                 %b: tensor<128x64xf32> {sinter.variable = "b"},
                 %c: tensor<64x16384xf32> {sinter.variable = "c"})
    -> (tensor<32x16384xbf16> {sinter.output = "y"}) {
  %xn = sinter.cast %x : tensor<32x64xf32> -> tensor<32x64xbf16>
  %an = sinter.cast %a : tensor<64x128xf32> -> tensor<64x128xbf16>
  %h = sinter.matmul %xn, %an : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %bn = sinter.cast %b : tensor<128x64xf32> -> tensor<128x64xbf16>
  %i = sinter.matmul %h, %bn : (tensor<32x128xbf16>, tensor<128x64xbf16>) -> tensor<32x64xbf16>
  %cn = sinter.cast %c : tensor<64x16384xf32> -> tensor<64x16384xbf16>
  %y = sinter.matmul %i, %cn : (tensor<32x64xbf16>, tensor<64x16384xbf16>) -> tensor<32x16384xbf16>
  return %y : tensor<32x16384xbf16>
}

// Updates with the same rate have separate loops although they all read it: no thread handles several
// variables. A large variable joins if its gradient is an input, and does not if this function computes its
// gradient.
// CHECK-LABEL: func.func @updates(
// CHECK: sinter.fusion({{.*}}) -> (tensor<256xf32>, tensor<256xf32>, tensor<1024x1024xf32>) attributes {kind = "horizontal"
// CHECK: sinter.matmul
// CHECK: sinter.fusion({{.*}}) -> (tensor<1024x1024xf32>) attributes {kind = "map"
func.func @updates(%rate: tensor<f32> {sinter.input = "rate"}, %g: tensor<256xf32> {sinter.input = "g"},
                   %gl: tensor<1024x1024xf32> {sinter.input = "gl"},
                   %p: tensor<256xf32> {sinter.variable = "p"}, %q: tensor<256xf32> {sinter.variable = "q"},
                   %l: tensor<1024x1024xf32> {sinter.variable = "l"},
                   %m: tensor<1024x1024xf32> {sinter.variable = "m"})
    -> (tensor<256xf32> {sinter.variable = "p"}, tensor<256xf32> {sinter.variable = "q"}, tensor<1024x1024xf32> {sinter.variable = "l"}, tensor<1024x1024xf32> {sinter.variable = "m"}) {
  %r = sinter.broadcast %rate [] : tensor<f32> -> tensor<256xf32>
  %sp = sinter.mul %g, %r : tensor<256xf32>
  %np = sinter.sub %p, %sp : tensor<256xf32>
  %nq = sinter.mul %q, %r : tensor<256xf32>
  %rl = sinter.broadcast %rate [] : tensor<f32> -> tensor<1024x1024xf32>
  %sl = sinter.mul %gl, %rl : tensor<1024x1024xf32>
  %nl = sinter.sub %l, %sl : tensor<1024x1024xf32>
  %gm = sinter.matmul %gl, %gl : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %rm = sinter.broadcast %rate [] : tensor<f32> -> tensor<1024x1024xf32>
  %sm = sinter.mul %gm, %rm : tensor<1024x1024xf32>
  %nm = sinter.sub %m, %sm : tensor<1024x1024xf32>
  return %np, %nq, %nl, %nm : tensor<256xf32>, tensor<256xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// An update waits for the readers of the old value, so that it can run in place. It is not fused with the sum
// that also comes after these readers.
// CHECK-LABEL: func.func @read_later(
// CHECK: %[[SUM:.*]] = sinter.fusion(%{{.*}} : tensor<8192x256xf32>) -> (tensor<256xf32>)
// CHECK: sinter.fusion({{.*}} -> (tensor<8192x256xf32>)
// CHECK: sinter.fusion({{.*}} -> (tensor<256xf32>) attributes {kind = "map"
func.func @read_later(%x: tensor<8192x256xf32> {sinter.input = "x"}, %s: tensor<256xf32> {sinter.variable = "s"})
    -> (tensor<256xf32> {sinter.variable = "s"}, tensor<8192x256xf32> {sinter.output = "y"}) {
  %d = sinter.sum %x [0] : tensor<8192x256xf32> -> tensor<256xf32>
  %b = sinter.broadcast %s [1] : tensor<256xf32> -> tensor<8192x256xf32>
  %e = sinter.broadcast %d [1] : tensor<256xf32> -> tensor<8192x256xf32>
  %m = sinter.mul %x, %b : tensor<8192x256xf32>
  %y = sinter.sub %m, %e : tensor<8192x256xf32>
  %n = sinter.sub %s, %d : tensor<256xf32>
  return %n, %y : tensor<256xf32>, tensor<8192x256xf32>
}
