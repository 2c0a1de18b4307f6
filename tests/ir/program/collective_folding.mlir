// RUN: sinter-opt %s --canonicalize --cse | FileCheck %s

// A collective over one device returns its operand.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: return %arg0, %arg1, %arg0, %arg0, %arg0, %arg0
func.func @alone(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a:2 = sinter.all_reduce sum %x, %y over [#sinter.device<gpu, 1>] channel 0 : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  %b = sinter.all_gather %x sizes [4] over [#sinter.device<gpu, 1>] channel 1 : tensor<4xf32> -> tensor<4xf32>
  %c = sinter.reduce_scatter mean %x sizes [4] over [#sinter.device<gpu, 1>] channel 2 : tensor<4xf32> -> tensor<4xf32>
  %d = sinter.all_to_all %x over [#sinter.device<gpu, 1>] channel 3 : tensor<4xf32> -> tensor<4xf32>
  %e = sinter.ring_shift %x by 0 over [#sinter.device<gpu, 1>] channel 4 : (tensor<4xf32>) -> tensor<4xf32>
  return %a#0, %a#1, %b, %c, %d, %e : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Each member stays, even if unread. Members are never merged.
// CHECK-LABEL: func.func @unread
// CHECK-COUNT-2: sinter.all_reduce
func.func @unread(%x: tensor<4xf32>) {
  %a = sinter.all_reduce sum %x over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
  %b = sinter.all_reduce sum %x over [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>] channel 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}
