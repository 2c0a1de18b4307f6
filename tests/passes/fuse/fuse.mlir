// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse{enable=false}))' | FileCheck %s --check-prefix=OFF

// Reductions along the same dimension with their producers and consumers are one kernel. The constant is
// copied in.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[Y:.*]] = sinter.fusion(%arg0 : tensor<8x16xf32>) -> (tensor<8x16xf32>) attributes {kind = "row"} {
// CHECK: sinter.constant dense<2.000000e+00>
// CHECK: sinter.max
// CHECK: sinter.exp
// CHECK: sinter.sum
// CHECK: sinter.div
// CHECK: sinter.yield
// CHECK-NOT: sinter.fusion
// CHECK: return %[[Y]]
// OFF-LABEL: func.func @softmax
// OFF: sinter.mul
// OFF: sinter.yield
// OFF: sinter.fusion
// OFF: sinter.max
// OFF: sinter.yield
// OFF: sinter.fusion
// OFF: sinter.broadcast
// OFF: sinter.sub
// OFF: sinter.yield
func.func @softmax(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c = sinter.constant dense<2.0> : tensor<8x16xf32>
  %z = sinter.mul %x, %c : tensor<8x16xf32>
  %m = sinter.max %z [1] : tensor<8x16xf32> -> tensor<8xf32>
  %mb = sinter.broadcast %m [0] : tensor<8xf32> -> tensor<8x16xf32>
  %s = sinter.sub %z, %mb : tensor<8x16xf32>
  %e = sinter.exp %s : tensor<8x16xf32>
  %t = sinter.sum %e [1] : tensor<8x16xf32> -> tensor<8xf32>
  %tb = sinter.broadcast %t [0] : tensor<8xf32> -> tensor<8x16xf32>
  %y = sinter.div %e, %tb : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// A column reduction fuses with its producer, which has other readers too, and with the pointwise op after
// it. The kernel has two outputs of different shapes.
// CHECK-LABEL: func.func @column
// CHECK: sinter.fusion({{.*}}) -> (tensor<32x4xf32>, tensor<4xf32>) attributes {kind = "row"} {
// CHECK-NOT: sinter.fusion
// CHECK: sinter.matmul
func.func @column(%g: tensor<32x4xf32>, %b: tensor<4xf32>, %w: tensor<4x4xf32>) -> (tensor<32x4xf32>, tensor<4xf32>) {
  %d = sinter.tanh %g : tensor<32x4xf32>
  %s = sinter.sum %d [0] : tensor<32x4xf32> -> tensor<4xf32>
  %n = sinter.sub %b, %s : tensor<4xf32>
  %y = sinter.matmul %d, %w : (tensor<32x4xf32>, tensor<4x4xf32>) -> tensor<32x4xf32>
  return %y, %n : tensor<32x4xf32>, tensor<4xf32>
}

// Two kernels that read the same large value are merged. A small value does not justify merging.
// CHECK-LABEL: func.func @siblings
// CHECK: sinter.fusion(%arg0 : tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) attributes {kind = "map"}
// CHECK: sinter.fusion(%arg1 : tensor<8xf32>) -> (tensor<8xf32>)
// CHECK: sinter.fusion(%arg1 : tensor<8xf32>) -> (tensor<8xf32>)
func.func @siblings(%x: tensor<64x32xf32>, %y: tensor<8xf32>)
    -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = sinter.exp %x : tensor<64x32xf32>
  %b = sinter.tanh %x : tensor<64x32xf32>
  %c = sinter.exp %y : tensor<8xf32>
  %d = sinter.tanh %y : tensor<8xf32>
  return %a, %b, %c, %d : tensor<64x32xf32>, tensor<64x32xf32>, tensor<8xf32>, tensor<8xf32>
}

// Updates of variables of different shapes are one kernel. An output does not wait for it.
// CHECK-LABEL: func.func @updates
// CHECK: sinter.fusion({{.*}}) -> (tensor<4x4xf32>, tensor<7xf32>) attributes {kind = "horizontal"}
// CHECK: sinter.fusion(%arg2 : tensor<5xf32>) -> (tensor<5xf32>) attributes {kind = "map"}
sinter.variable @w : tensor<4x4xf32> = constant(0.0, 0.0) seed 0 trainable
sinter.variable @b : tensor<7xf32> = constant(0.0, 0.0) seed 0 trainable
func.func @updates(%w: tensor<4x4xf32> {sinter.variable = @w}, %b: tensor<7xf32> {sinter.variable = @b},
                   %x: tensor<5xf32> {sinter.input = "x"})
    -> (tensor<4x4xf32> {sinter.variable = @w}, tensor<7xf32> {sinter.variable = @b}, tensor<5xf32> {sinter.output = "y"}) {
  %nw = sinter.neg %w : tensor<4x4xf32>
  %nb = sinter.neg %b : tensor<7xf32>
  %y = sinter.neg %x : tensor<5xf32>
  return %nw, %nb, %y : tensor<4x4xf32>, tensor<7xf32>, tensor<5xf32>
}

// Updates that read one slice in loops of two shapes are two kernels; updates of one shape share it.
// CHECK-LABEL: func.func @updates_of_a_slice
// CHECK-DAG: sinter.fusion({{.*}}) -> (tensor<4x5xf32>, tensor<4x5xf32>) attributes {kind = "map"}
// CHECK-DAG: sinter.fusion({{.*}}) -> (tensor<4x7xf32>) attributes {kind = "map"}
// CHECK-NOT: sinter.fusion
// CHECK: return
sinter.variable @u : tensor<4x5xf32> = constant(0.0, 0.0) seed 0 trainable
sinter.variable @v : tensor<4x7xf32> = constant(0.0, 0.0) seed 0 trainable
sinter.variable @z : tensor<4x5xf32> = constant(0.0, 0.0) seed 0 trainable
func.func @updates_of_a_slice(%u: tensor<4x5xf32> {sinter.variable = @u}, %v: tensor<4x7xf32> {sinter.variable = @v},
                              %z: tensor<4x5xf32> {sinter.variable = @z}, %rates: tensor<8xf32> {sinter.input = "rates"})
    -> (tensor<4x5xf32> {sinter.variable = @u}, tensor<4x7xf32> {sinter.variable = @v}, tensor<4x5xf32> {sinter.variable = @z}) {
  %s = sinter.slice %rates [0] [8] [2] : tensor<8xf32> -> tensor<4xf32>
  %wide = sinter.broadcast %s [0] : tensor<4xf32> -> tensor<4x5xf32>
  %wider = sinter.broadcast %s [0] : tensor<4xf32> -> tensor<4x7xf32>
  %nu = sinter.sub %u, %wide : tensor<4x5xf32>
  %nv = sinter.sub %v, %wider : tensor<4x7xf32>
  %nz = sinter.sub %z, %wide : tensor<4x5xf32>
  return %nu, %nv, %nz : tensor<4x5xf32>, tensor<4x7xf32>, tensor<4x5xf32>
}

// Index maps fuse as well: a concat of a value from the same kernel, with a loop for each part,
// CHECK-LABEL: func.func @concat
// CHECK: sinter.fusion(%arg0, %arg1 : tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>) attributes {kind = "horizontal"}
// CHECK: sinter.neg
// CHECK: sinter.concat
func.func @concat(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %n = sinter.neg %x : tensor<4xf32>
  %c = sinter.concat %n, %y dim 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// with one loop for the parts that share their operands, although each costs too much to choose from,
// CHECK-LABEL: func.func @gated_gradient
// CHECK: sinter.fusion({{.*}}) -> (tensor<64x128xf32>) attributes {kind = "map"}
// CHECK: sinter.concat
// CHECK-NOT: sinter.fusion
func.func @gated_gradient(%x: tensor<64x128xf32>, %g: tensor<64x64xf32>) -> tensor<64x128xf32> {
  %gate = sinter.slice %x [0, 0] [64, 64] [1, 1] : tensor<64x128xf32> -> tensor<64x64xf32>
  %up = sinter.slice %x [0, 64] [64, 128] [1, 1] : tensor<64x128xf32> -> tensor<64x64xf32>
  %s = sinter.sigmoid %gate : tensor<64x64xf32>
  %e = sinter.exp %s : tensor<64x64xf32>
  %p = sinter.mul %e, %up : tensor<64x64xf32>
  %q = sinter.mul %p, %g : tensor<64x64xf32>
  %r = sinter.mul %e, %g : tensor<64x64xf32>
  %c = sinter.concat %q, %r dim 1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x128xf32>
  return %c : tensor<64x128xf32>
}

// and a transpose of one.
// CHECK-LABEL: func.func @transposed
// CHECK: sinter.fusion(%arg0 : tensor<4x6xf32>) -> (tensor<6x4xf32>) attributes {kind = "map"}
// CHECK: sinter.exp
// CHECK: sinter.transpose
func.func @transposed(%x: tensor<4x6xf32>, %w: tensor<4x2xf32>) -> tensor<6x2xf32> {
  %e = sinter.exp %x : tensor<4x6xf32>
  %t = sinter.transpose %e [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %y = sinter.matmul %t, %w : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  return %y : tensor<6x2xf32>
}

// Each reader recomputes a mask made of iotas. An operand of a library call is stored, even if it is
// constant.
// CHECK-LABEL: func.func @masks
// CHECK: sinter.fusion() -> (tensor<64x64xf32>)
// CHECK: sinter.constant
// CHECK: sinter.fusion(%arg0 : tensor<64x64xf32>) -> (tensor<64x64xf32>)
// CHECK: sinter.compare
// CHECK: %[[H:.*]] = sinter.matmul
// CHECK: sinter.fusion(%[[H]] : tensor<64x64xf32>) -> (tensor<64x64xf32>)
// CHECK: sinter.compare
func.func @masks(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %i = sinter.iota 0 : tensor<64x64xi32>
  %j = sinter.iota 1 : tensor<64x64xi32>
  %m = sinter.compare ge %i, %j : tensor<64x64xi32> -> tensor<64x64xi1>
  %z = sinter.constant dense<0.0> : tensor<64x64xf32>
  %a = sinter.select %m, %x, %z : tensor<64x64xi1>, tensor<64x64xf32>
  %h = sinter.matmul %a, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = sinter.select %m, %h, %z : tensor<64x64xi1>, tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}

// Stored constants and reshapes remain. Dead ops are removed.
// CHECK-LABEL: func.func @left
// CHECK-NEXT: sinter.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT: sinter.reshape
// CHECK-NEXT: return
func.func @left(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %dead = sinter.exp %c : tensor<2xf32>
  %r = sinter.reshape %x : tensor<2x3xf32> -> tensor<3x2xf32>
  return %c, %r : tensor<2xf32>, tensor<3x2xf32>
}

// %p and %c may be one kernel that starts before %b and ends after the matmul. Then %b must not fuse with %a:
// the kernels would form a cycle.
// CHECK-LABEL: func.func @path_behind_the_consumer
// CHECK: %[[A:.*]] = sinter.fusion({{.*}}) -> (tensor<8x8xf32>)
// CHECK: %[[M:.*]] = sinter.matmul %[[A]], %{{.*}}
// CHECK: %{{.*}} = sinter.fusion({{.*}}%[[M]]
func.func @path_behind_the_consumer(%x: tensor<8x8xf32>, %y: tensor<8x8xf64>) -> (tensor<8x8xf32>, tensor<8x8xf64>) {
  %a = sinter.exp %x : tensor<8x8xf32>
  %p = sinter.exp %y : tensor<8x8xf64>
  %n = sinter.cast %p : tensor<8x8xf64> -> tensor<8x8xf32>
  %b = sinter.add %a, %n : tensor<8x8xf32>
  %m = sinter.matmul %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = sinter.cast %m : tensor<8x8xf32> -> tensor<8x8xf64>
  %c = sinter.add %p, %w : tensor<8x8xf64>
  return %b, %c : tensor<8x8xf32>, tensor<8x8xf64>
}
