// RUN: sinter-opt %s --pass-pipeline="builtin.module(func.func(sinter-fold-constants{nan-is-error=false}))" --verify-diagnostics | FileCheck %s

// CHECK: sinter.log
func.func @gives_nan() -> tensor<2xf32> {
  %c = sinter.constant dense<-1.0> : tensor<2xf32>
  // expected-warning@+1 {{folding 'sinter.log' of finite constants gives NaN}}
  %e = sinter.log %c : tensor<2xf32>
  return %e : tensor<2xf32>
}
