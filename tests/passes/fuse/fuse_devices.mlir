// RUN: sinter-opt %s --device=gpu:0 --sinter-fuse --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --device=cpu:0 --sinter-fuse | FileCheck %s --check-prefix=CPU

sinter.variable @v : tensor<4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @w : tensor<4xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>}

// A kernel runs on one device; the fusion has the device attribute instead of its ops. A copy stays between
// kernels. The variable updates are one kernel for each device.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]] = sinter.fusion(%{{.*}}) -> {{.*}}sinter.device = #sinter.device<gpu, 0>
// CHECK: sinter.exp %{{.*}} : tensor<4xf32>
// CHECK: sinter.neg %{{.*}} : tensor<4xf32>
// CHECK: %[[C:.*]] = sinter.copy %[[A]] to <gpu, 1>
// CHECK: %[[W:.*]] = sinter.fusion(%{{.*}}, %[[C]]{{.*}}sinter.device = #sinter.device<gpu, 1>
// CHECK: %[[D:.*]] = sinter.clone %[[A]] {sinter.device = #sinter.device<gpu, 0>}
// CHECK: %[[V:.*]] = sinter.fusion(%{{.*}}, %[[D]]{{.*}}sinter.device = #sinter.device<gpu, 0>
// CHECK: return %[[V]], %[[W]]
func.func @step(%x: tensor<4xf32> {sinter.input = "x"},
                %v: tensor<4xf32> {sinter.variable = @v},
                %w: tensor<4xf32> {sinter.variable = @w})
    -> (tensor<4xf32> {sinter.variable = @v}, tensor<4xf32> {sinter.variable = @w}) {
  %a = sinter.exp %x : tensor<4xf32>
  %b = sinter.neg %a : tensor<4xf32>
  %c = sinter.copy %b to <gpu, 1> : tensor<4xf32>
  %n = sinter.sub %w, %c : tensor<4xf32>
  %d = sinter.clone %b : tensor<4xf32>
  %m = sinter.sub %v, %d : tensor<4xf32>
  return %m, %n : tensor<4xf32>, tensor<4xf32>
}

// Chunked column sums: a GPU kernel also stores values that depend on no sum; a CPU kernel does not.
// CHECK-LABEL: func.func @sums
// CHECK-COUNT-1: sinter.fusion(
// CHECK-NOT: sinter.fusion(
// CHECK: return
// CPU-LABEL: func.func @sums
// CPU-COUNT-2: sinter.fusion(
// CPU: return
func.func @sums(%x: tensor<8192x256xf32> {sinter.input = "x"})
    -> (tensor<8192x256xf32> {sinter.output = "a"}, tensor<256xf32> {sinter.output = "s"}) {
  %a = sinter.exp %x : tensor<8192x256xf32>
  %s = sinter.sum %a [0] : tensor<8192x256xf32> -> tensor<256xf32>
  return %a, %s : tensor<8192x256xf32>, tensor<256xf32>
}

// A value that depends on the sum has a separate loop on both.
// CHECK-LABEL: func.func @shifted
// CHECK-COUNT-2: sinter.fusion(
// CHECK: return
// CPU-LABEL: func.func @shifted
// CPU-COUNT-2: sinter.fusion(
// CPU: return
func.func @shifted(%x: tensor<8192x256xf32> {sinter.input = "x"})
    -> (tensor<8192x256xf32> {sinter.output = "y"}) {
  %s = sinter.sum %x [0] : tensor<8192x256xf32> -> tensor<256xf32>
  %b = sinter.broadcast %s [1] : tensor<256xf32> -> tensor<8192x256xf32>
  %y = sinter.sub %x, %b : tensor<8192x256xf32>
  return %y : tensor<8192x256xf32>
}

sinter.variable @a : tensor<1024x1024xf32> = constant(0.0, 0.0) seed 0
sinter.variable @b : tensor<2048x1024xf32> = constant(0.0, 0.0) seed 0
sinter.variable @c : tensor<16xf32> = constant(0.0, 0.0) seed 0
sinter.variable @d : tensor<8xf32> = constant(0.0, 0.0) seed 0

// Updates are one kernel, also large ones if this function computes no gradient that may still be in the
// cache.
// CHECK-LABEL: func.func @updates
// CHECK-COUNT-1: sinter.fusion(
// CHECK-NOT: sinter.fusion(
// CHECK: return
func.func @updates(%a: tensor<1024x1024xf32> {sinter.variable = @a},
                   %b: tensor<2048x1024xf32> {sinter.variable = @b},
                   %c: tensor<16xf32> {sinter.variable = @c},
                   %d: tensor<8xf32> {sinter.variable = @d})
    -> (tensor<1024x1024xf32> {sinter.variable = @a}, tensor<2048x1024xf32> {sinter.variable = @b},
        tensor<16xf32> {sinter.variable = @c}, tensor<8xf32> {sinter.variable = @d}) {
  %0 = sinter.exp %a : tensor<1024x1024xf32>
  %1 = sinter.exp %b : tensor<2048x1024xf32>
  %2 = sinter.exp %c : tensor<16xf32>
  %3 = sinter.exp %d : tensor<8xf32>
  return %0, %1, %2, %3 : tensor<1024x1024xf32>, tensor<2048x1024xf32>, tensor<16xf32>, tensor<8xf32>
}
