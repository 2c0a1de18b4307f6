// RUN: sinter-compile %s -o %t.plan --target-cpu=x86-64-v3,x86-64-v4
// RUN: sinter inspect %t.plan | FileCheck %s
// RUN: env SINTER_CPU_LEVEL=x86-64-v3 sinter inspect %t.plan | FileCheck %s --check-prefix=V3
// RUN: env SINTER_CPU_LEVEL=x86-64-v2 sinter inspect %t.plan | FileCheck %s --check-prefix=V2
// RUN: sinter-compile %s --dump=assembly --target-cpu=x86-64-v3,x86-64-v4 | FileCheck %s --check-prefix=ASSEMBLY
// RUN: not sinter-compile %s --target-cpu=x86-64-v3,z80 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: target x86-64-v3, x86_64-unknown-linux-gnu
// CHECK-NEXT: needs avx avx2 bmi bmi2 f16c fma lzcnt movbe popcnt sse3 sse4.1 sse4.2 ssse3{{$}}
// CHECK-NEXT: faster on x86-64-v4
// CHECK-NEXT: needs avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi {{.*}}
// CHECK: runs here yes, with the code for x86-64-v{{[34]}}
// V3: runs here yes, with the code for x86-64-v3
// V2: runs here Sinter needs a CPU of level x86-64-v3 (Intel Haswell, AMD Zen, or newer); this one lacks avx,
// ASSEMBLY: // For x86-64-v4
// ASSEMBLY: %zmm
// ASSEMBLY: // For x86-64-v3
// ASSEMBLY-NOT: %zmm
// UNKNOWN: unknown CPU "z80"; the nearest names are
func.func @f(%x: tensor<4096xf32> {sinter.input = "x"}) -> (tensor<4096xf32> {sinter.output = "y"}) {
  %y = sinter.exp %x : tensor<4096xf32>
  return %y : tensor<4096xf32>
}
