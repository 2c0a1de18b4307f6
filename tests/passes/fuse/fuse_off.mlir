// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(func.func(sinter-fuse{report=true enable=false}))' -o /dev/null

func.func @off(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4]}}
  %a = sinter.exp %x : tensor<4xf32>
  // expected-remark @below {{not fused with sinter.exp: fusion is off}}
  // expected-remark @below {{fused 1 op(s) into a map kernel over [4]}}
  %b = sinter.neg %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
