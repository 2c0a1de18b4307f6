// RUN: sinter-opt %s --device=cpu:0 --split-input-file --sinter-keep-casts | FileCheck %s
// RUN: sinter-opt %s --device=cpu:0 --split-input-file --sinter-keep-casts="report=true" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: sinter-opt %s --device=cpu:0 --split-input-file --pass-pipeline="builtin.module(sinter-keep-casts,func.func(sinter-fuse))" | FileCheck %s --check-prefix=FUSED
// RUN: sinter-opt %s --device=cpu:0 --split-input-file --pass-pipeline="builtin.module(func.func(sinter-fuse-update),sinter-keep-casts)" | FileCheck %s --check-prefix=UPDATE

// Two functions read the weight as bf16, and one of them updates it. Both read the replica, and the update's
// kernel writes the weight and the replica.
// CHECK:       sinter.variable @w : tensor<8x8xf32> = normal(0.000000e+00, 5.000000e-01) seed 3 trainable
// CHECK-NOT:   replica_of
// CHECK:       sinter.variable @"w#bf16" : tensor<8x8xbf16> = normal(0.000000e+00, 5.000000e-01) seed 3 trainable {sinter.replica_of = @w}
// CHECK-LABEL: func.func @train
// CHECK-SAME:  %arg1: tensor<8x8xf32> {sinter.variable = @w}, %arg2: tensor<8x8xbf16> {sinter.variable = @"w#bf16"}
// CHECK-SAME:  -> (tensor<8x8xf32> {sinter.variable = @w}, tensor<8x8xbf16> {sinter.variable = @"w#bf16"})
// CHECK:         sinter.matmul %{{.*}}, %arg2
// CHECK:         %[[NEW:.*]] = sinter.sub %arg1
// CHECK:         %[[CAST:.*]] = sinter.cast %[[NEW]] : tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK-NEXT:    return %[[NEW]], %[[CAST]]
// CHECK-LABEL: func.func @eval
// CHECK-SAME:  %[[KEPT:[a-z0-9]*]]: tensor<8x8xbf16> {sinter.variable = @"w#bf16"}
// CHECK-NOT:     sinter.cast %arg1
// CHECK:         sinter.matmul %{{.*}}, %[[KEPT]]
// REPORT:      remark: keeps variable "w" in bf16 as well, 128 bytes, which its updates write: no run casts it
// FUSED-LABEL: func.func @train
// FUSED:         %{{.*}}:2 = sinter.fusion(%{{.*}}, %arg1 : {{.*}}) -> (tensor<8x8xf32>, tensor<8x8xbf16>)
sinter.variable @w : tensor<8x8xf32> = normal(0.0, 0.5) seed 3 trainable
func.func @train(%x: tensor<8x8xbf16> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.variable = @w}) -> (tensor<8x8xf32> {sinter.variable = @w}) {
  %n = sinter.cast %w : tensor<8x8xf32> -> tensor<8x8xbf16>
  %y = sinter.matmul %x, %n : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %g = sinter.cast %y : tensor<8x8xbf16> -> tensor<8x8xf32>
  %new = sinter.sub %w, %g : tensor<8x8xf32>
  return %new : tensor<8x8xf32>
}
func.func @eval(%x: tensor<8x8xbf16> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.variable = @w}) -> (tensor<8x8xbf16> {sinter.output = "y"}) {
  %n = sinter.cast %w : tensor<8x8xf32> -> tensor<8x8xbf16>
  %y = sinter.matmul %x, %n : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %y : tensor<8x8xbf16>
}

// -----

// A low-precision replica of a replica refers to the original, on its own device. The library reads a view.
// One function assigns the weight without reading it.
// CHECK:       sinter.variable @v
// CHECK-NEXT:  sinter.variable @"v#f16" : tensor<16xf16> {{.*}}sinter.device = #sinter.device<gpu, 0>, sinter.replica_of = @v
// CHECK-NEXT:  sinter.variable @"v#1"
// CHECK-NEXT:  sinter.variable @"v#1#f16" : tensor<16xf16> {{.*}}sinter.device = #sinter.device<gpu, 1>, sinter.replica_of = @v
// CHECK-LABEL: func.func @two
// CHECK-SAME:  tensor<16xf16> {sinter.device = #sinter.device<gpu, 0>, sinter.variable = @"v#f16"}
// CHECK-SAME:  tensor<16xf16> {sinter.device = #sinter.device<gpu, 1>, sinter.variable = @"v#1#f16"}
// CHECK-NOT:     sinter.cast
// CHECK-LABEL: func.func @assign
// CHECK-SAME:  (%arg0: tensor<16xf32> {{{[^}]*}}}) -> (
// CHECK-SAME:  tensor<16xf16> {sinter.device = #sinter.device<gpu, 0>, sinter.variable = @"v#f16"}
// CHECK:         sinter.cast %{{.*}} {sinter.device = #sinter.device<gpu, 0>} : tensor<16xf32> -> tensor<16xf16>
sinter.variable @v : tensor<16xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 0>}
sinter.variable @"v#1" : tensor<16xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 1>, sinter.replica_of = @v}
func.func @two(%v: tensor<16xf32> {sinter.variable = @v, sinter.device = #sinter.device<gpu, 0>},
               %r: tensor<16xf32> {sinter.variable = @"v#1", sinter.device = #sinter.device<gpu, 1>})
    -> (tensor<4x4xf16> {sinter.output = "y"}, tensor<4x4xf16> {sinter.output = "z"}) {
  %n = sinter.cast %v : tensor<16xf32> -> tensor<16xf16>
  %m = sinter.reshape %n : tensor<16xf16> -> tensor<4x4xf16>
  %y = sinter.matmul %m, %m : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  %o = sinter.cast %r : tensor<16xf32> -> tensor<16xf16>
  %p = sinter.reshape %o : tensor<16xf16> -> tensor<4x4xf16>
  %z = sinter.matmul %p, %p : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  return %y, %z : tensor<4x4xf16>, tensor<4x4xf16>
}
func.func @assign(%x: tensor<16xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<16xf32> {sinter.variable = @v, sinter.device = #sinter.device<gpu, 0>}) {
  %new = sinter.neg %x : tensor<16xf32>
  return %new : tensor<16xf32>
}

// -----

// The replica's name is taken. Only generated kernels read the second cast, which is merged with the first.
// The function returns the variable unchanged, so its replica does not change.
// CHECK:       sinter.variable @"t#bf16##" : tensor<4x4xbf16>
// CHECK-LABEL: func.func @taken
// CHECK-SAME:  -> (tensor<4x4xbf16> {sinter.output = "y"}, tensor<4x4xbf16> {sinter.output = "z"}, tensor<4x4xf32> {sinter.variable = @t})
// CHECK-NOT:     sinter.cast
sinter.variable @t : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @"t#bf16" : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @"t#bf16#" : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
func.func @taken(%t: tensor<4x4xf32> {sinter.variable = @t})
    -> (tensor<4x4xbf16> {sinter.output = "y"}, tensor<4x4xbf16> {sinter.output = "z"},
        tensor<4x4xf32> {sinter.variable = @t}) {
  %n = sinter.cast %t : tensor<4x4xf32> -> tensor<4x4xbf16>
  %y = sinter.matmul %n, %n : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %m = sinter.cast %t : tensor<4x4xf32> -> tensor<4x4xbf16>
  %z = sinter.neg %m : tensor<4x4xbf16>
  return %y, %z, %t : tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xf32>
}

// -----

// Not replicated: casts that generated kernels apply while they read, casts for an output, wider casts, and
// f64 variables.
// CHECK-NOT:   replica_of
// CHECK-LABEL: func.func @alone
// CHECK-COUNT-5: sinter.cast
sinter.variable @a : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @b : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @c : tensor<4x4xf64> = constant(0.0, 0.0) seed 0
func.func @alone(%a: tensor<4x4xf32> {sinter.variable = @a}, %b: tensor<4x4xf32> {sinter.variable = @b},
                 %c: tensor<4x4xf64> {sinter.variable = @c})
    -> (tensor<4xf32> {sinter.output = "r"}, tensor<4x4xbf16> {sinter.output = "s"},
        tensor<4x4xf64> {sinter.output = "t"}, tensor<4x4xf16> {sinter.output = "u"}) {
  %n = sinter.cast %a : tensor<4x4xf32> -> tensor<4x4xbf16>
  %e = sinter.exp %n : tensor<4x4xbf16>
  %w = sinter.cast %e : tensor<4x4xbf16> -> tensor<4x4xf32>
  %r = sinter.sum %w [0] : tensor<4x4xf32> -> tensor<4xf32>
  %s = sinter.cast %b : tensor<4x4xf32> -> tensor<4x4xbf16>
  %d = sinter.cast %a : tensor<4x4xf32> -> tensor<4x4xf64>
  %t = sinter.matmul %d, %d : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %h = sinter.cast %c : tensor<4x4xf64> -> tensor<4x4xf16>
  %u = sinter.matmul %h, %h : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  return %r, %s, %t, %u : tensor<4xf32>, tensor<4x4xbf16>, tensor<4x4xf64>, tensor<4x4xf16>
}

// -----

// A matmul writes the new value in place, so its cast would still be a kernel. The same is true if the new
// value is another variable's value or an input.
// CHECK-NOT:   replica_of
// CHECK-LABEL: func.func @products
// CHECK-COUNT-3: sinter.cast
// CHECK-NOT:   sinter.cast
// REPORT:      remark: casts variable "p" to bf16 in every run: no generated kernel computes its new value in function "products"
// REPORT:      remark: casts variable "q" to bf16 in every run: no generated kernel computes its new value in function "products"
// REPORT:      remark: casts variable "i" to bf16 in every run: no generated kernel computes its new value in function "products"
sinter.variable @p : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @q : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
sinter.variable @i : tensor<4x4xf32> = constant(0.0, 0.0) seed 0
func.func @products(%x: tensor<4x4xf32> {sinter.input = "x"}, %p: tensor<4x4xf32> {sinter.variable = @p},
                    %q: tensor<4x4xf32> {sinter.variable = @q}, %i: tensor<4x4xf32> {sinter.variable = @i})
    -> (tensor<4x4xbf16> {sinter.output = "y"}, tensor<4x4xf32> {sinter.variable = @p},
        tensor<4x4xf32> {sinter.variable = @q}, tensor<4x4xf32> {sinter.variable = @i}) {
  %l = sinter.cast %p : tensor<4x4xf32> -> tensor<4x4xbf16>
  %m = sinter.cast %q : tensor<4x4xf32> -> tensor<4x4xbf16>
  %n = sinter.cast %i : tensor<4x4xf32> -> tensor<4x4xbf16>
  %a = sinter.matmul %l, %m : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %y = sinter.matmul %a, %n : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %new = sinter.matmul %x, %x addend %p : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %new, %p, %x : tensor<4x4xbf16>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// On a GPU the matmul that gives a large gradient updates the variable. This has priority over a replica.
// CHECK:        sinter.variable @"large#bf16"
// UPDATE:       sinter.variable @large
// UPDATE-NOT:   replica_of
// UPDATE-LABEL: func.func @update
// UPDATE:         sinter.cast %arg2
// UPDATE:         %[[NEW:.*]] = sinter.matmul %{{.*}} addend %arg2
// UPDATE-NOT:     sinter.cast
// UPDATE:         return %{{.*}}, %[[NEW]]
sinter.variable @large : tensor<1024x1024xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<gpu, 0>}
func.func @update(%x: tensor<8x1024xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>},
                  %n: tensor<8x1024xbf16> {sinter.input = "n", sinter.device = #sinter.device<gpu, 0>},
                  %w: tensor<1024x1024xf32> {sinter.variable = @large, sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<8x1024xbf16> {sinter.output = "y"}, tensor<1024x1024xf32> {sinter.variable = @large}) {
  %c = sinter.cast %w : tensor<1024x1024xf32> -> tensor<1024x1024xbf16>
  %y = sinter.matmul %n, %c : (tensor<8x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<8x1024xbf16>
  %g = sinter.matmul %x, %x {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %new = sinter.sub %w, %g : tensor<1024x1024xf32>
  return %y, %new : tensor<8x1024xbf16>, tensor<1024x1024xf32>
}

// -----

// The f32 result is also an output; its low-precision replica is not.
// CHECK-LABEL: func.func @told
// CHECK-SAME:  -> (tensor<8x8xf32> {sinter.output = "new", sinter.variable = @t}, tensor<8x8xbf16> {sinter.variable = @"t#bf16"})
sinter.variable @t : tensor<8x8xf32> = constant(0.0, 0.0) seed 0
func.func @told(%x: tensor<8x8xbf16> {sinter.input = "x"}, %t: tensor<8x8xf32> {sinter.variable = @t})
    -> (tensor<8x8xf32> {sinter.output = "new", sinter.variable = @t}) {
  %n = sinter.cast %t : tensor<8x8xf32> -> tensor<8x8xbf16>
  %y = sinter.matmul %x, %n : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %g = sinter.cast %y : tensor<8x8xbf16> -> tensor<8x8xf32>
  %new = sinter.sub %t, %g : tensor<8x8xf32>
  return %new : tensor<8x8xf32>
}

// -----

// One function reads the variable twice.
// CHECK-LABEL: func.func @twice
// CHECK-SAME:  %[[KEPT:[a-z0-9]*]]: tensor<8x8xbf16> {sinter.variable = @"d#bf16"}) ->
// CHECK-NOT:     sinter.cast
// CHECK:         sinter.matmul %arg0, %[[KEPT]]
// CHECK:         sinter.matmul %arg0, %[[KEPT]]
sinter.variable @d : tensor<8x8xf32> = constant(0.0, 0.0) seed 0
func.func @twice(%x: tensor<8x8xbf16> {sinter.input = "x"}, %a: tensor<8x8xf32> {sinter.variable = @d},
                 %b: tensor<8x8xf32> {sinter.variable = @d})
    -> (tensor<8x8xbf16> {sinter.output = "y"}, tensor<8x8xbf16> {sinter.output = "z"}) {
  %n = sinter.cast %a : tensor<8x8xf32> -> tensor<8x8xbf16>
  %m = sinter.cast %b : tensor<8x8xf32> -> tensor<8x8xbf16>
  %y = sinter.matmul %x, %n : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %z = sinter.matmul %x, %m : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %y, %z : tensor<8x8xbf16>, tensor<8x8xbf16>
}

// -----

// Each rank's replica has the same part as its variable.
// CHECK: sinter.variable @"cut#bf16" : tensor<4x8xbf16> {{.*}}sinter.box = #sinter.box<[4 of 8 from [0, 4], 8] of tensor<8x8xbf16>>
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  sinter.variable @cut : tensor<4x8xf32> = constant(0.0, 0.0) seed 0 {sinter.box = #sinter.box<[4 of 8 from [0, 4], 8] of tensor<8x8xf32>>}
  func.func @cut_read(%x: tensor<8x4xbf16> {sinter.input = "x"}, %w: tensor<4x8xf32> {sinter.variable = @cut})
      -> (tensor<8x8xbf16> {sinter.output = "y"}) {
    %n = sinter.cast %w : tensor<4x8xf32> -> tensor<4x8xbf16>
    %y = sinter.matmul %x, %n : (tensor<8x4xbf16>, tensor<4x8xbf16>) -> tensor<8x8xbf16>
    return %y : tensor<8x8xbf16>
  }
}
