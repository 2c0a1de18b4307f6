// RUN: sinter-opt %s --device=cpu:0 --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(sinter-chunk-rows{bytes=20000 min-rows=128 report},canonicalize))' | FileCheck %s
// RUN: sinter-opt %s --device=cpu:0 --split-input-file --pass-pipeline='builtin.module(func.func(sinter-chunk-rows{bytes=80000 min-rows=128}))' | FileCheck %s --check-prefix=WHOLE

// 300 rows in chunks of 128. Results per row are concatenated, also those of a matmul. Sums over the rows are
// accumulated in order. Each chunk computes the label mask for its own rows.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[X:.*]]: tensor<300x8xf32> {{.*}}, %[[W:.*]]: tensor<64x8xf32> {{.*}}, %[[Y:.*]]: tensor<300xi32>
// CHECK: %[[X0:.*]] = sinter.slice %[[X]] [0, 0] [128, 8] [1, 1]
// CHECK: %[[L0:.*]] = sinter.matmul %[[X0]], %[[W]] {transpose_b} {{.*}} -> tensor<128x64xf32>
// CHECK: sinter.max %[[L0]] [1]
// CHECK: sinter.slice %[[Y]] [0] [128] [1]
// CHECK: %[[G0:.*]] = sinter.select
// CHECK: %[[E0:.*]] = sinter.neg {{.*}} : tensor<128xf32>
// CHECK: %[[DX0:.*]] = sinter.matmul %[[G0]], %[[W]] {{.*}} -> tensor<128x8xf32>
// CHECK: %[[DW0:.*]] = sinter.matmul %[[G0]], %[[X0]] {transpose_a} {{.*}} -> tensor<64x8xf32>
// CHECK: sinter.sum %[[G0]] [0]
// CHECK: sinter.slice %[[X]] [128, 0] [256, 8] [1, 1]
// CHECK: %[[DW1:.*]] = sinter.matmul {{.*}} {transpose_a}
// CHECK: sinter.add %[[DW0]], %[[DW1]]
// CHECK: sinter.slice %[[X]] [256, 0] [300, 8] [1, 1]
// CHECK: sinter.matmul {{.*}} -> tensor<44x64xf32>
// CHECK: sinter.concat %[[E0]], {{.*}} dim 0 {{.*}} -> tensor<300xf32>
// CHECK: %[[DX:.*]] = sinter.concat %[[DX0]], {{.*}} dim 0 {{.*}} -> tensor<300x8xf32>
// CHECK: sinter.concat %{{.*}} dim 0 {{.*}} -> tensor<3x64xf32>
// CHECK: sinter.sum %{{.*}} [0] {{.*}}: tensor<3x64xf32> -> tensor<64xf32>
// CHECK: sinter.exp %[[DX]] : tensor<300x8xf32>
// WHOLE-LABEL: func.func @loss
// WHOLE: sinter.matmul {{.*}} -> tensor<300x64xf32>
func.func @loss(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"}, %y: tensor<300xi32> {sinter.input = "y"})
    -> (tensor<300xf32> {sinter.output = "e"}, tensor<300x8xf32> {sinter.output = "dx"}, tensor<64x8xf32> {sinter.output = "dw"}, tensor<64xf32> {sinter.output = "db"}) {
  %i = sinter.iota 1 : tensor<300x64xi32>
  %b = sinter.broadcast %y [0] : tensor<300xi32> -> tensor<300x64xi32>
  %mask = sinter.compare eq %i, %b : tensor<300x64xi32> -> tensor<300x64xi1>
  // expected-remark @below {{computes 'tensor<300x64xf32>', 76800 bytes, in 3 chunks of 128 rows}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %m = sinter.max %l [1] : tensor<300x64xf32> -> tensor<300xf32>
  %r = sinter.broadcast %m [0] : tensor<300xf32> -> tensor<300x64xf32>
  %g = sinter.select %mask, %l, %r : tensor<300x64xi1>, tensor<300x64xf32>
  %s = sinter.sum %g [1] : tensor<300x64xf32> -> tensor<300xf32>
  %e = sinter.neg %s : tensor<300xf32>
  %dx = sinter.matmul %g, %w : (tensor<300x64xf32>, tensor<64x8xf32>) -> tensor<300x8xf32>
  %dw = sinter.matmul %g, %x {transpose_a} : (tensor<300x64xf32>, tensor<300x8xf32>) -> tensor<64x8xf32>
  %db = sinter.sum %g [0] : tensor<300x64xf32> -> tensor<64xf32>
  %after = sinter.exp %dx : tensor<300x8xf32>
  return %e, %after, %dw, %db : tensor<300xf32>, tensor<300x8xf32>, tensor<64x8xf32>, tensor<64xf32>
}

// -----

// A bf16 matmul is accumulated in f32; on a GPU the library does this. The sum is rounded at the end for
// readers that want only bf16.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[DW0:.*]] = sinter.matmul {{.*}} {{{.*}}transpose_a} : {{.*}} -> tensor<128x8xf32>
// CHECK: sinter.matmul {{.*}} addend %[[DW0]] {{.*}} -> tensor<128x8xf32>
// CHECK: %[[DW:.*]] = sinter.matmul {{.*}} addend {{.*}} -> tensor<128x8xf32>
// CHECK: %[[N:.*]] = sinter.cast %[[DW]] {{.*}} -> tensor<128x8xbf16>
// CHECK: return %[[DW]], %[[N]]
func.func @narrow(%x: tensor<300x8xbf16> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}, %w: tensor<128x8xbf16> {sinter.input = "w", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<128x8xf32> {sinter.output = "a"}, tensor<128x8xbf16> {sinter.output = "b"}) {
  // expected-remark @below {{in 3 chunks of 128 rows}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xbf16>, tensor<128x8xbf16>) -> tensor<300x128xbf16>
  %g = sinter.exp %l : tensor<300x128xbf16>
  %dw = sinter.matmul %g, %x {transpose_a} : (tensor<300x128xbf16>, tensor<300x8xbf16>) -> tensor<128x8xbf16>
  %wide = sinter.cast %dw : tensor<128x8xbf16> -> tensor<128x8xf32>
  return %wide, %dw : tensor<128x8xf32>, tensor<128x8xbf16>
}

// -----

// CHECK-LABEL: func.func @returned
// CHECK: sinter.matmul {{.*}} -> tensor<300x64xf32>
func.func @returned(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"})
    -> (tensor<300x64xf32> {sinter.output = "l"}) {
  // expected-remark @below {{computes all of 'tensor<300x64xf32>', 76800 bytes, at once: all of the result of sinter.matmul is read}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  return %l : tensor<300x64xf32>
}

// -----

// CHECK-LABEL: func.func @all_rows
// CHECK: sinter.matmul {{.*}} -> tensor<300x64xf32>
func.func @all_rows(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"})
    -> (tensor<300xf32> {sinter.output = "s"}) {
  // expected-remark @below {{at once: sinter.broadcast needs all rows}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %m = sinter.sum %l [0] : tensor<300x64xf32> -> tensor<64xf32>
  %b = sinter.broadcast %m [1] : tensor<64xf32> -> tensor<300x64xf32>
  %d = sinter.sub %l, %b : tensor<300x64xf32>
  %s = sinter.sum %d [1] : tensor<300x64xf32> -> tensor<300xf32>
  return %s : tensor<300xf32>
}

// -----

// CHECK-LABEL: func.func @maximum
// CHECK: sinter.matmul {{.*}} -> tensor<300x64xf32>
func.func @maximum(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"}) -> (tensor<64xf32> {sinter.output = "m"}) {
  // expected-remark @below {{at once: sinter.max does not add rows up}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %m = sinter.max %l [0] : tensor<300x64xf32> -> tensor<64xf32>
  return %m : tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @reversed
// CHECK: sinter.matmul {{.*}} -> tensor<300x64xf32>
func.func @reversed(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"})
    -> (tensor<300xf32> {sinter.output = "s"}) {
  // expected-remark @below {{at once: sinter.reverse needs all rows}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %v = sinter.reverse %l [0] : tensor<300x64xf32>
  %s = sinter.sum %v [1] : tensor<300x64xf32> -> tensor<300xf32>
  return %s : tensor<300xf32>
}

// -----

// A matmul that feeds the same rows is a second layer, not a loss.
// CHECK-LABEL: func.func @layers
// CHECK: sinter.matmul {{.*}} -> tensor<300x64xf32>
func.func @layers(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"}) -> (tensor<300xf32> {sinter.output = "s"}) {
  // expected-remark @below {{at once: the result of sinter.matmul is needed for the same rows}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %h = sinter.matmul %l, %w : (tensor<300x64xf32>, tensor<64x8xf32>) -> tensor<300x8xf32>
  // expected-remark @below {{at once}}
  %k = sinter.matmul %h, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %d = sinter.mul %l, %k : tensor<300x64xf32>
  %v = sinter.reverse %k [0] : tensor<300x64xf32>
  %p = sinter.add %d, %v : tensor<300x64xf32>
  %s = sinter.sum %p [1] : tensor<300x64xf32> -> tensor<300xf32>
  return %s : tensor<300xf32>
}

// -----

// Each chunk draws its own rows of a random mask, those at its place in the whole.
// CHECK-LABEL: func.func @mask
// CHECK-DAG: %[[FIRST:.*]] = sinter.constant dense<0> : tensor<i64>
// CHECK-DAG: %[[SECOND:.*]] = sinter.constant dense<128> : tensor<i64>
// CHECK-DAG: %[[THIRD:.*]] = sinter.constant dense<256> : tensor<i64>
// CHECK: sinter.random_bernoulli {{.*}} origin[%[[FIRST]], %[[FIRST]]] of [300, 64] {{.*}} -> tensor<128x64xi1>
// CHECK: sinter.random_bernoulli {{.*}} origin[%[[SECOND]], %[[FIRST]]] of [300, 64] {{.*}} -> tensor<128x64xi1>
// CHECK: sinter.random_bernoulli {{.*}} origin[%[[THIRD]], %[[FIRST]]] of [300, 64] {{.*}} -> tensor<44x64xi1>
func.func @mask(%x: tensor<300x8xf32> {sinter.input = "x"}, %w: tensor<64x8xf32> {sinter.input = "w"}, %seed: tensor<i64> {sinter.input = "seed"})
    -> (tensor<64x8xf32> {sinter.output = "dw"}) {
  %mask = sinter.random_bernoulli %seed, %seed stream 1 probability 0.5 : tensor<i64>, tensor<i64> -> tensor<300x64xi1>
  %zero = sinter.constant dense<0.0> : tensor<300x64xf32>
  // expected-remark @below {{in 3 chunks of 128 rows}}
  %l = sinter.matmul %x, %w {transpose_b} : (tensor<300x8xf32>, tensor<64x8xf32>) -> tensor<300x64xf32>
  %g = sinter.select %mask, %l, %zero : tensor<300x64xi1>, tensor<300x64xf32>
  %dw = sinter.matmul %g, %x {transpose_a} : (tensor<300x64xf32>, tensor<300x8xf32>) -> tensor<64x8xf32>
  return %dw : tensor<64x8xf32>
}
