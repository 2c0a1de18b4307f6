// RUN: sinter-opt %s --sinter-concat-along-first --canonicalize --cse --mlir-print-local-scope | FileCheck %s

// For each element a kernel would have to search many parts. A concat along dimension 0 lets each part be
// written directly to its own range, so a wide concat along another dimension becomes that concat and a
// transpose.
// CHECK-LABEL: func.func @wide_concat
// CHECK: sinter.transpose %{{.*}} [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
// CHECK: %[[ALL:.*]] = sinter.concat {{.*}} dim 0 : {{.*}} -> tensor<144x4xf32>
// CHECK: sinter.transpose %[[ALL]] [1, 0] : tensor<144x4xf32> -> tensor<4x144xf32>
func.func @wide_concat(%x: tensor<4x16xf32>) -> tensor<4x144xf32> {
  %r = sinter.concat %x, %x, %x, %x, %x, %x, %x, %x, %x dim 1 : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x144xf32>
  return %r : tensor<4x144xf32>
}
// CHECK-LABEL: func.func @wide_concat_of_middles
// CHECK: sinter.concat {{.*}} dim 0 : {{.*}} -> tensor<9x2x64xf32>
// CHECK: sinter.transpose %{{.*}} [1, 0, 2] : tensor<9x2x64xf32> -> tensor<2x9x64xf32>
func.func @wide_concat_of_middles(%x: tensor<2x1x64xf32>) -> tensor<2x9x64xf32> {
  %r = sinter.concat %x, %x, %x, %x, %x, %x, %x, %x, %x dim 1 : (tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}
// CHECK-LABEL: func.func @few
// CHECK: sinter.concat {{.*}} dim 1
func.func @few(%x: tensor<4x16xf32>) -> tensor<4x32xf32> {
  %r = sinter.concat %x, %x dim 1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// The new ops are on the device of the concat.
// CHECK-LABEL: func.func @placed
// CHECK: sinter.transpose {{.*}}sinter.device = #sinter.device<gpu, 1>
// CHECK: sinter.concat {{.*}} dim 0 {sinter.device = #sinter.device<gpu, 1>}
// CHECK: sinter.transpose {{.*}}sinter.device = #sinter.device<gpu, 1>
func.func @placed(%x: tensor<4x16xf32> {sinter.device = #sinter.device<gpu, 1>}) -> tensor<4x144xf32> {
  %r = sinter.concat %x, %x, %x, %x, %x, %x, %x, %x, %x dim 1 {sinter.device = #sinter.device<gpu, 1>} : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x144xf32>
  return %r : tensor<4x144xf32>
}
