// RUN: sinter-compile %s -o %t.plan
// RUN: sinter profile %t.plan --function predict --repeat 3 --trace %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// RUN: sinter profile %t.plan --function twins --repeat 2 --no-roofline --top 2 | FileCheck %s --check-prefix=TOP

// CHECK: function predict of plan profile on cpu:0: 2 steps, 3 runs
// CHECK-NEXT: run {{[0-9.]+}} ms without a profile, the median
// CHECK-NEXT: steps {{[0-9.]+}} ms {{[0-9.]+}} %: the sum of their medians
// CHECK-NEXT: gap {{-?[0-9.]+}} ms {{-?[0-9.]+}} %
// CHECK-NOT: events
// CHECK: roofline, measured first
// CHECK-NEXT: cpu:0 copy of 128 MiB {{[0-9.]+}} GB/s
// CHECK-NEXT: cpu:0 f32 matmul of 1024 {{[0-9.]+}} GFLOP/s
// CHECK: by kind
// CHECK-NEXT: steps ms % GB/s GFLOP/s roofline % bound kind
// CHECK-DAG: 1 {{[0-9. -]+}} {{memory|compute}} matmul
// CHECK-DAG: 1 {{[0-9. -]+}} memory kernel
// CHECK-NOT: identical steps
// CHECK: step by step
// CHECK-NEXT: step ms % GB/s GFLOP/s roofline % bound what
// CHECK-DAG: 0 {{[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+}} {{memory|compute}} matmul 256x128x512 in f32; profile.mlir:[[#]]
// CHECK-DAG: 1 {{[0-9.]+ +[0-9.]+ +[0-9.]+ +.+}} memory kernel {{.+}}; f32[256,128]{{.*}} -> f32[256]; profile.mlir:[[#]]

// TRACE: "name": "process_name"
// TRACE: "name": "profile, predict"
// TRACE: "name": "thread_name"
// TRACE: "name": "cpu:0"
// TRACE: "name": "matmul 256x128x512 in f32"
// TRACE-NEXT: "cat": "matmul"
// TRACE-NEXT: "ph": "X"
// TRACE-NEXT: "ts": {{[0-9.e-]+}}
// TRACE-NEXT: "dur": {{[0-9.e-]+}}
// TRACE: "step": 0
// TRACE: "lines": "profile.mlir:[[#]]
// TRACE: "bound": "{{memory|compute}}"

// TOP: function twins of plan profile on cpu:0: 3 steps, 2 runs
// TOP-NOT: roofline, measured
// TOP: by kind
// TOP-NEXT: step
// TOP-NEXT: 3 {{.*}} - - matmul
// TOP: step by step
// TOP-NEXT: step
// TOP-COUNT-2: matmul 64x64x64 in f32; profile.mlir:[[#]]
// TOP-NEXT: - {{.*}} the other 1 step
// TOP-NOT: matmul
sinter.variable @w : tensor<512x128xf32> = uniform(-0.5, 0.5) seed 1 trainable

func.func @predict(%x: tensor<256x512xf32> {sinter.input = "x"}, %w: tensor<512x128xf32> {sinter.variable = @w})
    -> (tensor<256xf32> {sinter.output = "y"}) {
  %p = sinter.matmul %x, %w : (tensor<256x512xf32>, tensor<512x128xf32>) -> tensor<256x128xf32>
  %e = sinter.exp %p : tensor<256x128xf32>
  %y = sinter.sum %e [1] : tensor<256x128xf32> -> tensor<256xf32>
  return %y : tensor<256xf32>
}

func.func @twins(%x: tensor<64x64xf32> {sinter.input = "x"}) -> (tensor<64x64xf32> {sinter.output = "y"}) {
  %a = sinter.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = sinter.matmul %x, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = sinter.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
