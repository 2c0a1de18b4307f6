// RUN: sinter-opt %s --pass-pipeline='builtin.module(sinter-rematerialise{limit=2200})' | FileCheck %s
// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(sinter-rematerialise{limit=2200 report})' -o /dev/null
// RUN: sinter-opt %s --pass-pipeline='builtin.module(sinter-rematerialise{limit=4000})' | FileCheck %s --check-prefix=FITS
// RUN: not sinter-opt %s --pass-pipeline='builtin.module(sinter-rematerialise{limit=2000})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAST

// A value is read before and after the peak and can be recomputed from an input, so it is not kept. The
// earlier reader uses the original.
// CHECK-LABEL: plan.function @again
// CHECK: %[[VIEW:.*]] = plan.view %[[NEW:.*]] at 0
// CHECK: plan.call "a" ins(%[[X:.*]] : {{.*}} outs(%[[A:.*]] :
// CHECK: plan.call "a_sum" ins(%[[A]] :
// CHECK: plan.call "b_sum"
// CHECK: plan.call "a_again" ins(%[[X]] : {{.*}} outs(%[[NEW]] : !plan.buffer<tensor<256xf32>>
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<256xf32>):
// CHECK-NOT: sinter.neg
// CHECK: sinter.exp %[[I]]
// CHECK: plan.call "last" ins(%[[VIEW]],
// FITS-LABEL: plan.function @again
// FITS-NOT: again
// LEAST: error: function @again needs at least 2112 bytes on cpu:0, 0 of them for variables, constants and inputs, and the memory limit is 2000: raise CompileOptions::memory_limit or make the batch smaller; at its peak are alive, the largest first
// LEAST: note: 2048 bytes: 'tensor<512xf32>'
plan.function @again {
  %x = plan.input "x" : <tensor<256xf32>>
  // expected-remark @below {{computes 'tensor<256xf32>' again, 1024 bytes that are not kept, by moving 2048}}
  %a = plan.alloc : <tensor<256xf32>>
  %n = plan.alloc : <tensor<f32>>
  %v = plan.view %a at 0 : <tensor<256xf32>> -> <tensor<16x16xf32>>
  %s = plan.alloc : <tensor<f32>>
  %b = plan.alloc : <tensor<512xf32>>
  %t = plan.alloc : <tensor<f32>>
  %r = plan.alloc : <tensor<f32>>
  plan.call "a" ins(%x : !plan.buffer<tensor<256xf32>>) outs(%a : !plan.buffer<tensor<256xf32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.exp %i : tensor<256xf32>
    sinter.yield %e : tensor<256xf32>
  }
  plan.call "a_sum" ins(%a : !plan.buffer<tensor<256xf32>>) outs(%s : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<256xf32>):
    %e = sinter.sum %i [0] : tensor<256xf32> -> tensor<f32>
    sinter.yield %e : tensor<f32>
  }
  plan.call "b" ins(%s : !plan.buffer<tensor<f32>>) outs(%b : !plan.buffer<tensor<512xf32>>) {
  ^bb0(%i: tensor<f32>):
    %e = sinter.broadcast %i [] : tensor<f32> -> tensor<512xf32>
    sinter.yield %e : tensor<512xf32>
  }
  plan.call "b_sum" ins(%b : !plan.buffer<tensor<512xf32>>) outs(%t : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<512xf32>):
    %e = sinter.sum %i [0] : tensor<512xf32> -> tensor<f32>
    sinter.yield %e : tensor<f32>
  }
  // expected-note @below {{for this reader}}
  plan.call "last" ins(%v, %t : !plan.buffer<tensor<16x16xf32>>, !plan.buffer<tensor<f32>>) outs(%r : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<16x16xf32>, %j: tensor<f32>):
    %e = sinter.sum %i [0, 1] : tensor<16x16xf32> -> tensor<f32>
    %f = sinter.mul %e, %j : tensor<f32>
    sinter.yield %f : tensor<f32>
  }
  plan.output "r" %r : <tensor<f32>>
}
