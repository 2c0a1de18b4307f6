// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-cut-variables="axis=tensor dims=mlp,heads" --sinter-cut-variables="axis=data level=3 least-bytes=64 report" --sinter-cut-variables="axis=data terms" | FileCheck %s

// The axis `tensor` cuts named extents of variables and of their slots; `data` the outermost extent that it divides,
// inside of `tensor`. Names beside the list, states that are no slots, and small variables do not matter. Sums of gradients
// that `data` does not cut are terms over it, if they are f32 or f64.
// CHECK: sinter.variable @qkv {{.*}}sinter.sharding = #sinter.sharding<[8 data, 3 * 8 tensor]>, sinter.stored = ["data"]
// CHECK: sinter.variable @"m/qkv" {{.*}}sinter.sharding = #sinter.sharding<[8 data, 3 * 8 tensor]>, sinter.slot_of = "qkv", sinter.stored = ["data"]
// CHECK: sinter.variable @rows {{.*}}sinter.sharding = #sinter.sharding<[8 tensor data, 4]>, sinter.stored = ["data"]
// CHECK: sinter.variable @bias {{.*}}sinter.sharding = #sinter.sharding<[8 tensor]>}
// CHECK: sinter.variable @mean
// CHECK-NOT: sinter.sharding =
// CHECK: sinter.variable @short
// CHECK-SAME: seed 1 trainable{{$}}
// CHECK: sinter.variable @odd
// CHECK-SAME: seed 1 trainable{{$}}
// CHECK: sinter.variable @"sum/qkv" {{.*}}sinter.sharding = #sinter.sharding<[8 data, 3 * 8 tensor]>, sinter.slot_of = "qkv", sinter.stored = ["data"]
// CHECK: sinter.variable @"sum/bias" {{.*}}sinter.sharding = #sinter.sharding<[8 tensor] partial sum data>
// CHECK: sinter.variable @"sum/count"
// CHECK-SAME: seed 0 {sinter.accumulator}{{$}}
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @qkv : tensor<8x24xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8 embed, 3 * 4 heads * 2]>}
  sinter.variable @"m/qkv" : tensor<8x24xf32> = constant(0.0, 0.0) seed 0 {sinter.slot_of = "qkv"}
  sinter.variable @rows : tensor<8x4xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8 mlp, 4 embed]>}
  sinter.variable @bias : tensor<8xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8 mlp]>}
  sinter.variable @mean : tensor<64xf32> = constant(0.0, 0.0) seed 0
  sinter.variable @short : tensor<8xf32> = normal(0.0, 0.1) seed 1 trainable
  // expected-remark @below {{every rank keeps variable "odd" of 'tensor<3x9xf32>' whole: the 2 ranks of axis "data" divide none of its dimensions}}
  sinter.variable @odd : tensor<3x9xf32> = normal(0.0, 0.1) seed 1 trainable
  sinter.variable @"sum/qkv" : tensor<8x24xf32> = constant(0.0, 0.0) seed 0 {sinter.accumulator, sinter.slot_of = "qkv"}
  sinter.variable @"sum/bias" : tensor<8xf32> = constant(0.0, 0.0) seed 0 {sinter.accumulator, sinter.slot_of = "bias"}
  sinter.variable @"sum/count" : tensor<i64> = constant(0.0, 0.0) seed 0 {sinter.accumulator}
}

// -----

module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  // expected-error @below {{variable "w" has 3 heads, which the 2 ranks of axis "tensor" do not divide; choose an axis whose size divides 3}}
  sinter.variable @w : tensor<8x6xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8, 3 heads * 2]>}
}

// -----

// expected-error @below {{axis "tensor" is to cut dimensions named mlp, heads, and no variable has one; the names of this program are embed, vocabulary}}
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @w : tensor<8x6xf32> = normal(0.0, 0.1) seed 1 trainable {sinter.dims = #sinter.sharding<[8 vocabulary, 6 embed]>}
}

// -----

// expected-error @below {{axis "tensor" is to cut dimensions named mlp, heads, and no variable has one; the layers of this program name none}}
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @w : tensor<8x6xf32> = normal(0.0, 0.1) seed 1 trainable
}

// -----

// expected-error @below {{variables are cut along axis "tensor", and the mesh is #sinter.mesh<data 2>; name one of its axes}}
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
}
