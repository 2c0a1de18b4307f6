// RUN: sinter-opt %s --device=gpu:0 --sinter-fuse | FileCheck %s
// RUN: sinter-opt %s --sinter-fuse | FileCheck %s --check-prefix=CPU

// A norm, a matmul and the norm's gradients. On a GPU the normalised x is not stored in f32: its readers
// recompute it from x in bf16 and two numbers per row. The input that the row sums and the column sums share
// is recomputed too. Both column sums are one kernel, and all ops that lead to dx are one kernel.
// CHECK-LABEL: func.func @norm(
// CHECK: %[[F:.*]]:3 = sinter.fusion(%[[X:.*]] : {{.*}}) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024x256xbf16>)
// CHECK: %[[D:.*]] = sinter.matmul %[[F]]#2
// CHECK: %[[S:.*]]:2 = sinter.fusion(%[[X]], %[[F]]#0, %[[F]]#1, %[[D]] : {{.*}}) -> (tensor<256xf32>, tensor<256xf32>)
// CHECK: sinter.sum %{{.*}} [0]
// CHECK: sinter.sum %{{.*}} [0]
// CHECK: %[[DX:.*]] = sinter.fusion(%[[X]], %[[F]]#0, %[[F]]#1, %[[D]] : {{.*}}) -> (tensor<1024x256xbf16>)
// CHECK: sinter.sum %{{.*}} [1]
// CHECK: return %[[DX]], %[[S]]#0, %[[S]]#1
// On a CPU it is stored.
// CPU-LABEL: func.func @norm(
// CPU: sinter.fusion(%{{.*}}) -> (tensor<1024xf32>, tensor<1024x256xf32>, tensor<1024x256xbf16>)
func.func @norm(%x: tensor<1024x256xbf16> {sinter.input = "x"}, %w: tensor<256x256xbf16> {sinter.input = "w"})
    -> (tensor<1024x256xbf16> {sinter.output = "dx"}, tensor<256xf32> {sinter.output = "dscale"}, tensor<256xf32> {sinter.output = "doffset"}) {
  %count = sinter.constant dense<2.560000e+02> : tensor<1024xf32>
  %wide = sinter.cast %x : tensor<1024x256xbf16> -> tensor<1024x256xf32>
  %total = sinter.sum %wide [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %mean = sinter.div %total, %count : tensor<1024xf32>
  %means = sinter.broadcast %mean [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %centered = sinter.sub %wide, %means : tensor<1024x256xf32>
  %squares = sinter.square %centered : tensor<1024x256xf32>
  %sum = sinter.sum %squares [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %scale = sinter.rsqrt %sum : tensor<1024xf32>
  %scales = sinter.broadcast %scale [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %normal = sinter.mul %centered, %scales : tensor<1024x256xf32>
  %narrow = sinter.cast %normal : tensor<1024x256xf32> -> tensor<1024x256xbf16>
  %product = sinter.matmul %narrow, %w : (tensor<1024x256xbf16>, tensor<256x256xbf16>) -> tensor<1024x256xbf16>
  %dy = sinter.cast %product : tensor<1024x256xbf16> -> tensor<1024x256xf32>
  %weighted = sinter.mul %dy, %normal : tensor<1024x256xf32>
  %dscale = sinter.sum %weighted [0] : tensor<1024x256xf32> -> tensor<256xf32>
  %doffset = sinter.sum %dy [0] : tensor<1024x256xf32> -> tensor<256xf32>
  %along = sinter.sum %weighted [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %alongs = sinter.broadcast %along [0] : tensor<1024xf32> -> tensor<1024x256xf32>
  %part = sinter.mul %normal, %alongs : tensor<1024x256xf32>
  %rest = sinter.sub %dy, %part : tensor<1024x256xf32>
  %scaled = sinter.mul %rest, %scales : tensor<1024x256xf32>
  %dx = sinter.cast %scaled : tensor<1024x256xf32> -> tensor<1024x256xbf16>
  return %dx, %dscale, %doffset : tensor<1024x256xbf16>, tensor<256xf32>, tensor<256xf32>
}

// A value is stored if recomputing it costs more than reading it, or if its inputs have more bytes than it
// has.
// CHECK-LABEL: func.func @stored(
// CHECK: %[[F:.*]]:3 = sinter.fusion(
// CHECK: %[[M:.*]] = sinter.matmul
// CHECK: sinter.fusion(%[[M]], %[[F]]#0, %[[F]]#1 :
func.func @stored(%x: tensor<256x256xbf16> {sinter.input = "x"}, %y: tensor<256x256xbf16> {sinter.input = "y"})
    -> (tensor<256x256xbf16> {sinter.output = "z"}) {
  %e = sinter.exp %x : tensor<256x256xbf16>
  %s = sinter.add %x, %y : tensor<256x256xbf16>
  %a = sinter.mul %e, %s : tensor<256x256xbf16>
  %m = sinter.matmul %a, %y : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %f = sinter.mul %m, %e : tensor<256x256xbf16>
  %z = sinter.mul %f, %s : tensor<256x256xbf16>
  return %z : tensor<256x256xbf16>
}

// A reader recomputes a mask if the mask's operand is in memory until then.
// CHECK-LABEL: func.func @mask(
// CHECK: %[[R:.*]] = sinter.fusion({{.*}}) -> (tensor<1024x256xbf16>)
// CHECK-NOT: sinter.compare
// CHECK: sinter.matmul
// CHECK: sinter.fusion({{.*}}%[[R]]
// CHECK: sinter.compare gt
func.func @mask(%x: tensor<1024x256xbf16> {sinter.input = "x"}, %w: tensor<256x256xbf16> {sinter.input = "w"})
    -> (tensor<1024x256xbf16> {sinter.output = "dx"}, tensor<256x256xbf16> {sinter.output = "dw"}) {
  %zero = sinter.constant dense<0.0> : tensor<1024x256xbf16>
  %e = sinter.add %x, %x : tensor<1024x256xbf16>
  %r = sinter.relu %e : tensor<1024x256xbf16>
  %p = sinter.matmul %r, %w : (tensor<1024x256xbf16>, tensor<256x256xbf16>) -> tensor<1024x256xbf16>
  %g = sinter.matmul %p, %w : (tensor<1024x256xbf16>, tensor<256x256xbf16>) -> tensor<1024x256xbf16>
  %dw = sinter.matmul %r, %p {transpose_a} : (tensor<1024x256xbf16>, tensor<1024x256xbf16>) -> tensor<256x256xbf16>
  %m = sinter.compare gt %r, %zero : tensor<1024x256xbf16> -> tensor<1024x256xi1>
  %dx = sinter.select %m, %g, %zero : tensor<1024x256xi1>, tensor<1024x256xbf16>
  return %dx, %dw : tensor<1024x256xbf16>, tensor<256x256xbf16>
}

// A norm of columns, a relu, and their gradient. The gradient after relu is not stored between the sums and
// the kernel that needs them. relu's mask is computed from the norm's operand, which both kernels read
// anyway, not from relu's result.
// CHECK-LABEL: func.func @masked(
// CHECK: %[[X:.*]] = sinter.matmul
// CHECK: %[[Y:.*]] = sinter.fusion(%[[X]],
// CHECK: %[[H:.*]] = sinter.matmul %[[Y]],
// CHECK: %[[DY:.*]] = sinter.matmul %[[H]],
// CHECK: %[[S:.*]]:2 = sinter.fusion(%[[X]], %{{.*}}, %{{.*}}, %[[DY]] : {{.*}}) -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: sinter.fusion(%[[X]], %{{.*}}, %{{.*}}, %[[DY]], %[[S]]#0, %[[S]]#1 : {{.*}}) -> (tensor<65536x64xbf16>)
func.func @masked(%a: tensor<65536x32xbf16> {sinter.input = "a"}, %w: tensor<32x64xbf16> {sinter.input = "w"},
                  %v: tensor<64x32xbf16> {sinter.input = "v"}, %mean: tensor<64xf32> {sinter.input = "mean"},
                  %scale: tensor<64xf32> {sinter.input = "scale"})
    -> (tensor<65536x32xbf16> {sinter.output = "z"}) {
  %x = sinter.matmul %a, %w : (tensor<65536x32xbf16>, tensor<32x64xbf16>) -> tensor<65536x64xbf16>
  %wide = sinter.cast %x : tensor<65536x64xbf16> -> tensor<65536x64xf32>
  %means = sinter.broadcast %mean [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %centered = sinter.sub %wide, %means : tensor<65536x64xf32>
  %scales = sinter.broadcast %scale [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %normal = sinter.mul %centered, %scales : tensor<65536x64xf32>
  %narrow = sinter.cast %normal : tensor<65536x64xf32> -> tensor<65536x64xbf16>
  %y = sinter.relu %narrow : tensor<65536x64xbf16>
  %h = sinter.matmul %y, %v : (tensor<65536x64xbf16>, tensor<64x32xbf16>) -> tensor<65536x32xbf16>
  %dy = sinter.matmul %h, %w : (tensor<65536x32xbf16>, tensor<32x64xbf16>) -> tensor<65536x64xbf16>
  %zero = sinter.constant dense<0.0> : tensor<65536x64xbf16>
  %mask = sinter.compare gt %y, %zero : tensor<65536x64xbf16> -> tensor<65536x64xi1>
  %g = sinter.select %mask, %dy, %zero : tensor<65536x64xi1>, tensor<65536x64xbf16>
  %gwide = sinter.cast %g : tensor<65536x64xbf16> -> tensor<65536x64xf32>
  %sum = sinter.sum %gwide [0] : tensor<65536x64xf32> -> tensor<64xf32>
  %along = sinter.mul %gwide, %normal : tensor<65536x64xf32>
  %total = sinter.sum %along [0] : tensor<65536x64xf32> -> tensor<64xf32>
  %sums = sinter.broadcast %sum [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %totals = sinter.broadcast %total [1] : tensor<64xf32> -> tensor<65536x64xf32>
  %rest = sinter.sub %gwide, %sums : tensor<65536x64xf32>
  %part = sinter.mul %normal, %totals : tensor<65536x64xf32>
  %inner = sinter.sub %rest, %part : tensor<65536x64xf32>
  %dx = sinter.cast %inner : tensor<65536x64xf32> -> tensor<65536x64xbf16>
  %z = sinter.matmul %dx, %v : (tensor<65536x64xbf16>, tensor<64x32xbf16>) -> tensor<65536x32xbf16>
  return %z : tensor<65536x32xbf16>
}

// A small group norm and its scale's gradient: the rows' sums and the channels' sum share no pass. The
// normalised x, which leads from one to the other, is recomputed from x and two numbers per row.
// CHECK-LABEL: func.func @groups(
// CHECK: %[[F:.*]]:2 = sinter.fusion(%[[X:.*]] : {{.*}}) -> (tensor<64xf32>, tensor<64x4x24xbf16>)
// CHECK: %[[S:.*]] = sinter.fusion(%[[X]], %[[F]]#0, %{{.*}} : {{.*}}) -> (tensor<4xf32>)
// CHECK: sinter.sum %{{.*}} [0, 2]
// CHECK: return %[[F]]#1, %[[S]]
func.func @groups(%x: tensor<64x4x24xbf16> {sinter.input = "x"}, %dy: tensor<64x4x24xbf16> {sinter.input = "dy"})
    -> (tensor<64x4x24xbf16> {sinter.output = "y"}, tensor<4xf32> {sinter.output = "dscale"}) {
  %wide = sinter.cast %x : tensor<64x4x24xbf16> -> tensor<64x4x24xf32>
  %squares = sinter.square %wide : tensor<64x4x24xf32>
  %sum = sinter.sum %squares [1, 2] : tensor<64x4x24xf32> -> tensor<64xf32>
  %scale = sinter.rsqrt %sum : tensor<64xf32>
  %scales = sinter.broadcast %scale [0] : tensor<64xf32> -> tensor<64x4x24xf32>
  %normal = sinter.mul %wide, %scales : tensor<64x4x24xf32>
  %y = sinter.cast %normal : tensor<64x4x24xf32> -> tensor<64x4x24xbf16>
  %g = sinter.cast %dy : tensor<64x4x24xbf16> -> tensor<64x4x24xf32>
  %weighted = sinter.mul %g, %normal : tensor<64x4x24xf32>
  %dscale = sinter.sum %weighted [0, 2] : tensor<64x4x24xf32> -> tensor<4xf32>
  return %y, %dscale : tensor<64x4x24xbf16>, tensor<4xf32>
}
