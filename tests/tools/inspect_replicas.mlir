// Replicas of variables are hidden from programs; `sinter inspect` shows them.
// RUN: sinter-compile %s -o %t.plan
// RUN: sinter inspect %t.plan | FileCheck %s
// RUN: sinter-compile %s -o %t.cast.plan --no-keep-casts
// RUN: sinter inspect %t.cast.plan | FileCheck %s --check-prefix=CAST

// CHECK:      variables: 1, 64 B; replicas of them: 1, 32 B
// CHECK-NEXT: w f32[4,4] 64 B
// CHECK-EMPTY:
// CHECK:      function f: 1 steps
// CAST:       variables: 1, 64 B{{$}}
// CAST:       function f: 2 steps
sinter.variable @w : tensor<4x4xf32> = constant(1.0, 0.0) seed 0
func.func @f(%x: tensor<2x4xbf16> {sinter.input = "x"}, %w: tensor<4x4xf32> {sinter.variable = @w}) -> (tensor<2x4xbf16> {sinter.output = "y"}) {
  %n = sinter.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
  %y = sinter.matmul %x, %n : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}
