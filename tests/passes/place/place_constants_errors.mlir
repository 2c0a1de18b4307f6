// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-place-constants -o /dev/null

func.func @unplaced(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>})
    -> (tensor<4xf32> {sinter.output = "a", sinter.device = #sinter.device<gpu, 0>}) {
  // expected-error@+1 {{has no device, nor have all of its users; run sinter-propagate-placement first}}
  %a = sinter.neg %x : tensor<4xf32>
  return %a : tensor<4xf32>
}
