// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=tensor dims=mlp,vocabulary" --sinter-shard="axes=data rows=tensor strict=1" --mlir-print-local-scope | FileCheck %s --check-prefix=SHARD
// RUN: sinter-opt %s --split-input-file --sinter-cut-variables="axis=tensor dims=mlp,vocabulary" --sinter-shard="axes=data rows=tensor strict=1" --sinter-localise --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL

// A table of words, a product by hidden units, and their gradients, on data 2 x tensor 2. Looked up rows and the terms of
// the second product become rows: each rank has one of its two examples. The products gather them, and so does the
// gradient of the table, of which each rank adds up its own words. What only the update reads, such as the gradient of
// the scale, is summed over both axes at once.
// SHARD-LABEL: func.func @train
// SHARD: %[[E:.*]] = sinter.gather {{.*}}<[4 data, 3, 8] partial sum tensor>
// SHARD: %[[EROWS:.*]] = sinter.reshard %[[E]] to <[4 data tensor, 3, 8]>{{.*}}each rank gets some rows of the sum
// SHARD: sinter.mul %[[EROWS]], {{.*}}<[4 data tensor, 3, 8]>
// SHARD: %[[N:.*]] = sinter.reshape {{.*}}<[12 data tensor, 8]>
// SHARD: %[[NALL:.*]] = sinter.reshard %[[N]] to <[12 data, 8]>{{.*}}matmul reads all of a value, of which the ranks have rows
// SHARD: sinter.matmul %[[NALL]], {{.*}}<[12 data, 16 tensor]>
// SHARD: %[[Y:.*]] = sinter.reshape {{.*}}<[4 data, 3, 8] partial sum tensor>
// SHARD: %[[YROWS:.*]] = sinter.reshard %[[Y]] to <[4 data tensor, 3, 8]>
// SHARD-NOT: may_wait
// SHARD: sinter.add %[[EROWS]], %[[YROWS]]
// SHARD: sinter.sum {{.*}}<[] partial sum data tensor>
// SHARD: %[[DS:.*]] = sinter.sum {{.*}}<[8] partial sum data tensor>
// SHARD: sinter.reshard %[[DS]] to <[8]>{{.*}}may_wait
// SHARD: sinter.scatter_add {{.*}}<[6 tensor, 8] partial sum data>
// LOCAL-LABEL: func.func @train
// LOCAL-COUNT-1: sinter.reduce_scatter {{.*}}tensor<2x3x8xf32> -> tensor<1x3x8xf32>
// LOCAL: sinter.all_gather {{.*}}over ["tensor"] {{.*}}tensor<3x8xf32> -> tensor<6x8xf32>
// LOCAL: sinter.reduce_scatter {{.*}}over ["tensor"]
// LOCAL: sinter.all_gather {{.*}}over ["tensor"]
// LOCAL: sinter.reduce_scatter {{.*}}over ["tensor"]
// LOCAL: sinter.all_reduce {{.*}}over ["data", "tensor"]{{.*}}(tensor<f32>, tensor<8xf32>)
// LOCAL: sinter.all_gather {{.*}}over ["tensor"] {{.*}}tensor<1x3x8xf32> -> tensor<2x3x8xf32>
// LOCAL-NOT: all_gather
// LOCAL: sinter.all_reduce {{.*}}over ["data"]{{.*}}(tensor<8x8xf32>, tensor<3x8xf32>)
// LOCAL-NOT: all_reduce
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @table : tensor<6x8xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[6 vocabulary, 8]>}
  sinter.variable @scale : tensor<8xf32> = constant(1.0, 0.0) seed 1 trainable
  sinter.variable @w1 : tensor<8x16xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8, 16 mlp]>}
  sinter.variable @w2 : tensor<16x8xf32> = normal(0.0, 0.1) seed 2 trainable {sinter.dims = #sinter.sharding<[16 mlp, 8]>}
  func.func @train(%x: tensor<4x3xi32> {sinter.input = "x"}, %table: tensor<6x8xf32> {sinter.variable = @table}, %scale: tensor<8xf32> {sinter.variable = @scale}, %w1: tensor<8x16xf32> {sinter.variable = @w1}, %w2: tensor<16x8xf32> {sinter.variable = @w2})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<6x8xf32> {sinter.variable = @table}, tensor<8xf32> {sinter.variable = @scale}, tensor<16x8xf32> {sinter.variable = @w2}) {
    %e = sinter.gather %table[%x] dim 0 : tensor<6x8xf32>, tensor<4x3xi32> -> tensor<4x3x8xf32>
    %sb = sinter.broadcast %scale [2] : tensor<8xf32> -> tensor<4x3x8xf32>
    %n = sinter.mul %e, %sb : tensor<4x3x8xf32>
    %n2 = sinter.reshape %n : tensor<4x3x8xf32> -> tensor<12x8xf32>
    %h0 = sinter.matmul %n2, %w1 : (tensor<12x8xf32>, tensor<8x16xf32>) -> tensor<12x16xf32>
    %h = sinter.relu %h0 : tensor<12x16xf32>
    %y2 = sinter.matmul %h, %w2 : (tensor<12x16xf32>, tensor<16x8xf32>) -> tensor<12x8xf32>
    %y = sinter.reshape %y2 : tensor<12x8xf32> -> tensor<4x3x8xf32>
    %r = sinter.add %e, %y : tensor<4x3x8xf32>
    %q = sinter.square %r : tensor<4x3x8xf32>
    %loss = sinter.sum %q [0, 1, 2] : tensor<4x3x8xf32> -> tensor<f32>
    %r2 = sinter.reshape %r : tensor<4x3x8xf32> -> tensor<12x8xf32>
    %g2 = sinter.matmul %h, %r2 {transpose_a} : (tensor<12x16xf32>, tensor<12x8xf32>) -> tensor<16x8xf32>
    %dh = sinter.matmul %r2, %w2 {transpose_b} : (tensor<12x8xf32>, tensor<16x8xf32>) -> tensor<12x16xf32>
    %dn2 = sinter.matmul %dh, %w1 {transpose_b} : (tensor<12x16xf32>, tensor<8x16xf32>) -> tensor<12x8xf32>
    %dn = sinter.reshape %dn2 : tensor<12x8xf32> -> tensor<4x3x8xf32>
    %ds0 = sinter.mul %dn, %e : tensor<4x3x8xf32>
    %ds = sinter.sum %ds0 [0, 1] : tensor<4x3x8xf32> -> tensor<8xf32>
    %dn1 = sinter.mul %dn, %sb : tensor<4x3x8xf32>
    %de = sinter.add %dn1, %r : tensor<4x3x8xf32>
    %zero = sinter.constant dense<0.0> : tensor<6x8xf32>
    %dt = sinter.scatter_add %zero[%x], %de dim 0 : tensor<6x8xf32>, tensor<4x3xi32>, tensor<4x3x8xf32>
    %nt = sinter.sub %table, %dt : tensor<6x8xf32>
    %ns = sinter.sub %scale, %ds : tensor<8xf32>
    %nw2 = sinter.sub %w2, %g2 : tensor<16x8xf32>
    return %loss, %nt, %ns, %nw2 : tensor<f32>, tensor<6x8xf32>, tensor<8xf32>, tensor<16x8xf32>
  }
}

// -----

// A rank's part has one example, which two ranks do not divide: they share its tokens. The product whose words are cut
// reads them all, and the number that its rows' softmax needs is combined on every rank, not made into rows that would
// be gathered when they are as large as the logits.
// SHARD-LABEL: func.func @tokens
// SHARD: %[[E:.*]] = sinter.gather {{.*}}<[2 data, 4, 8] partial sum tensor>
// SHARD: sinter.reshard %[[E]] to <[2 data, 4 tensor, 8]>
// SHARD: %[[N:.*]] = sinter.reshape {{.*}}<[2 data * 4 tensor, 8]>
// SHARD: sinter.reshard %[[N]] to <[8 data, 8]>
// SHARD: %[[M:.*]] = sinter.max {{.*}}<[8 data] partial max tensor>
// SHARD: sinter.reshard %[[M]] to <[8 data]>
// LOCAL-LABEL: func.func @tokens
// LOCAL: sinter.reduce_scatter {{.*}}over ["tensor"]
// LOCAL-NOT: over ["data"]
// LOCAL: sinter.all_gather {{.*}}over ["tensor"]
// LOCAL-NOT: over ["data"]
// LOCAL: sinter.matmul
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @table : tensor<6x8xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[6 vocabulary, 8]>}
  func.func @tokens(%x: tensor<2x4xi32> {sinter.input = "x"}, %table: tensor<6x8xf32> {sinter.variable = @table}) -> (tensor<8x6xf32> {sinter.output = "y"}) {
    %e = sinter.gather %table[%x] dim 0 : tensor<6x8xf32>, tensor<2x4xi32> -> tensor<2x4x8xf32>
    %t = sinter.tanh %e : tensor<2x4x8xf32>
    %r = sinter.reshape %t : tensor<2x4x8xf32> -> tensor<8x8xf32>
    %l = sinter.matmul %r, %table {transpose_b} : (tensor<8x8xf32>, tensor<6x8xf32>) -> tensor<8x6xf32>
    %m = sinter.max %l [1] : tensor<8x6xf32> -> tensor<8xf32>
    %n = sinter.neg %m : tensor<8xf32>
    %b = sinter.broadcast %n [0] : tensor<8xf32> -> tensor<8x6xf32>
    %y = sinter.add %l, %b : tensor<8x6xf32>
    return %y : tensor<8x6xf32>
  }
}
