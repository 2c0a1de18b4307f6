// RUN: sinter-opt %s --pass-pipeline='builtin.module(func.func(sinter-fuse{report=true}))' 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: sinter-opt %s --device=gpu:0 --sinter-fuse | FileCheck %s --check-prefix=GPU

// A CPU's caches and prefetchers track a limited number of buffers at once. A GPU kernel has no such limit.
// CPU: remark: not fused with sinter.add: the kernel would work on 41 buffers, more than 32
// CPU-LABEL: func.func @sum
// CPU-COUNT-2: sinter.fusion(
// CPU-NOT: sinter.fusion(
// GPU-LABEL: func.func @sum
// GPU: sinter.fusion(
// GPU-NOT: sinter.fusion(
func.func @sum(%x0: tensor<64x64xf32>, %x1: tensor<64x64xf32>, %x2: tensor<64x64xf32>,
               %x3: tensor<64x64xf32>, %x4: tensor<64x64xf32>, %x5: tensor<64x64xf32>,
               %x6: tensor<64x64xf32>, %x7: tensor<64x64xf32>, %x8: tensor<64x64xf32>,
               %x9: tensor<64x64xf32>, %x10: tensor<64x64xf32>, %x11: tensor<64x64xf32>,
               %x12: tensor<64x64xf32>, %x13: tensor<64x64xf32>, %x14: tensor<64x64xf32>,
               %x15: tensor<64x64xf32>, %x16: tensor<64x64xf32>, %x17: tensor<64x64xf32>,
               %x18: tensor<64x64xf32>, %x19: tensor<64x64xf32>, %x20: tensor<64x64xf32>,
               %x21: tensor<64x64xf32>, %x22: tensor<64x64xf32>, %x23: tensor<64x64xf32>,
               %x24: tensor<64x64xf32>, %x25: tensor<64x64xf32>, %x26: tensor<64x64xf32>,
               %x27: tensor<64x64xf32>, %x28: tensor<64x64xf32>, %x29: tensor<64x64xf32>,
               %x30: tensor<64x64xf32>, %x31: tensor<64x64xf32>, %x32: tensor<64x64xf32>,
               %x33: tensor<64x64xf32>, %x34: tensor<64x64xf32>, %x35: tensor<64x64xf32>,
               %x36: tensor<64x64xf32>, %x37: tensor<64x64xf32>, %x38: tensor<64x64xf32>,
               %x39: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %s1 = sinter.add %x0, %x1 : tensor<64x64xf32>
  %s2 = sinter.add %s1, %x2 : tensor<64x64xf32>
  %s3 = sinter.add %s2, %x3 : tensor<64x64xf32>
  %s4 = sinter.add %s3, %x4 : tensor<64x64xf32>
  %s5 = sinter.add %s4, %x5 : tensor<64x64xf32>
  %s6 = sinter.add %s5, %x6 : tensor<64x64xf32>
  %s7 = sinter.add %s6, %x7 : tensor<64x64xf32>
  %s8 = sinter.add %s7, %x8 : tensor<64x64xf32>
  %s9 = sinter.add %s8, %x9 : tensor<64x64xf32>
  %s10 = sinter.add %s9, %x10 : tensor<64x64xf32>
  %s11 = sinter.add %s10, %x11 : tensor<64x64xf32>
  %s12 = sinter.add %s11, %x12 : tensor<64x64xf32>
  %s13 = sinter.add %s12, %x13 : tensor<64x64xf32>
  %s14 = sinter.add %s13, %x14 : tensor<64x64xf32>
  %s15 = sinter.add %s14, %x15 : tensor<64x64xf32>
  %s16 = sinter.add %s15, %x16 : tensor<64x64xf32>
  %s17 = sinter.add %s16, %x17 : tensor<64x64xf32>
  %s18 = sinter.add %s17, %x18 : tensor<64x64xf32>
  %s19 = sinter.add %s18, %x19 : tensor<64x64xf32>
  %s20 = sinter.add %s19, %x20 : tensor<64x64xf32>
  %s21 = sinter.add %s20, %x21 : tensor<64x64xf32>
  %s22 = sinter.add %s21, %x22 : tensor<64x64xf32>
  %s23 = sinter.add %s22, %x23 : tensor<64x64xf32>
  %s24 = sinter.add %s23, %x24 : tensor<64x64xf32>
  %s25 = sinter.add %s24, %x25 : tensor<64x64xf32>
  %s26 = sinter.add %s25, %x26 : tensor<64x64xf32>
  %s27 = sinter.add %s26, %x27 : tensor<64x64xf32>
  %s28 = sinter.add %s27, %x28 : tensor<64x64xf32>
  %s29 = sinter.add %s28, %x29 : tensor<64x64xf32>
  %s30 = sinter.add %s29, %x30 : tensor<64x64xf32>
  %s31 = sinter.add %s30, %x31 : tensor<64x64xf32>
  %s32 = sinter.add %s31, %x32 : tensor<64x64xf32>
  %s33 = sinter.add %s32, %x33 : tensor<64x64xf32>
  %s34 = sinter.add %s33, %x34 : tensor<64x64xf32>
  %s35 = sinter.add %s34, %x35 : tensor<64x64xf32>
  %s36 = sinter.add %s35, %x36 : tensor<64x64xf32>
  %s37 = sinter.add %s36, %x37 : tensor<64x64xf32>
  %s38 = sinter.add %s37, %x38 : tensor<64x64xf32>
  %s39 = sinter.add %s38, %x39 : tensor<64x64xf32>
  return %s39 : tensor<64x64xf32>
}
