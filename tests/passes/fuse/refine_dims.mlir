// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline='builtin.module(func.func(sinter-refine-dims,cse))' | FileCheck %s
// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-refine-dims,cse))' | FileCheck %s --check-prefix=CPU

// Rows of groups: both reshapes disappear, and the statistics become reductions along three dimensions.
// A CPU keeps the rows of a reduction in one loop.
// CPU-LABEL: func.func @group_norm
// CPU: sinter.sum %{{.*}} [2] : tensor<8x2x70xf32>
// CHECK-LABEL: func.func @group_norm
// CHECK: %[[X:.*]] = sinter.reshape %arg0{{.*}}: tensor<8x4x5x7xf32> -> tensor<8x2x2x5x7xf32>
// CHECK: %[[SQ:.*]] = sinter.square %[[X]]{{.*}}: tensor<8x2x2x5x7xf32>
// CHECK: %[[S:.*]] = sinter.sum %[[SQ]] [2, 3, 4]{{.*}}: tensor<8x2x2x5x7xf32> -> tensor<8x2xf32>
// CHECK: %[[R:.*]] = sinter.rsqrt %[[S]]{{.*}}: tensor<8x2xf32>
// CHECK: %[[B:.*]] = sinter.broadcast %[[R]] [0, 1]{{.*}}: tensor<8x2xf32> -> tensor<8x2x2x5x7xf32>
// CHECK: %[[N:.*]] = sinter.mul %[[X]], %[[B]]
// CHECK: %[[SCALE:.*]] = sinter.reshape %arg1{{.*}}: tensor<4xf32> -> tensor<2x2xf32>
// CHECK: %[[SB:.*]] = sinter.broadcast %[[SCALE]] [1, 2]{{.*}}: tensor<2x2xf32> -> tensor<8x2x2x5x7xf32>
// CHECK: %[[Y:.*]] = sinter.mul %[[N]], %[[SB]]
// CHECK: sinter.reshape %[[Y]]{{.*}}: tensor<8x2x2x5x7xf32> -> tensor<8x4x5x7xf32>
func.func @group_norm(%x: tensor<8x4x5x7xf32>, %scale: tensor<4xf32>) -> tensor<8x4x5x7xf32> {
  %g = sinter.reshape %x : tensor<8x4x5x7xf32> -> tensor<8x2x70xf32>
  %sq = sinter.square %g : tensor<8x2x70xf32>
  %s = sinter.sum %sq [2] : tensor<8x2x70xf32> -> tensor<8x2xf32>
  %k = sinter.reshape %s : tensor<8x2xf32> -> tensor<8x2x1xf32>
  %r = sinter.rsqrt %k : tensor<8x2x1xf32>
  %b = sinter.broadcast %r [0, 1, 2] : tensor<8x2x1xf32> -> tensor<8x2x70xf32>
  %n = sinter.mul %g, %b : tensor<8x2x70xf32>
  %image = sinter.reshape %n : tensor<8x2x70xf32> -> tensor<8x4x5x7xf32>
  %sb = sinter.broadcast %scale [1] : tensor<4xf32> -> tensor<8x4x5x7xf32>
  %y = sinter.mul %image, %sb : tensor<8x4x5x7xf32>
  return %y : tensor<8x4x5x7xf32>
}

// The dimension that a reduction keeps disappears, so that all values of rows have one shape.
// CHECK-LABEL: func.func @kept_dims
// CHECK-NOT: sinter.reshape
// CHECK: %[[E:.*]] = sinter.constant dense<1.000000e+00>{{.*}}: tensor<16xf32>
// CHECK: sinter.maximum %{{.*}}, %[[E]]{{.*}}: tensor<16xf32>
// CHECK: sinter.broadcast %{{.*}} [0]{{.*}}: tensor<16xf32> -> tensor<16x64xf32>
// CHECK-NOT: sinter.reshape
func.func @kept_dims(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %sq = sinter.square %x : tensor<16x64xf32>
  %s = sinter.sum %sq [1] : tensor<16x64xf32> -> tensor<16xf32>
  %k = sinter.reshape %s : tensor<16xf32> -> tensor<16x1xf32>
  %e = sinter.constant dense<1.0> : tensor<16x1xf32>
  %m = sinter.maximum %k, %e : tensor<16x1xf32>
  %b = sinter.broadcast %m [0, 1] : tensor<16x1xf32> -> tensor<16x64xf32>
  %y = sinter.div %x, %b : tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}

// Heads that are parts of one projection: the slice begins at a multiple of a head's width, and takes whole
// heads. The parts of a head are stacked and become one dimension again for the library call.
// CHECK-LABEL: func.func @heads
// CHECK: %[[X:.*]] = sinter.reshape %arg0{{.*}}: tensor<5x48xf32> -> tensor<5x6x2x4xf32>
// CHECK: %[[A:.*]] = sinter.relu %[[X]]
// CHECK: sinter.slice %[[A]] [0, 2, 0, 0] [5, 6, 2, 4] [1, 1, 1, 1]{{.*}}: {{.*}} -> tensor<5x4x2x4xf32>
// CHECK-NOT: sinter.reshape
// CHECK: %[[T:.*]] = sinter.concat {{.*}} dim 2
// CHECK: %[[F:.*]] = sinter.reshape %[[T]]{{.*}}: tensor<5x4x2x4xf32> -> tensor<5x32xf32>
// CHECK: sinter.matmul %[[F]]
func.func @heads(%x: tensor<5x48xf32>, %w: tensor<32x8xf32>) -> tensor<5x8xf32> {
  %a = sinter.relu %x : tensor<5x48xf32>
  %q = sinter.slice %a [0, 16] [5, 48] [1, 1] : tensor<5x48xf32> -> tensor<5x32xf32>
  %h = sinter.reshape %q : tensor<5x32xf32> -> tensor<5x4x2x4xf32>
  %l = sinter.slice %h [0, 0, 0, 0] [5, 4, 1, 4] [1, 1, 1, 1] : tensor<5x4x2x4xf32> -> tensor<5x4x1x4xf32>
  %r = sinter.slice %h [0, 0, 1, 0] [5, 4, 2, 4] [1, 1, 1, 1] : tensor<5x4x2x4xf32> -> tensor<5x4x1x4xf32>
  %n = sinter.neg %r : tensor<5x4x1x4xf32>
  %t = sinter.concat %n, %l dim 2 : (tensor<5x4x1x4xf32>, tensor<5x4x1x4xf32>) -> tensor<5x4x2x4xf32>
  %f = sinter.reshape %t : tensor<5x4x2x4xf32> -> tensor<5x32xf32>
  %y = sinter.matmul %f, %w : (tensor<5x32xf32>, tensor<32x8xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// A part that is one head, a pad by whole heads, and a reverse of both factors.
// CHECK-LABEL: func.func @parts
// CHECK: %[[E:.*]] = sinter.exp %{{.*}}{{.*}}: tensor<3x4xf32>
// CHECK: %[[S:.*]] = sinter.slice %[[E]] [1, 0] [2, 4] [1, 1]{{.*}}: tensor<3x4xf32> -> tensor<1x4xf32>
// CHECK: %[[C:.*]] = sinter.concat %[[E]], %[[S]] dim 0{{.*}}: {{.*}} -> tensor<4x4xf32>
// CHECK: %[[P:.*]] = sinter.pad %[[C]] value 0.000000e+00 low [1, 0] high [0, 0] interior [0, 0]
// CHECK: sinter.reverse %[[P]] [0, 1]{{.*}}: tensor<5x4xf32>
func.func @parts(%x: tensor<12xf32>) -> tensor<20xf32> {
  %e = sinter.exp %x : tensor<12xf32>
  %s = sinter.slice %e [4] [8] [1] : tensor<12xf32> -> tensor<4xf32>
  %c = sinter.concat %e, %s dim 0 : (tensor<12xf32>, tensor<4xf32>) -> tensor<16xf32>
  %p = sinter.pad %c value 0.0 low [4] high [0] interior [0] : tensor<16xf32> -> tensor<20xf32>
  %v = sinter.reverse %p [0] : tensor<20xf32>
  %r = sinter.reshape %v : tensor<20xf32> -> tensor<5x4xf32>
  %n = sinter.neg %r : tensor<5x4xf32>
  %b = sinter.reshape %n : tensor<5x4xf32> -> tensor<20xf32>
  return %b : tensor<20xf32>
}

// Reshapes stay: these shapes have no common factors,
// CHECK-LABEL: func.func @no_common_factors
// CHECK: sinter.relu {{.*}}{{.*}}: tensor<4x3xf32>
// CHECK: sinter.reshape
// CHECK: sinter.neg {{.*}}{{.*}}: tensor<6x2xf32>
func.func @no_common_factors(%x: tensor<4x3xf32>) -> (tensor<6x2xf32>, tensor<4x3xf32>) {
  %a = sinter.relu %x : tensor<4x3xf32>
  %r = sinter.reshape %a : tensor<4x3xf32> -> tensor<6x2xf32>
  %n = sinter.neg %r : tensor<6x2xf32>
  return %n, %a : tensor<6x2xf32>, tensor<4x3xf32>
}
// an iota counts the whole dimension,
// CHECK-LABEL: func.func @counted
// CHECK: sinter.relu {{.*}}{{.*}}: tensor<4x3xf32>
// CHECK: sinter.reshape
// CHECK: sinter.mul {{.*}}{{.*}}: tensor<12xf32>
func.func @counted(%x: tensor<4x3xf32>) -> tensor<12xf32> {
  %a = sinter.relu %x : tensor<4x3xf32>
  %r = sinter.reshape %a : tensor<4x3xf32> -> tensor<12xf32>
  %i = sinter.iota 0 : tensor<12xf32>
  %y = sinter.mul %r, %i : tensor<12xf32>
  return %y : tensor<12xf32>
}
// an update writes a variable over its old value,
// CHECK-LABEL: func.func @update
// CHECK: sinter.sum
// CHECK: sinter.reshape
// CHECK: sinter.sub {{.*}}{{.*}}: tensor<12xf32>
sinter.variable @v : tensor<12xf32> = constant(0.0, 0.0) seed 0 trainable
func.func @update(%x: tensor<4x3x8xf32>, %v: tensor<12xf32> {sinter.variable = @v})
    -> (tensor<12xf32> {sinter.variable = @v}) {
  %s = sinter.sum %x [2] : tensor<4x3x8xf32> -> tensor<4x3xf32>
  %r = sinter.reshape %s : tensor<4x3xf32> -> tensor<12xf32>
  %y = sinter.sub %v, %r : tensor<12xf32>
  return %y : tensor<12xf32>
}
// a slice begins inside an inner factor,
// CHECK-LABEL: func.func @inside
// CHECK: sinter.slice {{.*}}{{.*}}: tensor<12xf32> -> tensor<8xf32>
// CHECK: sinter.reshape
// CHECK: sinter.neg {{.*}}{{.*}}: tensor<2x4xf32>
func.func @inside(%x: tensor<12xf32>) -> tensor<2x4xf32> {
  %e = sinter.exp %x : tensor<12xf32>
  %s = sinter.slice %e [2] [10] [1] : tensor<12xf32> -> tensor<8xf32>
  %r = sinter.reshape %s : tensor<8xf32> -> tensor<2x4xf32>
  %n = sinter.neg %r : tensor<2x4xf32>
  return %n : tensor<2x4xf32>
}
// and loops over two neighbours would be shorter than a vector.
// CHECK-LABEL: func.func @enlarged
// CHECK: sinter.broadcast
// CHECK: sinter.reshape
// CHECK: sinter.exp {{.*}}{{.*}}: tensor<6x10xf32>
func.func @enlarged(%x: tensor<3x5xf32>) -> tensor<6x10xf32> {
  %b = sinter.broadcast %x [0, 2] : tensor<3x5xf32> -> tensor<3x2x5x2xf32>
  %r = sinter.reshape %b : tensor<3x2x5x2xf32> -> tensor<6x10xf32>
  %y = sinter.exp %r : tensor<6x10xf32>
  return %y : tensor<6x10xf32>
}
// A transpose that is stored for a library call: the sum reads it in memory instead of transposing again.
// CHECK-LABEL: func.func @stored
// CHECK: %[[T:.*]] = sinter.transpose
// CHECK: %[[R:.*]] = sinter.reshape %[[T]]
// CHECK: sinter.sum %[[R]] [0]{{.*}}: tensor<24x5xf32> -> tensor<5xf32>
func.func @stored(%x: tensor<5x4x6xf32>, %w: tensor<5x8xf32>) -> (tensor<24x8xf32>, tensor<5xf32>) {
  %e = sinter.exp %x : tensor<5x4x6xf32>
  %t = sinter.transpose %e [1, 2, 0] : tensor<5x4x6xf32> -> tensor<4x6x5xf32>
  %r = sinter.reshape %t : tensor<4x6x5xf32> -> tensor<24x5xf32>
  %y = sinter.matmul %r, %w : (tensor<24x5xf32>, tensor<5x8xf32>) -> tensor<24x8xf32>
  %s = sinter.sum %r [0] : tensor<24x5xf32> -> tensor<5xf32>
  return %y, %s : tensor<24x8xf32>, tensor<5xf32>
}
