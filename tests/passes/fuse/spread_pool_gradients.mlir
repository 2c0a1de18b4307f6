// RUN: sinter-opt %s --device=gpu:0 --sinter-spread-pool-gradients --sinter-fuse --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --sinter-spread-pool-gradients --sinter-fuse | FileCheck %s --check-prefix=CPU

// On a GPU the gradient of a pool with disjoint windows is an index map. Together with the mask and the sums
// after it, it is one kernel, and it is stored once.
// CHECK-LABEL: func.func @masked
// CHECK: %[[F:.*]]:2 = sinter.fusion(
// CHECK: sinter.broadcast %{{.*}} [0, 1, 2, 4] : tensor<64x3x13x13xf32> -> tensor<64x3x13x2x13x2xf32>
// CHECK: sinter.reshape %{{.*}} : tensor<64x3x13x2x13x2xf32> -> tensor<64x3x26x26xf32>
// CHECK: sinter.div
// CHECK: sinter.select
// CHECK: sinter.sum
// CHECK-NOT: sinter.fusion
// CHECK-NOT: sinter.avg_pool2d_grad
// CHECK: return %[[F]]
// CPU-LABEL: func.func @masked
// CPU: sinter.avg_pool2d_grad
func.func @masked(%g: tensor<64x3x13x13xf32> {sinter.input = "g"},
                  %m: tensor<64x3x26x26xi1> {sinter.input = "m"})
    -> (tensor<64x3x26x26xf32> {sinter.output = "a"}, tensor<3xf32> {sinter.output = "s"}) {
  %d = sinter.avg_pool2d_grad %g {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : tensor<64x3x13x13xf32> -> tensor<64x3x26x26xf32>
  %z = sinter.constant dense<0.0> : tensor<64x3x26x26xf32>
  %a = sinter.select %m, %d, %z : tensor<64x3x26x26xi1>, tensor<64x3x26x26xf32>
  %s = sinter.sum %a [0, 2, 3] : tensor<64x3x26x26xf32> -> tensor<3xf32>
  return %a, %s : tensor<64x3x26x26xf32>, tensor<3xf32>
}

// Pixels outside all windows are zero; channels may be last.
// CHECK-LABEL: func.func @with_a_rest
// CHECK: sinter.reshape %{{.*}} : tensor<2x4x3x2x2x8xf32> -> tensor<2x12x4x8xf32>
// CHECK: sinter.pad %{{.*}} low [0, 0, 0, 0] high [0, 1, 1, 0]
// CPU-LABEL: func.func @with_a_rest
// CPU: sinter.avg_pool2d_grad
func.func @with_a_rest(%g: tensor<2x4x2x8xf32> {sinter.input = "g"})
    -> (tensor<2x13x5x8xf32> {sinter.output = "a"}) {
  %d = sinter.avg_pool2d_grad %g layout nhwc {window = array<i64: 3, 2>, strides = array<i64: 3, 2>, padding = array<i64: 0, 0, 0, 0>}
      : tensor<2x4x2x8xf32> -> tensor<2x13x5x8xf32>
  %a = sinter.neg %d : tensor<2x13x5x8xf32>
  return %a : tensor<2x13x5x8xf32>
}

// Overlapping windows, readers that are not loops, and CPUs use the catalogue's kernel.
// CHECK-LABEL: func.func @overlapping
// CHECK: sinter.avg_pool2d_grad
func.func @overlapping(%g: tensor<2x3x3x3xf32> {sinter.input = "g"})
    -> (tensor<2x3x5x5xf32> {sinter.output = "a"}) {
  %d = sinter.avg_pool2d_grad %g {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
      : tensor<2x3x3x3xf32> -> tensor<2x3x5x5xf32>
  %a = sinter.neg %d : tensor<2x3x5x5xf32>
  return %a : tensor<2x3x5x5xf32>
}
// CHECK-LABEL: func.func @read_by_the_caller
// CHECK: sinter.avg_pool2d_grad
func.func @read_by_the_caller(%g: tensor<2x3x3x3xf32> {sinter.input = "g"})
    -> (tensor<2x3x6x6xf32> {sinter.output = "a"}) {
  %d = sinter.avg_pool2d_grad %g {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : tensor<2x3x3x3xf32> -> tensor<2x3x6x6xf32>
  return %d : tensor<2x3x6x6xf32>
}
