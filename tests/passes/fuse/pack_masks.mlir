// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline='builtin.module(func.func(sinter-pack-masks{least-bytes=0}))' | FileCheck %s
// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline='builtin.module(func.func(sinter-pack-masks{least-bytes=0},sinter-fuse))' | FileCheck %s --check-prefix=FUSED
// RUN: sinter-opt %s --device=gpu:0 --sinter-pack-masks | FileCheck %s --check-prefix=LARGE
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-pack-masks{least-bytes=0}))' | FileCheck %s --check-prefix=CPU

// A relu behind a sum, and its gradient behind two matmuls. One kernel stores the relu's result and its mask in bits, the
// kernel of the gradient reads the bits.
// CHECK-LABEL: func.func @residual(
// CHECK-DAG: %[[X:.*]] = sinter.reshape %{{.*}} : tensor<1024x64xbf16> -> tensor<1024x8x8xbf16>
// CHECK-DAG: %[[S:.*]] = sinter.reshape %{{.*}} : tensor<64xbf16> -> tensor<8x8xbf16>
// CHECK-DAG: sinter.broadcast %[[S]] [1, 2] {{.*}} : tensor<8x8xbf16> -> tensor<1024x8x8xbf16>
// CHECK: %[[R:.*]] = sinter.relu %{{.*}} : tensor<1024x8x8xbf16>
// CHECK: %[[W:.*]] = sinter.reshape %[[R]] {{.*}} : tensor<1024x8x8xbf16> -> tensor<1024x64xbf16>
// CHECK: %[[K:.*]] = sinter.compare gt %[[R]], %{{.*}} -> tensor<1024x8x8xi1>
// CHECK: %[[U:.*]] = sinter.cast %[[K]] {{.*}} -> tensor<1024x8x8xui8>
// CHECK: %[[I:.*]] = sinter.iota 2 {{.*}} tensor<1024x8x8xui8>
// CHECK: %[[B:.*]] = sinter.shift_left %[[U]], %[[I]]
// CHECK: %[[P:.*]] = sinter.sum %[[B]] [2] {{.*}} : tensor<1024x8x8xui8> -> tensor<1024x8xui8>
// CHECK: sinter.matmul %[[W]]
// CHECK: sinter.broadcast %[[P]] [0, 1] {{.*}} -> tensor<1024x8x8xui8>
// CHECK: sinter.shift_right
// CHECK: %[[M:.*]] = sinter.compare ne
// CHECK: sinter.select %[[M]]
// FUSED-LABEL: func.func @residual(
// FUSED: %[[F:.*]]:2 = sinter.fusion({{.*}}) -> (tensor<1024x8x8xbf16>, tensor<1024x8xui8>)
// FUSED: sinter.fusion({{.*}}%[[F]]#1
// FUSED-NOT: sinter.fusion
// FUSED: return
// LARGE-LABEL: func.func @residual(
// LARGE-NOT: ui8
// LARGE: return
// CPU-LABEL: func.func @residual(
// CPU-NOT: ui8
// CPU: return
func.func @residual(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %y: tensor<1024x64xbf16> {sinter.input = "y"}, %s: tensor<64xbf16> {sinter.input = "s"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}, tensor<64x64xbf16> {sinter.output = "dw"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %scale = sinter.broadcast %s [1] : tensor<64xbf16> -> tensor<1024x64xbf16>
  %scaled = sinter.mul %x, %scale : tensor<1024x64xbf16>
  %sum = sinter.add %scaled, %y : tensor<1024x64xbf16>
  %r = sinter.relu %sum : tensor<1024x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %dr = sinter.matmul %p, %w {transpose_b} : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %dw = sinter.matmul %r, %p {transpose_a} : (tensor<1024x64xbf16>, tensor<1024x64xbf16>) -> tensor<64x64xbf16>
  %mask = sinter.compare gt %r, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %dx = sinter.select %mask, %dr, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  return %dx, %dw : tensor<1024x64xbf16>, tensor<64x64xbf16>
}

// The mask of a clamp is of the sum, which is not in memory: without packing, a byte an element is stored. The clamp is
// computed in the same kernel.
// CHECK-LABEL: func.func @clamp(
// CHECK: sinter.logical_and %{{.*}} : tensor<1024x8x8xi1>
// CHECK: sinter.sum %{{.*}} [2] {{.*}} : tensor<1024x8x8xui8> -> tensor<1024x8xui8>
// FUSED-LABEL: func.func @clamp(
// FUSED: %[[F:.*]]:2 = sinter.fusion({{.*}}) -> (tensor<1024x8x8xbf16>, tensor<1024x8xui8>)
// FUSED: sinter.fusion({{.*}}%[[F]]#1
// FUSED-NOT: sinter.fusion
// FUSED: return
func.func @clamp(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %y: tensor<1024x64xbf16> {sinter.input = "y"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %six = sinter.constant dense<6.0> : tensor<1024x64xbf16>
  %sum = sinter.add %x, %y : tensor<1024x64xbf16>
  %low = sinter.maximum %sum, %zero : tensor<1024x64xbf16>
  %r = sinter.minimum %low, %six : tensor<1024x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %above = sinter.compare ge %sum, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %below = sinter.compare le %sum, %six : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %mask = sinter.logical_and %above, %below : tensor<1024x64xi1>
  %dx = sinter.select %mask, %p, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  return %dx : tensor<1024x64xbf16>
}

// The second sum reads the first relu's result in the order that it has, and its own relu is packed from there.
// CHECK-LABEL: func.func @chain(
// CHECK-COUNT-2: sinter.sum %{{.*}} [2] {{.*}} -> tensor<1024x8xui8>
// FUSED-LABEL: func.func @chain(
// FUSED-COUNT-2: -> (tensor<1024x8x8xbf16>, tensor<1024x8xui8>)
// FUSED: return
func.func @chain(%x: tensor<1024x64xbf16> {sinter.input = "x"}, %y: tensor<1024x64xbf16> {sinter.input = "y"}, %w: tensor<64x64xbf16> {sinter.input = "w"})
    -> (tensor<1024x64xbf16> {sinter.output = "dx"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x64xbf16>
  %sum = sinter.add %x, %y : tensor<1024x64xbf16>
  %r = sinter.relu %sum : tensor<1024x64xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %next = sinter.add %p, %r : tensor<1024x64xbf16>
  %s = sinter.relu %next : tensor<1024x64xbf16>
  %q = sinter.matmul %s, %w : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %mask1 = sinter.compare gt %s, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %ds = sinter.select %mask1, %q, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  %dp = sinter.matmul %ds, %w {transpose_b} : (tensor<1024x64xbf16>, tensor<64x64xbf16>) -> tensor<1024x64xbf16>
  %dr = sinter.add %dp, %ds : tensor<1024x64xbf16>
  %mask0 = sinter.compare gt %r, %zero : tensor<1024x64xbf16> -> tensor<1024x64xi1>
  %dx = sinter.select %mask0, %dr, %zero : tensor<1024x64xi1>, tensor<1024x64xbf16>
  return %dx : tensor<1024x64xbf16>
}
