// RUN: sinter-opt %s --device=cpu:0 --pass-pipeline='builtin.module(func.func(sinter-fuse{most-buffers=5}))' | FileCheck %s

sinter.variable @a : tensor<4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @b : tensor<5xf32> = constant(0.0, 0.0) seed 0
sinter.variable @c : tensor<6xf32> = constant(0.0, 0.0) seed 0

// Updates of two variables read three values and write two. The third update would need two more buffers, so
// it starts a new kernel.
// CHECK-LABEL: func.func @updates(
// CHECK: %[[AB:.*]]:2 = sinter.fusion({{.*}}) -> (tensor<4xf32>, tensor<5xf32>) attributes {kind = "horizontal"
// CHECK: %[[C:.*]] = sinter.fusion({{.*}}) -> (tensor<6xf32>) attributes {kind = "map"
// CHECK: return %[[AB]]#0, %[[AB]]#1, %[[C]]
func.func @updates(%a: tensor<4xf32> {sinter.variable = @a}, %b: tensor<5xf32> {sinter.variable = @b},
                   %c: tensor<6xf32> {sinter.variable = @c}, %rate: tensor<f32> {sinter.input = "rate"})
    -> (tensor<4xf32> {sinter.variable = @a}, tensor<5xf32> {sinter.variable = @b}, tensor<6xf32> {sinter.variable = @c}) {
  %ra = sinter.broadcast %rate [] : tensor<f32> -> tensor<4xf32>
  %rb = sinter.broadcast %rate [] : tensor<f32> -> tensor<5xf32>
  %rc = sinter.broadcast %rate [] : tensor<f32> -> tensor<6xf32>
  %na = sinter.mul %a, %ra : tensor<4xf32>
  %nb = sinter.mul %b, %rb : tensor<5xf32>
  %nc = sinter.mul %c, %rc : tensor<6xf32>
  return %na, %nb, %nc : tensor<4xf32>, tensor<5xf32>, tensor<6xf32>
}

// Casts of variables on a GPU: each reads one value and writes one.
// CHECK-LABEL: func.func @casts(
// CHECK: sinter.fusion({{.*}}) -> (tensor<8x8xbf16>, tensor<8x9xbf16>) attributes {kind = "horizontal"
// CHECK: sinter.fusion({{.*}}) -> (tensor<9x8xbf16>) attributes {kind = "map"
func.func @casts(%x: tensor<8x8xf32> {sinter.variable = @x, sinter.device = #sinter.device<gpu, 0>},
                 %y: tensor<8x9xf32> {sinter.variable = @y, sinter.device = #sinter.device<gpu, 0>},
                 %z: tensor<9x8xf32> {sinter.variable = @z, sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<8x8xbf16> {sinter.output = "p"}) {
  %cx = sinter.cast %x : tensor<8x8xf32> -> tensor<8x8xbf16>
  %cy = sinter.cast %y : tensor<8x9xf32> -> tensor<8x9xbf16>
  %cz = sinter.cast %z : tensor<9x8xf32> -> tensor<9x8xbf16>
  %xy = sinter.matmul %cx, %cy : (tensor<8x8xbf16>, tensor<8x9xbf16>) -> tensor<8x9xbf16>
  %p = sinter.matmul %xy, %cz : (tensor<8x9xbf16>, tensor<9x8xbf16>) -> tensor<8x8xbf16>
  return %p : tensor<8x8xbf16>
}

// A value with five readers would be one kernel of six buffers.
// CHECK-LABEL: func.func @results(
// CHECK: sinter.fusion({{.*}}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {kind = "map"
// CHECK: sinter.fusion({{.*}}) -> (tensor<4xf32>) attributes {kind = "map"
func.func @results(%x: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<4xf32> {sinter.output = "a"}, tensor<4xf32> {sinter.output = "b"}, tensor<4xf32> {sinter.output = "c"},
        tensor<4xf32> {sinter.output = "d"}, tensor<4xf32> {sinter.output = "e"}) {
  %a = sinter.exp %x : tensor<4xf32>
  %b = sinter.sin %a : tensor<4xf32>
  %c = sinter.cos %a : tensor<4xf32>
  %d = sinter.tanh %a : tensor<4xf32>
  %e = sinter.neg %a : tensor<4xf32>
  return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
