// --device places a program before all other passes, also before those of a --pass-pipeline.
// RUN: sinter-opt %s --device=gpu:0 | FileCheck %s --check-prefix=GPU
// RUN: sinter-opt %s --device=gpu:1 --pass-pipeline="builtin.module(func.func(sinter-fuse-epilogue{report=true}))" 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: sinter-opt %s --device=cpu:0 --canonicalize | FileCheck %s --check-prefix=CPU
// RUN: not sinter-opt %s --device=tpu:0 2>&1 | FileCheck %s --check-prefix=ERROR

// GPU: sinter.matmul %{{.*}} {sinter.device = #sinter.device<gpu, 0>}
// PIPELINE: cuBLASLt applies gelu_tanh only
// PIPELINE: sinter.matmul %{{.*}} {sinter.device = #sinter.device<gpu, 1>}
// CPU-NOT: sinter.device
// ERROR: cannot place on 'tpu:0'
func.func @gelu(%x: tensor<8x16xf32> {sinter.input = "x"}, %w: tensor<16x32xf32> {sinter.input = "w"})
    -> (tensor<8x32xf32> {sinter.output = "y"}) {
  %h = sinter.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %y = sinter.gelu %h : tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
