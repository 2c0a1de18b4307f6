// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=data terms" --sinter-shard=axes=data --sinter-localise="copied-sum-bytes=16" --canonicalize --cse --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=data terms" --sinter-shard=axes=data --sinter-localise="copied-sum-bytes=33" --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=LARGER
// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=data terms" --sinter-shard=axes=data --sinter-localise --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=COST

// Two ranks send each other their terms, and add both.
// CHECK-LABEL: func.func @two
// CHECK: %[[A:.*]] = sinter.sum %{{.*}} [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK: %[[B:.*]] = sinter.ring_shift %[[A]] by 1 over ["data"] channel 0 {{.*}}: (tensor<8xf32>) -> tensor<8xf32>
// CHECK: sinter.add %[[A]], %[[B]]
// LARGER-LABEL: func.func @two
// LARGER: sinter.all_reduce sum
// LARGER-NOT: sinter.ring_shift
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @two(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] : tensor<8x8xf32> -> tensor<8xf32>
    %b = sinter.broadcast %s [1] : tensor<8xf32> -> tensor<8x8xf32>
    %c = sinter.sub %x, %b : tensor<8x8xf32>
    return %c : tensor<8x8xf32>
  }
}

// -----

// More ranks that all need the sum combine it during the exchange; so are maxima.
// CHECK-LABEL: func.func @four
// LARGER-LABEL: func.func @four
// CHECK: sinter.all_reduce sum
// CHECK: sinter.all_reduce max
module attributes {sinter.mesh = #sinter.mesh<data 4>} {
  func.func @four(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<8x8xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] : tensor<8x8xf32> -> tensor<8xf32>
    %m = sinter.max %x [0] : tensor<8x8xf32> -> tensor<8xf32>
    %t = sinter.add %s, %m : tensor<8xf32>
    %b = sinter.broadcast %t [1] : tensor<8xf32> -> tensor<8x8xf32>
    %c = sinter.sub %x, %b : tensor<8x8xf32>
    return %c : tensor<8x8xf32>
  }
}

// -----

// Several sums travel together.
// CHECK-LABEL: func.func @bucket
// CHECK: %[[B:.*]]:2 = sinter.ring_shift %[[D:.*]], %[[S:.*]] by 1 over ["data"] channel 0
// CHECK-DAG: sinter.add %[[D]], %[[B]]#0
// CHECK-DAG: sinter.add %[[S]], %[[B]]#1
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  sinter.variable @w : tensor<4x3xf32> = normal(0.0, 0.1) seed 7 trainable
  func.func @bucket(%x: tensor<6x4xf32> {sinter.input = "x"}, %w: tensor<4x3xf32> {sinter.variable = @w})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<4x3xf32> {sinter.variable = @w}) {
    %y = sinter.matmul %x, %w : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    %e = sinter.square %y : tensor<6x3xf32>
    %g = sinter.matmul %x, %y {transpose_a} : (tensor<6x4xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
    %s = sinter.sum %e [0, 1] : tensor<6x3xf32> -> tensor<f32>
    %w1 = sinter.sub %w, %g : tensor<4x3xf32>
    return %s, %w1 : tensor<f32>, tensor<4x3xf32>
  }
}

// -----

// Without a size, GPUs do so where the predicted times say that it is faster: not for a small sum. CPUs never
// do.
// COST-LABEL: func.func @large
// COST: sinter.ring_shift {{.*}}tensor<4000000xf32>
// COST-NOT: sinter.all_reduce
// COST-LABEL: func.func @small
// COST: sinter.all_reduce sum
// COST-NOT: sinter.ring_shift
// COST-LABEL: func.func @on_cpus
// COST: sinter.all_reduce sum
// COST-NOT: sinter.ring_shift
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @large(%x: tensor<8x4000000xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4000000xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] {sinter.device = #sinter.device<gpu, 0>} : tensor<8x4000000xf32> -> tensor<4000000xf32>
    return %s : tensor<4000000xf32>
  }
  func.func @small(%x: tensor<8x4000xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4000xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] {sinter.device = #sinter.device<gpu, 0>} : tensor<8x4000xf32> -> tensor<4000xf32>
    return %s : tensor<4000xf32>
  }
  func.func @on_cpus(%x: tensor<8x4000000xf32> {sinter.input = "x"}) -> (tensor<4000000xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] : tensor<8x4000000xf32> -> tensor<4000000xf32>
    return %s : tensor<4000000xf32>
  }
}
