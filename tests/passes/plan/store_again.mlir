// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-store-again{least-bytes=0 part=0.5}))' | FileCheck %s
// RUN: sinter-opt %s --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-store-again{least-bytes=0 part=0.5 report}))' -o /dev/null
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-store-again{least-bytes=0 part=0.00001}))' | FileCheck %s --check-prefix=KEPT
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-store-again{part=0.5}))' | FileCheck %s --check-prefix=KEPT
// RUN: sinter-opt %s --pass-pipeline='builtin.module(plan.function(sinter-store-again{least-bytes=0 part=0.5 most-buffers=12}))' | FileCheck %s --check-prefix=KEPT

// "grad" reads x, so it stores exp(x) s again for "late", which moves behind it with "late_sum". Small operands,
// such as s, may be new to it.
// CHECK-LABEL: plan.function @again
// CHECK: plan.call "exp" ins(%[[X:[0-9]+]], %[[S:[0-9]+]] : {{.*}} outs(%[[E:[0-9]+]] :
// CHECK: plan.call "early" ins(%[[E]], %{{.*}} :
// CHECK: plan.call "peak"
// CHECK: plan.call "peak_sum"
// CHECK-NOT: "late"
// CHECK: plan.call "grad" ins(%[[X]], %{{.*}}, %[[S]] : {{.*}} outs(%{{[0-9]+}}, %[[NEW:[0-9]+]] :
// CHECK: ^bb0(%[[A:[a-z0-9]+]]: tensor<512x512xf32>, %{{[a-z0-9]+}}: tensor<512xf32>, %[[B:[a-z0-9]+]]: tensor<512xf32>):
// CHECK: %[[EXP:.*]] = sinter.exp %[[A]]
// CHECK-NOT: sinter.exp
// CHECK: %[[AGAIN:.*]] = sinter.mul %[[EXP]],
// CHECK: sinter.yield %{{.*}}, %[[AGAIN]]
// CHECK: plan.call "late" ins(%[[NEW]], %{{.*}} :
// CHECK: plan.call "late_sum"
// CHECK: plan.call "last"
// KEPT-LABEL: plan.function @again
// KEPT: plan.call "late" ins
// KEPT: plan.call "grad" ins(%{{.*}}, %{{.*}} :
plan.function @again on [#sinter.device<gpu, 0>] {
  %x = plan.input "x" on <gpu, 0> : <tensor<512x512xf32>>
  %s = plan.input "s" on <gpu, 0> : <tensor<512xf32>>
  %w = plan.input "w" on <gpu, 0> : <tensor<512x512xf32>>
  // expected-remark @below {{stores 'tensor<512x512xf32>' again, 1048576 bytes that are not kept}}
  %e = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %m = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %p = plan.alloc on <gpu, 0> : <tensor<2048x512xf32>>
  %t = plan.alloc on <gpu, 0> : <tensor<512xf32>>
  %l = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %u = plan.alloc on <gpu, 0> : <tensor<512xf32>>
  %g = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %r = plan.alloc on <gpu, 0> : <tensor<512xf32>>
  plan.call "exp" ins(%x, %s : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512xf32>>) outs(%e : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>):
    %0 = sinter.exp %a : tensor<512x512xf32>
    %1 = sinter.broadcast %b [1] : tensor<512xf32> -> tensor<512x512xf32>
    %2 = sinter.mul %0, %1 : tensor<512x512xf32>
    sinter.yield %2 : tensor<512x512xf32>
  }
  plan.call "early" ins(%e, %w : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512x512xf32>>) outs(%m : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %0 = sinter.matmul %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    sinter.yield %0 : tensor<512x512xf32>
  }
  plan.call "peak" ins(%m : !plan.buffer<tensor<512x512xf32>>) outs(%p : !plan.buffer<tensor<2048x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = sinter.broadcast %a [1, 2] : tensor<512x512xf32> -> tensor<4x512x512xf32>
    %1 = sinter.reshape %0 : tensor<4x512x512xf32> -> tensor<2048x512xf32>
    sinter.yield %1 : tensor<2048x512xf32>
  }
  plan.call "peak_sum" ins(%p : !plan.buffer<tensor<2048x512xf32>>) outs(%t : !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<2048x512xf32>):
    %0 = sinter.sum %a [0] : tensor<2048x512xf32> -> tensor<512xf32>
    sinter.yield %0 : tensor<512xf32>
  }
  plan.call "late" ins(%e, %w : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512x512xf32>>) outs(%l : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %0 = sinter.matmul %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    sinter.yield %0 : tensor<512x512xf32>
  }
  plan.call "late_sum" ins(%l : !plan.buffer<tensor<512x512xf32>>) outs(%u : !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = sinter.sum %a [0] : tensor<512x512xf32> -> tensor<512xf32>
    sinter.yield %0 : tensor<512xf32>
  }
  // expected-note @below {{in this kernel}}
  plan.call "grad" ins(%x, %t : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512xf32>>) outs(%g : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>):
    %0 = sinter.exp %a : tensor<512x512xf32>
    %1 = sinter.broadcast %b [1] : tensor<512xf32> -> tensor<512x512xf32>
    %2 = sinter.sub %0, %1 : tensor<512x512xf32>
    sinter.yield %2 : tensor<512x512xf32>
  }
  plan.call "last" ins(%g, %u : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512xf32>>) outs(%r : !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>):
    %0 = sinter.sum %a [0] : tensor<512x512xf32> -> tensor<512xf32>
    %1 = sinter.add %0, %b : tensor<512xf32>
    sinter.yield %1 : tensor<512xf32>
  }
  plan.output "r" %r : <tensor<512xf32>>
}

// "grad" needs a result of "late", so exp(x) s is kept for that.
// CHECK-LABEL: plan.function @needed
// CHECK: plan.call "exp" ins({{.*}} outs(%[[E:[0-9]+]] :
// CHECK: plan.call "late" ins(%[[E]], %{{.*}} :
// CHECK: plan.call "grad" ins(%{{[0-9]+}}, %{{[0-9]+}} : {{.*}} outs(%{{[0-9]+}} :
plan.function @needed on [#sinter.device<gpu, 0>] {
  %x = plan.input "x" on <gpu, 0> : <tensor<512x512xf32>>
  %s = plan.input "s" on <gpu, 0> : <tensor<512xf32>>
  %w = plan.input "w" on <gpu, 0> : <tensor<512x512xf32>>
  %e = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %m = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %p = plan.alloc on <gpu, 0> : <tensor<2048x512xf32>>
  %t = plan.alloc on <gpu, 0> : <tensor<512xf32>>
  %l = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %u = plan.alloc on <gpu, 0> : <tensor<512xf32>>
  %g = plan.alloc on <gpu, 0> : <tensor<512x512xf32>>
  %r = plan.alloc on <gpu, 0> : <tensor<512xf32>>
  plan.call "exp" ins(%x, %s : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512xf32>>) outs(%e : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>):
    %0 = sinter.exp %a : tensor<512x512xf32>
    %1 = sinter.broadcast %b [1] : tensor<512xf32> -> tensor<512x512xf32>
    %2 = sinter.mul %0, %1 : tensor<512x512xf32>
    sinter.yield %2 : tensor<512x512xf32>
  }
  plan.call "early" ins(%e, %w : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512x512xf32>>) outs(%m : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %0 = sinter.matmul %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    sinter.yield %0 : tensor<512x512xf32>
  }
  plan.call "peak" ins(%m : !plan.buffer<tensor<512x512xf32>>) outs(%p : !plan.buffer<tensor<2048x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = sinter.broadcast %a [1, 2] : tensor<512x512xf32> -> tensor<4x512x512xf32>
    %1 = sinter.reshape %0 : tensor<4x512x512xf32> -> tensor<2048x512xf32>
    sinter.yield %1 : tensor<2048x512xf32>
  }
  plan.call "peak_sum" ins(%p : !plan.buffer<tensor<2048x512xf32>>) outs(%t : !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<2048x512xf32>):
    %0 = sinter.sum %a [0] : tensor<2048x512xf32> -> tensor<512xf32>
    sinter.yield %0 : tensor<512xf32>
  }
  plan.call "late" ins(%e, %w : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512x512xf32>>) outs(%l : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %0 = sinter.matmul %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    sinter.yield %0 : tensor<512x512xf32>
  }
  plan.call "late_sum" ins(%l : !plan.buffer<tensor<512x512xf32>>) outs(%u : !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = sinter.sum %a [0] : tensor<512x512xf32> -> tensor<512xf32>
    sinter.yield %0 : tensor<512xf32>
  }
  plan.call "grad" ins(%x, %u : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512xf32>>) outs(%g : !plan.buffer<tensor<512x512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>):
    %0 = sinter.exp %a : tensor<512x512xf32>
    %1 = sinter.broadcast %b [1] : tensor<512xf32> -> tensor<512x512xf32>
    %2 = sinter.sub %0, %1 : tensor<512x512xf32>
    sinter.yield %2 : tensor<512x512xf32>
  }
  plan.call "last" ins(%g, %u : !plan.buffer<tensor<512x512xf32>>, !plan.buffer<tensor<512xf32>>) outs(%r : !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>):
    %0 = sinter.sum %a [0] : tensor<512x512xf32> -> tensor<512xf32>
    %1 = sinter.add %0, %b : tensor<512xf32>
    sinter.yield %1 : tensor<512xf32>
  }
  plan.output "r" %r : <tensor<512xf32>>
}
