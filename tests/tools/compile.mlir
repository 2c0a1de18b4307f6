// RUN: sinter-compile %s --report=fusion,time | FileCheck %s --check-prefix=REPORT
// RUN: sinter-compile %s --report=memory,copies | FileCheck %s --check-prefix=COPIES
// RUN: sinter-compile %s --report=kernels | FileCheck %s --check-prefix=KERNELS
// RUN: sinter-compile %s --dump=fuse | FileCheck %s --check-prefix=FUSED
// RUN: sinter-compile %s --dump=fuse --no-fuse | FileCheck %s --check-prefix=UNFUSED
// RUN: sinter-compile %s --dump=llvm | FileCheck %s --check-prefix=LLVM
// RUN: sinter-compile %s -o %t.a.plan --target-cpu=x86-64-v3
// RUN: sinter-compile %s -o %t.b.plan --target-cpu=x86-64-v3
// RUN: diff %t.a.plan %t.b.plan

// REPORT: compile.mlir:
// REPORT: differentiate {{[0-9.]+}} ms
// REPORT: emit {{[0-9.]+}} ms
// REPORT: total {{[0-9.]+}} ms
// COPIES: {{no copies|copy in f}}
// KERNELS: compile.mlir:{{[0-9]+}}: {{.*}} on cpu:0: cpu.fused, 0 bytes of workspace
// FUSED: // fuse
// FUSED: sinter.fusion
// FUSED: sinter.exp
// FUSED-NEXT: sinter.neg
// FUSED-NOT: sinter.fusion
// UNFUSED: // fuse
// UNFUSED: sinter.exp
// LLVM: define {{.*}}void
// LLVM: fmul <{{[0-9]+}} x float>
func.func @f(%x: tensor<4096xf32> {sinter.input = "x"}) -> (tensor<4096xf32> {sinter.output = "y"}) {
  %e = sinter.exp %x : tensor<4096xf32>
  %n = sinter.neg %e : tensor<4096xf32>
  %y = sinter.mul %n, %x : tensor<4096xf32>
  return %y : tensor<4096xf32>
}
