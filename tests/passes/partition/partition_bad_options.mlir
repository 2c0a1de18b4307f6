// RUN: not sinter-opt %s '--sinter-partition=devices=gpu:0,tpu:1' 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not sinter-opt %s '--sinter-partition=devices=gpu:0,gpu:0' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not sinter-opt %s --sinter-partition 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not sinter-opt %s '--sinter-partition=devices=gpu:0 scale=median' 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: not sinter-opt %s '--sinter-partition=devices=gpu:0 update=none' 2>&1 | FileCheck %s --check-prefix=UPDATE
// RUN: not sinter-opt %s '--sinter-partition=devices=cpu:0,gpu:1' 2>&1 | FileCheck %s --check-prefix=KINDS

// DEVICE: "tpu:1" is no device; expected one such as gpu:0
// TWICE: the devices of the batch name gpu:0 twice
// NONE: no devices are named that share the batch
// SCALE: unknown scale "median"; expected global-mean, mean-of-means or sum
// UPDATE: unknown update "none"; expected replicated or main
// KINDS: a batch cannot be shared by cpu:0 and gpu:1: CPUs exchange with CPUs, GPUs with GPUs; name devices of one kind
func.func @f(%x: tensor<3x4xf32> {sinter.input = "x"}) -> (tensor<3x4xf32> {sinter.output = "y"}) {
  return %x : tensor<3x4xf32>
}
