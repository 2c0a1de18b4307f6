// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=data terms" --sinter-shard=axes=data --sinter-localise --canonicalize --cse --mlir-print-local-scope | FileCheck %s

// Each rank reads half of the rows. Loss and gradient are reduced together. The variable has one name: a rank
// has its own copy.
// CHECK: sinter.variable @w
// CHECK-NOT: sinter.variable
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32> {sinter.input = "x", sinter.part = #sinter.part<tensor<6x4xf32> from 0 by [3]>}
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<4x3xf32> {sinter.variable = @w})
// CHECK: %[[D:.*]] = sinter.matmul %[[X]], %{{.*}} {transpose_a} : (tensor<3x4xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[S:.*]] = sinter.sum %{{.*}} [0, 1] : tensor<3x3xf32>
// CHECK: %[[R:.*]]:2 = sinter.all_reduce sum %[[D]], %[[S]] over ["data"] channel 0
// CHECK-NEXT: %[[W:.*]] = sinter.sub %{{.*}}, %[[R]]#0
// CHECK-NEXT: return %[[R]]#1, %[[W]]
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  sinter.variable @w : tensor<4x3xf32> = normal(0.0, 0.1) seed 7 trainable
  func.func @train(%x: tensor<6x4xf32> {sinter.input = "x"}, %w: tensor<4x3xf32> {sinter.variable = @w})
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

// A sum that the batch depends on is reduced immediately. A value is gathered for an op that needs the whole
// batch, and not for an op that needs only its own rows. Equal parts need no list of sizes.
// CHECK-LABEL: func.func @statistics
// CHECK: %[[A:.*]] = sinter.sum %{{.*}} [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK: sinter.all_reduce sum %[[A]] over ["data"] channel 0
// CHECK: sinter.sub {{.*}} : tensor<4x8xf32>
// CHECK: sinter.max {{.*}} : tensor<4x8xf32> -> tensor<4xf32>
// CHECK: sinter.all_gather %{{.*}} sizes [] over ["data"] channel 1{{.*}} : tensor<4xf32> -> tensor<8xf32>
// CHECK: sinter.argmax %{{.*}} dim 0 : tensor<8xf32> -> tensor<i32>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @statistics(%x: tensor<8x8xf32> {sinter.input = "x"}) -> (tensor<i32> {sinter.output = "best"}) {
    %s = sinter.sum %x [0] : tensor<8x8xf32> -> tensor<8xf32>
    %b = sinter.broadcast %s [1] : tensor<8xf32> -> tensor<8x8xf32>
    %c = sinter.sub %x, %b : tensor<8x8xf32>
    %m = sinter.max %c [1] : tensor<8x8xf32> -> tensor<8xf32>
    %a = sinter.argmax %m dim 0 : tensor<8xf32> -> tensor<i32>
    return %a : tensor<i32>
  }
}

// -----

// An embedding's gradient is a sum of partial results; only the rank of coordinate 0 starts from the operand.
// CHECK-LABEL: func.func @tokens
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<5x4xf32> {sinter.variable = @table}
// CHECK-SAME: %[[RANK:[^:]*]]: tensor<i64> {sinter.rank_value = array<i64: 0, 1>}
// CHECK: %[[IS_FIRST:.*]] = sinter.compare eq %[[RANK]]
// CHECK: %[[ALL:.*]] = sinter.broadcast %[[IS_FIRST]]
// CHECK: %[[START:.*]] = sinter.select %[[ALL]], %[[TABLE]], %{{.*}}
// CHECK: %[[SUM:.*]] = sinter.scatter_add %[[START]]
// CHECK: sinter.all_reduce sum %{{.*}}, %[[SUM]] over ["data"] channel 0
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @tokens(%x: tensor<2x3x4xf32> {sinter.input = "x"}, %i: tensor<2x3xi32> {sinter.input = "i"},
                    %table: tensor<5x4xf32> {sinter.variable = @table})
      -> (tensor<4x4xf32> {sinter.output = "gram"}, tensor<5x4xf32> {sinter.variable = @table}) {
    %r = sinter.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %t = sinter.transpose %r [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
    %gram = sinter.matmul %t, %r : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
    %new = sinter.scatter_add %table [%i], %x dim 0 : tensor<5x4xf32>, tensor<2x3xi32>, tensor<2x3x4xf32>
    return %gram, %new : tensor<4x4xf32>, tensor<5x4xf32>
  }
  sinter.variable @table : tensor<5x4xf32> = constant(0.0, 0.0) seed 0
}

// -----

// Readers of sums that travel in a bucket come after everything else.
// CHECK-LABEL: func.func @late
// CHECK: %[[MEAN:.*]] = sinter.sum
// CHECK: %[[W:.*]] = sinter.matmul %{{.*}} {transpose_a}
// CHECK: %[[R:.*]]:2 = sinter.all_reduce sum %[[MEAN]], %[[W]]
// CHECK-NEXT: sinter.maximum %[[R]]#0
// CHECK-NEXT: sinter.sub %{{.*}}, %[[R]]#1
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @late(%x: tensor<8x3xf32> {sinter.input = "x"}, %w: tensor<2x3xf32> {sinter.variable = @v}, %m: tensor<3xf32> {sinter.variable = @mean})
      -> (tensor<3xf32> {sinter.variable = @mean}, tensor<2x3xf32> {sinter.variable = @v}) {
    %s = sinter.sum %x [0] : tensor<8x3xf32> -> tensor<3xf32>
    %r = sinter.maximum %s, %m : tensor<3xf32>
    %y = sinter.matmul %x, %w {transpose_b} : (tensor<8x3xf32>, tensor<2x3xf32>) -> tensor<8x2xf32>
    %g = sinter.matmul %y, %x {transpose_a} : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
    %u = sinter.sub %w, %g : tensor<2x3xf32>
    return %r, %u : tensor<3xf32>, tensor<2x3xf32>
  }
  sinter.variable @v : tensor<2x3xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @mean : tensor<3xf32> = constant(0.0, 0.0) seed 0
}

// -----

// A part of a value that is equal along its rows is made like the whole; rows of any other value are taken at
// this rank's position.
// CHECK-LABEL: func.func @alike
// CHECK-SAME: %[[FIRST:[^:]*]]: tensor<i64> {sinter.rank_value = array<i64: 0, 4>}
// CHECK: %[[I:.*]] = sinter.iota 0 : tensor<4xi64>
// CHECK: %[[F:.*]] = sinter.broadcast %[[FIRST]] []
// CHECK: %[[ROWS:.*]] = sinter.add %[[I]], %[[F]]
// CHECK: sinter.gather %{{.*}}[%[[ROWS]]] dim 0 : tensor<8x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
// CHECK: sinter.broadcast {{.*}} [1] : tensor<3xf32> -> tensor<4x3xf32>
// CHECK: sinter.broadcast {{.*}} [0, 1] : tensor<1x3xf32> -> tensor<4x3xf32>
// CHECK: sinter.iota 1 : tensor<4x3xf32>
// CHECK: sinter.iota 0 origin %[[FIRST]] : tensor<4x3xf32>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @alike(%x: tensor<8x3xf32> {sinter.input = "x"}, %b: tensor<3xf32> {sinter.variable = @b}, %c: tensor<1x3xf32> {sinter.variable = @c}, %d: tensor<8x3xf32> {sinter.variable = @d})
      -> (tensor<3xf32> {sinter.output = "y"}) {
    %p = sinter.broadcast %b [1] : tensor<3xf32> -> tensor<8x3xf32>
    %q = sinter.broadcast %c [0, 1] : tensor<1x3xf32> -> tensor<8x3xf32>
    %i = sinter.iota 1 : tensor<8x3xf32>
    %j = sinter.iota 0 : tensor<8x3xf32>
    %1 = sinter.add %x, %p : tensor<8x3xf32>
    %2 = sinter.add %1, %q : tensor<8x3xf32>
    %3 = sinter.add %2, %i : tensor<8x3xf32>
    %4 = sinter.add %3, %j : tensor<8x3xf32>
    %5 = sinter.add %4, %d : tensor<8x3xf32>
    %y = sinter.sum %5 [0] : tensor<8x3xf32> -> tensor<3xf32>
    return %y : tensor<3xf32>
  }
  sinter.variable @b : tensor<3xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @c : tensor<1x3xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @d : tensor<8x3xf32> = constant(0.0, 0.0) seed 0
}

// -----

// Two gradients of one variable are added on each rank and travel as one; a widened value travels narrow.
// CHECK-LABEL: func.func @twice
// CHECK: %[[A:.*]] = sinter.add {{.*}} : tensor<3x3xf32>
// CHECK: sinter.all_reduce sum %[[A]] over ["data"] channel 0
// CHECK: sinter.all_reduce sum {{.*}} channel 1{{.*}} : (tensor<3x3xbf16>) -> tensor<3x3xbf16>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @twice(%x: tensor<8x3xbf16> {sinter.input = "x"}, %y: tensor<8x3x3xf32> {sinter.input = "y"}, %t: tensor<3x3xf32> {sinter.variable = @t}, %u: tensor<3x3xf32> {sinter.variable = @u})
      -> (tensor<3x3xf32> {sinter.variable = @t}, tensor<3x3xf32> {sinter.variable = @u}) {
    %a = sinter.matmul %x, %x {transpose_a} : (tensor<8x3xbf16>, tensor<8x3xbf16>) -> tensor<3x3xbf16>
    %b = sinter.sum %y [0] : tensor<8x3x3xf32> -> tensor<3x3xf32>
    %w = sinter.cast %a : tensor<3x3xbf16> -> tensor<3x3xf32>
    %g = sinter.add %b, %w : tensor<3x3xf32>
    %z = sinter.neg %x : tensor<8x3xbf16>
    %c = sinter.matmul %z, %x {transpose_a} : (tensor<8x3xbf16>, tensor<8x3xbf16>) -> tensor<3x3xbf16>
    %v = sinter.cast %c : tensor<3x3xbf16> -> tensor<3x3xf32>
    %t1 = sinter.sub %t, %g : tensor<3x3xf32>
    %u1 = sinter.sub %u, %v : tensor<3x3xf32>
    return %t1, %u1 : tensor<3x3xf32>, tensor<3x3xf32>
  }
  sinter.variable @t : tensor<3x3xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @u : tensor<3x3xf32> = constant(0.0, 0.0) seed 0
}

// -----

// One of several axes shares the batch. New ops are on the device of the op that they replace.
// CHECK-LABEL: func.func @placed
// CHECK-SAME: sinter.part = #sinter.part<tensor<8x3xf32> from 0 by [4, 0]>
// CHECK: sinter.all_reduce sum %{{.*}} over ["data"] channel 0 {{{.*}}sinter.device = #sinter.device<gpu, 1>}
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 4>} {
  func.func @placed(%x: tensor<8x3xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 1>}) -> (tensor<3xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] {sinter.device = #sinter.device<gpu, 1>} : tensor<8x3xf32> -> tensor<3xf32>
    return %s : tensor<3xf32>
  }
}

// -----

// A function that updates nothing may have a batch that does not divide: every rank computes it whole.
// CHECK-LABEL: func.func @next
// CHECK-SAME: tensor<1x3xf32> {sinter.input = "x"})
// CHECK-NOT: over
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @next(%x: tensor<1x3xf32> {sinter.input = "x"}) -> (tensor<3xf32> {sinter.output = "y"}) {
    %s = sinter.sum %x [0] : tensor<1x3xf32> -> tensor<3xf32>
    return %s : tensor<3xf32>
  }
}

// -----

// A gradient of 16 bits travels before it is cast, also if a loss scale divides it after the cast, and once.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[G:.*]] = sinter.matmul %{{.*}} {transpose_a} : {{.*}} -> tensor<3x2xbf16>
// CHECK: %[[SUM:.*]] = sinter.all_reduce sum %[[G]] over ["data"] channel 0
// CHECK: %[[WIDE:.*]] = sinter.cast %[[SUM]]
// CHECK: %[[UNSCALED:.*]] = sinter.mul %[[WIDE]]
// CHECK-NOT: sinter.all_reduce
// CHECK: sinter.sub %{{.*}}, %[[UNSCALED]]
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @scaled(%x: tensor<8x3xbf16> {sinter.input = "x"}, %y: tensor<8x2xbf16> {sinter.input = "y"}, %w: tensor<3x2xf32> {sinter.variable = @w}, %scale: tensor<3x2xf32> {sinter.variable = @scale})
      -> (tensor<3x2xf32> {sinter.variable = @w}) {
    %g = sinter.matmul %x, %y {transpose_a} : (tensor<8x3xbf16>, tensor<8x2xbf16>) -> tensor<3x2xbf16>
    %wide = sinter.cast %g : tensor<3x2xbf16> -> tensor<3x2xf32>
    %unscaled = sinter.mul %wide, %scale : tensor<3x2xf32>
    %new = sinter.sub %w, %unscaled : tensor<3x2xf32>
    return %new : tensor<3x2xf32>
  }
  sinter.variable @w : tensor<3x2xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @scale : tensor<3x2xf32> = constant(1.0, 0.0) seed 0
}

// -----

// Parts of parts are gathered from the inside: the ranks along `data` have neighbouring rows.
// CHECK: sinter.variable @w : tensor<2x3xf32>
// CHECK-SAME: sinter.box = #sinter.box<[2 of 8 from [0, 2, 4], 3] of tensor<8x3xf32>>
// CHECK-LABEL: func.func @parts_of_parts
// CHECK: %[[ROWS:.*]] = sinter.all_gather %{{.*}} sizes [] over ["data"] channel 0{{.*}} : tensor<2x3xf32> -> tensor<4x3xf32>
// CHECK: sinter.all_gather %[[ROWS]] sizes [] over ["tensor"] channel 1{{.*}} : tensor<4x3xf32> -> tensor<8x3xf32>
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @w : tensor<8x3xf32> = constant(0.0, 0.0) seed 0 {sinter.sharding = #sinter.sharding<[8 tensor data, 3]>, sinter.stored = ["data"]}
  func.func @parts_of_parts(%w: tensor<8x3xf32> {sinter.variable = @w}) -> (tensor<8x3xf32> {sinter.output = "w"}) {
    return %w : tensor<8x3xf32>
  }
}

// -----

// Gradients that are accumulated over several runs stay terms: the runs that add them exchange the loss alone. A
// gradient that every rank has whole is a term of the first one. The update exchanges all sums together, for its
// readers; what stays of the terms needs no exchange.
// CHECK: sinter.variable @sum : tensor<4x3xf32> {{.*}} {sinter.accumulator, sinter.sum_axes = ["data"]}
// CHECK: sinter.variable @count : tensor<i64>
// CHECK-NOT: sum_axes
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[SUM:[^:]*]]: tensor<4x3xf32> {sinter.variable = @sum}
// CHECK-SAME: %[[OTHER:[^:]*]]: tensor<3xf32> {sinter.variable = @other}
// CHECK-SAME: %[[W:[^:]*]]: tensor<3xf32> {sinter.variable = @w}
// CHECK-SAME: {sinter.rank_value = array<i64: 0, 1>}
// CHECK: %[[OWN:.*]] = sinter.select %{{.*}}, %[[W]], %{{.*}} : tensor<3xi1>, tensor<3xf32>
// CHECK: %[[G:.*]] = sinter.matmul
// CHECK: %[[NEW:.*]] = sinter.add %[[SUM]], %[[G]]
// CHECK: %[[OTHERS:.*]] = sinter.add %[[OTHER]], %[[OWN]]
// CHECK: %[[LOSS:.*]] = sinter.all_reduce sum %{{[^,]*}} over ["data"]
// CHECK-NOT: sinter.all_reduce
// CHECK: return %[[LOSS]], %[[NEW]], %[[OTHERS]]
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[SUM:[^:]*]]: tensor<4x3xf32> {sinter.variable = @sum}
// CHECK-SAME: %[[OTHER:[^:]*]]: tensor<3xf32> {sinter.variable = @other}
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<4x3xf32>
// CHECK-DAG: %[[KEPT:.*]] = sinter.select %{{.*}}, %[[ZERO]], %[[SUM]]
// CHECK-DAG: %[[ALL:.*]]:2 = sinter.all_reduce sum %[[SUM]], %[[OTHER]] over ["data"]
// CHECK: sinter.div %[[ALL]]#0
// CHECK-NOT: sinter.all_reduce
// CHECK: return %{{.*}}, %{{.*}}, %[[KEPT]]
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  sinter.variable @sum : tensor<4x3xf32> = constant(0.0, 0.0) seed 0 {sinter.accumulator}
  sinter.variable @other : tensor<3xf32> = constant(0.0, 0.0) seed 0 {sinter.accumulator}
  sinter.variable @count : tensor<i64> = constant(0.0, 0.0) seed 0 {sinter.accumulator}
  sinter.variable @w : tensor<3xf32> = normal(0.0, 0.1) seed 7 trainable
  func.func @accumulate(%x: tensor<6x4xf32> {sinter.input = "x"}, %y: tensor<6x3xf32> {sinter.input = "y"},
                        %sum: tensor<4x3xf32> {sinter.variable = @sum}, %other: tensor<3xf32> {sinter.variable = @other},
                        %w: tensor<3xf32> {sinter.variable = @w})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<4x3xf32> {sinter.variable = @sum}, tensor<3xf32> {sinter.variable = @other}) {
    %g = sinter.matmul %x, %y {transpose_a} : (tensor<6x4xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
    %new = sinter.add %sum, %g : tensor<4x3xf32>
    %others = sinter.add %other, %w : tensor<3xf32>
    %s = sinter.sum %y [0, 1] : tensor<6x3xf32> -> tensor<f32>
    return %s, %new, %others : tensor<f32>, tensor<4x3xf32>, tensor<3xf32>
  }
  func.func @update(%sum: tensor<4x3xf32> {sinter.variable = @sum}, %other: tensor<3xf32> {sinter.variable = @other},
                    %counts: tensor<i1> {sinter.input = "counts"}, %n: tensor<f32> {sinter.input = "n"})
      -> (tensor<4x3xf32> {sinter.output = "mean"}, tensor<3xf32> {sinter.output = "root"}, tensor<4x3xf32> {sinter.variable = @sum}) {
    %zero = sinter.constant dense<0.0> : tensor<4x3xf32>
    %all_n = sinter.broadcast %n [] : tensor<f32> -> tensor<4x3xf32>
    %all_counts = sinter.broadcast %counts [] : tensor<i1> -> tensor<4x3xi1>
    %mean = sinter.div %sum, %all_n : tensor<4x3xf32>
    %root = sinter.sqrt %other : tensor<3xf32>
    %kept = sinter.select %all_counts, %zero, %sum : tensor<4x3xi1>, tensor<4x3xf32>
    return %mean, %root, %kept : tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>
  }
}

// -----

// A part of an iota begins at a number of the rank, on the device of its reader.
// CHECK-LABEL: func.func @numbered
// CHECK: sinter.iota 0 origin %{{[a-z0-9]+}} {sinter.device = #sinter.device<gpu, 1>} : tensor<4x3xi32>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  func.func @numbered(%x: tensor<8x3xi32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 1>}) -> (tensor<3xi32> {sinter.output = "y"}) {
    %i = sinter.iota 0 : tensor<8x3xi32>
    %n = sinter.mul %x, %i {sinter.device = #sinter.device<gpu, 1>} : tensor<8x3xi32>
    %s = sinter.sum %n [0] {sinter.device = #sinter.device<gpu, 1>} : tensor<8x3xi32> -> tensor<3xi32>
    return %s : tensor<3xi32>
  }
}
