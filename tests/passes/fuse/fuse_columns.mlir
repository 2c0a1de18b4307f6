// RUN: sinter-opt %s --device=gpu:0 --sinter-fuse | FileCheck %s
// RUN: sinter-opt %s --sinter-fuse | FileCheck %s --check-prefix=CPU

// A norm, a matmul and the norm's gradients over many rows. On a GPU the pass over the rows that computes dx
// also computes the column sums.
// CHECK-LABEL: func.func @norm(
// CHECK: %[[F:.*]]:3 = sinter.fusion(%[[X:.*]] : {{.*}}) -> (tensor<32768xf32>, tensor<32768xf32>, tensor<32768x256xbf16>)
// CHECK: %[[D:.*]] = sinter.matmul %[[F]]#2
// CHECK: %[[S:.*]]:3 = sinter.fusion(%[[X]], %[[F]]#0, %[[F]]#1, %[[D]] : {{.*}}) -> (tensor<256xf32>, tensor<256xf32>, tensor<32768x256xbf16>)
// CHECK: sinter.sum %{{.*}} [0]
// CHECK: sinter.sum %{{.*}} [0]
// CHECK: sinter.sum %{{.*}} [1]
// CHECK: return %[[S]]#2, %[[S]]#0, %[[S]]#1
// A CPU has separate kernels.
// CPU-LABEL: func.func @norm(
// CPU: sinter.matmul
// CPU-NOT: sinter.fusion({{.*}}) -> (tensor<256xf32>, tensor<256xf32>, tensor<32768x256xbf16>)
// CPU: return
func.func @norm(%x: tensor<32768x256xbf16> {sinter.input = "x"}, %w: tensor<256x256xbf16> {sinter.input = "w"})
    -> (tensor<32768x256xbf16> {sinter.output = "dx"}, tensor<256xf32> {sinter.output = "dscale"}, tensor<256xf32> {sinter.output = "doffset"}) {
  %count = sinter.constant dense<2.560000e+02> : tensor<32768xf32>
  %wide = sinter.cast %x : tensor<32768x256xbf16> -> tensor<32768x256xf32>
  %total = sinter.sum %wide [1] : tensor<32768x256xf32> -> tensor<32768xf32>
  %mean = sinter.div %total, %count : tensor<32768xf32>
  %means = sinter.broadcast %mean [0] : tensor<32768xf32> -> tensor<32768x256xf32>
  %centered = sinter.sub %wide, %means : tensor<32768x256xf32>
  %squares = sinter.square %centered : tensor<32768x256xf32>
  %sum = sinter.sum %squares [1] : tensor<32768x256xf32> -> tensor<32768xf32>
  %scale = sinter.rsqrt %sum : tensor<32768xf32>
  %scales = sinter.broadcast %scale [0] : tensor<32768xf32> -> tensor<32768x256xf32>
  %normal = sinter.mul %centered, %scales : tensor<32768x256xf32>
  %narrow = sinter.cast %normal : tensor<32768x256xf32> -> tensor<32768x256xbf16>
  %product = sinter.matmul %narrow, %w : (tensor<32768x256xbf16>, tensor<256x256xbf16>) -> tensor<32768x256xbf16>
  %dy = sinter.cast %product : tensor<32768x256xbf16> -> tensor<32768x256xf32>
  %weighted = sinter.mul %dy, %normal : tensor<32768x256xf32>
  %dscale = sinter.sum %weighted [0] : tensor<32768x256xf32> -> tensor<256xf32>
  %doffset = sinter.sum %dy [0] : tensor<32768x256xf32> -> tensor<256xf32>
  %along = sinter.sum %weighted [1] : tensor<32768x256xf32> -> tensor<32768xf32>
  %alongs = sinter.broadcast %along [0] : tensor<32768xf32> -> tensor<32768x256xf32>
  %part = sinter.mul %normal, %alongs : tensor<32768x256xf32>
  %rest = sinter.sub %dy, %part : tensor<32768x256xf32>
  %scaled = sinter.mul %rest, %scales : tensor<32768x256xf32>
  %dx = sinter.cast %scaled : tensor<32768x256xf32> -> tensor<32768x256xbf16>
  return %dx, %dscale, %doffset : tensor<32768x256xbf16>, tensor<256xf32>, tensor<256xf32>
}

// Fewer rows get separate kernels for the rows and for the columns.
// CHECK-LABEL: func.func @few_rows(
// CHECK: sinter.matmul
// CHECK: sinter.fusion({{.*}}) -> (tensor<256xf32>, tensor<256xf32>)
// CHECK: sinter.fusion({{.*}}) -> (tensor<4096x256xbf16>)
func.func @few_rows(%x: tensor<4096x256xbf16> {sinter.input = "x"}, %w: tensor<256x256xbf16> {sinter.input = "w"})
    -> (tensor<4096x256xbf16> {sinter.output = "dx"}, tensor<256xf32> {sinter.output = "dscale"}, tensor<256xf32> {sinter.output = "doffset"}) {
  %count = sinter.constant dense<2.560000e+02> : tensor<4096xf32>
  %wide = sinter.cast %x : tensor<4096x256xbf16> -> tensor<4096x256xf32>
  %total = sinter.sum %wide [1] : tensor<4096x256xf32> -> tensor<4096xf32>
  %mean = sinter.div %total, %count : tensor<4096xf32>
  %means = sinter.broadcast %mean [0] : tensor<4096xf32> -> tensor<4096x256xf32>
  %centered = sinter.sub %wide, %means : tensor<4096x256xf32>
  %squares = sinter.square %centered : tensor<4096x256xf32>
  %sum = sinter.sum %squares [1] : tensor<4096x256xf32> -> tensor<4096xf32>
  %scale = sinter.rsqrt %sum : tensor<4096xf32>
  %scales = sinter.broadcast %scale [0] : tensor<4096xf32> -> tensor<4096x256xf32>
  %normal = sinter.mul %centered, %scales : tensor<4096x256xf32>
  %narrow = sinter.cast %normal : tensor<4096x256xf32> -> tensor<4096x256xbf16>
  %product = sinter.matmul %narrow, %w : (tensor<4096x256xbf16>, tensor<256x256xbf16>) -> tensor<4096x256xbf16>
  %dy = sinter.cast %product : tensor<4096x256xbf16> -> tensor<4096x256xf32>
  %weighted = sinter.mul %dy, %normal : tensor<4096x256xf32>
  %dscale = sinter.sum %weighted [0] : tensor<4096x256xf32> -> tensor<256xf32>
  %doffset = sinter.sum %dy [0] : tensor<4096x256xf32> -> tensor<256xf32>
  %along = sinter.sum %weighted [1] : tensor<4096x256xf32> -> tensor<4096xf32>
  %alongs = sinter.broadcast %along [0] : tensor<4096xf32> -> tensor<4096x256xf32>
  %part = sinter.mul %normal, %alongs : tensor<4096x256xf32>
  %rest = sinter.sub %dy, %part : tensor<4096x256xf32>
  %scaled = sinter.mul %rest, %scales : tensor<4096x256xf32>
  %dx = sinter.cast %scaled : tensor<4096x256xf32> -> tensor<4096x256xbf16>
  return %dx, %dscale, %doffset : tensor<4096x256xbf16>, tensor<256xf32>, tensor<256xf32>
}

