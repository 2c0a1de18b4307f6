// RUN: sinter-compile %s -o %t.plan
// RUN: sinter run %t.plan --repeat 3 --profile --output %t.npz | FileCheck %s
// RUN: sinter run %t.plan --input k=2 --seed 7 | FileCheck %s --check-prefix=NUMBER
// RUN: sinter run %t.plan --load-times | FileCheck %s --check-prefix=LOAD
// RUN: not sinter run %t.plan --input %t.npz 2>&1 | FileCheck %s --check-prefix=EXTRA
// EXTRA: sinter run: the function has no input "total"; it has x, k

// CHECK: 3 runs: median {{[0-9.]+}} ms, least {{[0-9.]+}} ms, first {{[0-9.]+}} ms
// CHECK-NEXT: output x: f32[1000] min -0.0{{[0-9]+}}, mean {{.*}}, max 0.0{{[0-9]+}}
// CHECK-NEXT: output total: f32[] = {{.*}}
// CHECK: step ms mean ms min % GB/s GFLOP/s what
// CHECK: 0 {{.*}} kernel {{.*}}run.mlir:[[#]]
// CHECK: sum {{[0-9.]+}} ms of steps, {{[0-9.]+}} ms of whole runs
// NUMBER: output x: f32[1000] min -1.9{{[0-9]+}}, mean {{.*}}, max 1.9{{[0-9]+}}
// LOAD: ms read and check the plan
// LOAD: ms generated code of CPUs
// LOAD: ms steps: kernel
// LOAD: ms first run
// LOAD-NEXT: ms from the plan's file to the end of the first run
func.func @scale(%x: tensor<1000xf32> {sinter.input = "x"}, %k: tensor<f32> {sinter.input = "k"})
    -> (tensor<1000xf32> {sinter.output = "x"}, tensor<f32> {sinter.output = "total"}) {
  %kb = sinter.broadcast %k [] : tensor<f32> -> tensor<1000xf32>
  %y = sinter.mul %x, %kb : tensor<1000xf32>
  %total = sinter.sum %y [0] : tensor<1000xf32> -> tensor<f32>
  return %y, %total : tensor<1000xf32>, tensor<f32>
}
