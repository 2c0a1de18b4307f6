// RUN: sinter-opt %s --split-input-file --sinter-differentiate --sinter-fold-constants --canonicalize --cse | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-differentiate --sinter-decompose --canonicalize --cse | FileCheck %s --check-prefix=CHECK-DECOMPOSED

// The four transposed forms: each gradient is one matmul, without a separate transpose.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<3x4xf32>)
// CHECK: %[[G:.*]] = sinter.constant dense<1.000000e+00> : tensor<2x4xf32>
// CHECK-DAG: sinter.matmul %[[G]], %[[B]] {transpose_b} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
// CHECK-DAG: sinter.matmul %[[A]], %[[G]] {transpose_a} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
func.func @matmul(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> (tensor<2x3xf32>, tensor<3x4xf32>) {
  %c = sinter.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %loss = sinter.sum %c [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %a, %b : (tensor<f32>, tensor<2x3xf32>, tensor<3x4xf32>) -> (tensor<2x3xf32>, tensor<3x4xf32>)
  return %g#0, %g#1 : tensor<2x3xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @matmul_transpose_a
// CHECK-SAME: (%[[A:.*]]: tensor<3x2xf32>, %[[B:.*]]: tensor<3x4xf32>)
// CHECK-DAG: sinter.matmul %[[B]], %[[G:.*]] {transpose_b} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
// CHECK-DAG: sinter.matmul %[[A]], %[[G]] : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
func.func @matmul_transpose_a(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>) {
  %c = sinter.matmul %a, %b {transpose_a} : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %loss = sinter.sum %c [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %a, %b : (tensor<f32>, tensor<3x2xf32>, tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>)
  return %g#0, %g#1 : tensor<3x2xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @matmul_transpose_b
// CHECK-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4x3xf32>)
// CHECK-DAG: sinter.matmul %[[G:.*]], %[[B]] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-DAG: sinter.matmul %[[G]], %[[A]] {transpose_a} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
func.func @matmul_transpose_b(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
  %c = sinter.matmul %a, %b {transpose_b} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %loss = sinter.sum %c [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %a, %b : (tensor<f32>, tensor<2x3xf32>, tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>)
  return %g#0, %g#1 : tensor<2x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @matmul_transpose_both_in_batches
// CHECK-SAME: (%[[A:.*]]: tensor<5x3x2xf32>, %[[B:.*]]: tensor<5x4x3xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<5x2x4xf32>)
// CHECK-DAG: sinter.matmul %[[B]], %[[G:.*]] {transpose_a, transpose_b} : (tensor<5x4x3xf32>, tensor<5x2x4xf32>) -> tensor<5x3x2xf32>
// CHECK-DAG: sinter.matmul %[[G]], %[[A]] {transpose_a, transpose_b} : (tensor<5x2x4xf32>, tensor<5x3x2xf32>) -> tensor<5x4x3xf32>
// CHECK-DAG: sinter.sum %[[G]] [0, 1] : tensor<5x2x4xf32> -> tensor<4xf32>
func.func @matmul_transpose_both_in_batches(%a: tensor<5x3x2xf32>, %b: tensor<5x4x3xf32>, %bias: tensor<4xf32>, %t: tensor<5x2x4xf32>)
    -> (tensor<5x3x2xf32>, tensor<5x4x3xf32>, tensor<4xf32>) {
  %c = sinter.matmul %a, %b bias %bias {transpose_a, transpose_b} : (tensor<5x3x2xf32>, tensor<5x4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  %d = sinter.mul %c, %t : tensor<5x2x4xf32>
  %loss = sinter.sum %d [0, 1, 2] : tensor<5x2x4xf32> -> tensor<f32>
  %g:3 = sinter.gradients %loss wrt %a, %b, %bias : (tensor<f32>, tensor<5x3x2xf32>, tensor<5x4x3xf32>, tensor<4xf32>) -> (tensor<5x3x2xf32>, tensor<5x4x3xf32>, tensor<4xf32>)
  return %g#0, %g#1, %g#2 : tensor<5x3x2xf32>, tensor<5x4x3xf32>, tensor<4xf32>
}

// -----

// Gradients of a value that is used twice are added. A value that the loss does not depend on gets zeros and
// costs no work.
// CHECK-LABEL: func.func @fan_in
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<3xf32>)
// CHECK-DAG: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK-DAG: %[[SIN:.*]] = sinter.sin %[[X]]
// CHECK-DAG: %[[COS:.*]] = sinter.cos %[[X]]
// CHECK-DAG: %[[A:.*]] = sinter.mul %[[X]], %[[COS]]
// CHECK: %[[SUM:.*]] = sinter.add
// CHECK: return %[[SUM]], %[[ZERO]]
func.func @fan_in(%x: tensor<4xf32>, %unused: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %s = sinter.sin %x : tensor<4xf32>
  %y = sinter.mul %x, %s : tensor<4xf32>
  %z = sinter.exp %unused : tensor<3xf32>
  %loss = sinter.sum %y [0] : tensor<4xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %unused : (tensor<f32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return %g#0, %g#1 : tensor<4xf32>, tensor<3xf32>
}

// The loss with respect to itself.
// CHECK-LABEL: func.func @loss_itself
// CHECK: %[[ONE:.*]] = sinter.constant dense<1.000000e+00> : tensor<f32>
// CHECK: return %[[ONE]]
func.func @loss_itself(%loss: tensor<f32>) -> tensor<f32> {
  %g = sinter.gradients %loss wrt %loss : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}

// No gradient flows through stop_gradient or through integers.
// CHECK-LABEL: func.func @stopped
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: return %[[ZERO]]
func.func @stopped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = sinter.stop_gradient %x : tensor<4xf32>
  %i = sinter.cast %x : tensor<4xf32> -> tensor<4xi32>
  %f = sinter.cast %i : tensor<4xi32> -> tensor<4xf32>
  %y = sinter.mul %a, %f : tensor<4xf32>
  %loss = sinter.sum %y [0] : tensor<4xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// A composite without a gradient is decomposed first. The mean's gradient is 1/4 everywhere.
// CHECK-LABEL: func.func @mean
// CHECK-NEXT: %[[QUARTER:.*]] = sinter.constant dense<2.500000e-01> : tensor<4xf32>
// CHECK: return %[[QUARTER]]
func.func @mean(%x: tensor<4xf32>) -> tensor<4xf32> {
  %loss = sinter.mean %x [0] : tensor<4xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// A second-order gradient: d2/dx2 sum(x^3) = 6x.
// CHECK-LABEL: func.func @second_order
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[TWICE:.*]] = sinter.mul %[[X]], %{{.*}}
// CHECK: %[[FOUR_TIMES:.*]] = sinter.add %[[TWICE]], %[[TWICE]]
// CHECK: %[[SIX_TIMES:.*]] = sinter.add %[[FOUR_TIMES]], %[[TWICE]]
// CHECK: return %[[SIX_TIMES]]
func.func @second_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sq = sinter.square %x : tensor<4xf32>
  %y = sinter.mul %sq, %x : tensor<4xf32>
  %loss = sinter.sum %y [0] : tensor<4xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %s = sinter.sum %g [0] : tensor<4xf32> -> tensor<f32>
  %h = sinter.gradients %s wrt %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %h : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @conv
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>, %{{.*}}: tensor<4xf32>)
// CHECK: %[[G:.*]] = sinter.constant dense<1.000000e+00> : tensor<2x4x4x4xf32>
// CHECK-DAG: %[[DX:.*]] = sinter.conv2d_input_grad %[[G]], %[[W]] {{.*}}padding = array<i64: 1, 1, 1, 1>{{.*}} : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
// CHECK-DAG: %[[DW:.*]] = sinter.conv2d_weight_grad %[[X]], %[[G]] {{.*}} : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32>
// CHECK: return %[[DX]], %[[DW]], %{{.*}}
func.func @conv(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>)
    -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) {
  %y = sinter.conv2d %x, %w bias %b {strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
  %loss = sinter.sum %y [0, 1, 2, 3] : tensor<2x4x4x4xf32> -> tensor<f32>
  %g:3 = sinter.gradients %loss wrt %x, %w, %b : (tensor<f32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>)
    -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>)
  return %g#0, %g#1, %g#2 : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>
}

// The gradient of the input gradient with respect to the weights is again a convolution.
// CHECK-LABEL: func.func @conv_second_order
// CHECK: sinter.conv2d_input_grad
// CHECK: sinter.conv2d_weight_grad
func.func @conv_second_order(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32> {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  %y2 = sinter.square %y : tensor<1x1x2x2xf32>
  %loss = sinter.sum %y2 [0, 1, 2, 3] : tensor<1x1x2x2xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %g2 = sinter.square %g : tensor<1x1x4x4xf32>
  %penalty = sinter.sum %g2 [0, 1, 2, 3] : tensor<1x1x4x4xf32> -> tensor<f32>
  %h = sinter.gradients %penalty wrt %w : (tensor<f32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32>
  return %h : tensor<1x1x3x3xf32>
}

// Max pooling remembers the position of each maximum.
// CHECK-LABEL: func.func @pools
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x4x4xf32>)
// CHECK-DAG: %{{.*}}, %[[POSITION:.*]] = sinter.max_pool2d %[[X]]
// CHECK-DAG: sinter.max_pool2d_grad %{{.*}}, %[[POSITION]]
// CHECK-DAG: sinter.avg_pool2d_grad %{{.*}} : tensor<1x2x2x2xf32> -> tensor<1x2x4x4xf32>
func.func @pools(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %m, %p = sinter.max_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>, tensor<1x2x2x2xui8>
  %a = sinter.avg_pool2d %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %y = sinter.add %m, %a : tensor<1x2x2x2xf32>
  %loss = sinter.sum %y [0, 1, 2, 3] : tensor<1x2x2x2xf32> -> tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %g : tensor<1x2x4x4xf32>
}

// -----

// A whole model: linear, relu, linear, cross entropy. Each layer has one matmul forward and two backward; the
// first layer has one backward, because the input needs no gradient.
// CHECK-LABEL: func.func @train
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf32>, %[[LABELS:.*]]: tensor<8xi32>, %[[W1:.*]]: tensor<16x32xf32>, %[[B1:.*]]: tensor<32xf32>, %[[W2:.*]]: tensor<32x10xf32>)
// CHECK: %[[H:.*]] = sinter.matmul %[[X]], %[[W1]]
// CHECK: %[[R:.*]] = sinter.relu
// CHECK: %[[LOGITS:.*]] = sinter.matmul %[[R]], %[[W2]]
// CHECK: %[[LOSS:.*]] = sinter.softmax_cross_entropy mean %[[LOGITS]], %[[LABELS]]
// CHECK: %[[ONE_HOT:.*]] = sinter.select
// CHECK: %[[ERROR:.*]] = sinter.sub %{{.*}}, %[[ONE_HOT]] : tensor<8x10xf32>
// CHECK: %[[DLOGITS:.*]] = sinter.mul %[[ERROR]], %{{.*}} : tensor<8x10xf32>
// CHECK: %[[DR:.*]] = sinter.matmul %[[DLOGITS]], %[[W2]] {transpose_b}
// CHECK: %[[DW2:.*]] = sinter.matmul %[[R]], %[[DLOGITS]] {transpose_a}
// relu's mask comes from its result, so that relu can become the matmul's epilogue.
// CHECK: %[[MASK:.*]] = sinter.compare gt %[[R]], %{{.*}}
// CHECK: %[[DH:.*]] = sinter.select %[[MASK]], %[[DR]], %{{.*}}
// CHECK: %[[DB1:.*]] = sinter.sum %[[DH]] [0] : tensor<8x32xf32> -> tensor<32xf32>
// CHECK: %[[DW1:.*]] = sinter.matmul %[[X]], %[[DH]] {transpose_a}
// CHECK-NOT: sinter.matmul
// CHECK: return %[[LOSS]], %[[DW1]], %[[DB1]], %[[DW2]]
func.func @train(%x: tensor<8x16xf32>, %labels: tensor<8xi32>, %w1: tensor<16x32xf32>, %b1: tensor<32xf32>, %w2: tensor<32x10xf32>)
    -> (tensor<f32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32x10xf32>) {
  %h = sinter.matmul %x, %w1 : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %bias = sinter.broadcast %b1 [1] : tensor<32xf32> -> tensor<8x32xf32>
  %hb = sinter.add %h, %bias : tensor<8x32xf32>
  %r = sinter.relu %hb : tensor<8x32xf32>
  %logits = sinter.matmul %r, %w2 : (tensor<8x32xf32>, tensor<32x10xf32>) -> tensor<8x10xf32>
  %loss = sinter.softmax_cross_entropy mean %logits, %labels : tensor<8x10xf32>, tensor<8xi32> -> tensor<f32>
  %g:3 = sinter.gradients %loss wrt %w1, %b1, %w2 : (tensor<f32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32x10xf32>)
    -> (tensor<16x32xf32>, tensor<32xf32>, tensor<32x10xf32>)
  return %loss, %g#0, %g#1, %g#2 : tensor<f32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32x10xf32>
}

// -----

// Gradients of composites read the same statistics as their definitions: CSE leaves one of each.
// CHECK-DECOMPOSED-LABEL: func.func @layer_norm
// CHECK-DECOMPOSED-COUNT-1: sinter.rsqrt
// CHECK-DECOMPOSED-NOT: sinter.rsqrt
// CHECK-DECOMPOSED: return
// CHECK-LABEL: func.func @layer_norm
// CHECK-DAG: sinter.sum %{{.*}} [0] : tensor<4x8xf32> -> tensor<8xf32>
// CHECK-DAG: sinter.sum %{{.*}} [1] : tensor<4x8xf32> -> tensor<4xf32>
func.func @layer_norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %o: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
  %y = sinter.layer_norm %x, %s, %o {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %sq = sinter.square %y : tensor<4x8xf32>
  %loss = sinter.sum %sq [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %g:3 = sinter.gradients %loss wrt %x, %s, %o : (tensor<f32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %g#0, %g#1, %g#2, %loss : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
}

// The gradient of a copy is copied back to the value's device, where fan-in sums run. A clone passes its
// gradient on.
// CHECK-LABEL: func.func @copy
// CHECK: %[[BACK:.*]] = sinter.copy %{{.*}} to <gpu, 0> because gradient : tensor<f32>
// CHECK: %[[G:.*]] = sinter.add %{{.*}}, %[[BACK]]
// CHECK: return %[[G]]
func.func @copy(%x: tensor<f32> {sinter.device = #sinter.device<gpu, 0>}) -> tensor<f32> {
  %a = sinter.copy %x to <gpu, 1> : tensor<f32>
  %b = sinter.exp %a : tensor<f32>
  %c = sinter.copy %b to <gpu, 0> : tensor<f32>
  %d = sinter.clone %x : tensor<f32>
  %loss = sinter.mul %c, %d : tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}
// The value's device may not be known yet.
// CHECK-LABEL: func.func @copy_from_anywhere
// CHECK: sinter.copy %{{.*}} like %arg0 of tensor<f32> because gradient : tensor<f32>
func.func @copy_from_anywhere(%x: tensor<f32>) -> tensor<f32> {
  %a = sinter.copy %x to <gpu, 1> : tensor<f32>
  %loss = sinter.exp %a : tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}

// The gradient of slices that do not overlap is one concat of their gradients with zeros between them. No
// tensor of zeros is added.
// CHECK-LABEL: func.func @slices
// CHECK-NOT: sinter.pad
// CHECK: %[[ZEROS:.*]] = sinter.constant dense<0.000000e+00> : tensor<1x3xf32>
// CHECK: %[[G:.*]] = sinter.concat %[[FIRST:.*]], %[[ZEROS]], %[[SECOND:.*]], %[[THIRD:.*]] dim 0 : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
// CHECK-NOT: sinter.pad
// CHECK: return %[[G]]
func.func @slices(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %a = sinter.slice %x [0, 0] [2, 3] [1, 1] : tensor<8x3xf32> -> tensor<2x3xf32>
  %c = sinter.slice %x [4, 0] [8, 3] [1, 1] : tensor<8x3xf32> -> tensor<4x3xf32>
  %b = sinter.slice %x [3, 0] [4, 3] [1, 1] : tensor<8x3xf32> -> tensor<1x3xf32>
  %as = sinter.square %a : tensor<2x3xf32>
  %bs = sinter.square %b : tensor<1x3xf32>
  %cs = sinter.square %c : tensor<4x3xf32>
  %al = sinter.sum %as [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %bl = sinter.sum %bs [0, 1] : tensor<1x3xf32> -> tensor<f32>
  %cl = sinter.sum %cs [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %ab = sinter.add %al, %bl : tensor<f32>
  %loss = sinter.add %ab, %cl : tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  return %g : tensor<8x3xf32>
}
// Overlapping windows are grouped into as few concats as possible, which are then added. A slice along two
// dimensions or with steps is padded and added separately.
// CHECK-LABEL: func.func @windows
// CHECK: %[[CORNER:.*]] = sinter.pad {{.*}} low [0, 0] high [2, 2]
// CHECK: %[[ODD:.*]] = sinter.pad {{.*}} low [1, 0] high [1, 0]
// CHECK: %[[EVEN:.*]] = sinter.concat %{{.*}}, %{{.*}} dim 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[SUM:.*]] = sinter.add %[[CORNER]], %[[EVEN]]
// CHECK-NOT: sinter.pad
// CHECK: %[[G:.*]] = sinter.add %[[SUM]], %[[ODD]]
// CHECK: return %[[G]]
func.func @windows(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = sinter.slice %x [0, 0] [2, 4] [1, 1] : tensor<4x4xf32> -> tensor<2x4xf32>
  %b = sinter.slice %x [1, 0] [3, 4] [1, 1] : tensor<4x4xf32> -> tensor<2x4xf32>
  %c = sinter.slice %x [2, 0] [4, 4] [1, 1] : tensor<4x4xf32> -> tensor<2x4xf32>
  %d = sinter.slice %x [0, 0] [2, 2] [1, 1] : tensor<4x4xf32> -> tensor<2x2xf32>
  %ab = sinter.mul %a, %b : tensor<2x4xf32>
  %abc = sinter.mul %ab, %c : tensor<2x4xf32>
  %al = sinter.sum %abc [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %ds = sinter.square %d : tensor<2x2xf32>
  %dl = sinter.sum %ds [0, 1] : tensor<2x2xf32> -> tensor<f32>
  %loss = sinter.add %al, %dl : tensor<f32>
  %g = sinter.gradients %loss wrt %x : (tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
