// RUN: sinter-opt %s --mlir-print-local-scope | sinter-opt --mlir-print-local-scope | FileCheck %s

#d0 = #sinter.device<gpu, 0>
#d1 = #sinter.device<gpu, 1>
// CHECK-LABEL: func.func @members
func.func @members(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %h: tensor<2xbf16>) {
  // CHECK: sinter.all_reduce mean %{{.*}}, %{{.*}} over [#sinter.device<gpu, 0>, #sinter.device<gpu, 1>] channel 0 {sinter.device = #sinter.device<gpu, 0>} : (tensor<4x3xf32>, tensor<2xbf16>) -> (tensor<4x3xf32>, tensor<2xbf16>)
  %a0:2 = sinter.all_reduce mean %x, %h over [#d0, #d1] channel 0 {sinter.device = #d0} : (tensor<4x3xf32>, tensor<2xbf16>) -> (tensor<4x3xf32>, tensor<2xbf16>)
  %a1:2 = sinter.all_reduce mean %y, %h over [#d0, #d1] channel 0 {sinter.device = #d1} : (tensor<4x3xf32>, tensor<2xbf16>) -> (tensor<4x3xf32>, tensor<2xbf16>)
  // CHECK: sinter.reduce max %{{.*}} to 1 over {{.*}} channel 1 {{.*}} : (tensor<4x3xf32>) -> ()
  sinter.reduce max %x to 1 over [#d0, #d1] channel 1 {sinter.device = #d0} : (tensor<4x3xf32>) -> ()
  %b1 = sinter.reduce max %y to 1 over [#d0, #d1] channel 1 {sinter.device = #d1} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: sinter.broadcast_from %{{.*}} root 0 over {{.*}} channel 2
  %c0 = sinter.broadcast_from %x root 0 over [#d0, #d1] channel 2 {sinter.device = #d0} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %c1 = sinter.broadcast_from root 0 over [#d0, #d1] channel 2 {sinter.device = #d1} : () -> tensor<4x3xf32>
  // CHECK: sinter.all_gather %{{.*}} sizes [4, 4] over {{.*}} : tensor<4x3xf32> -> tensor<8x3xf32>
  %d0 = sinter.all_gather %x sizes [4, 4] over [#d0, #d1] channel 3 {sinter.device = #d0} : tensor<4x3xf32> -> tensor<8x3xf32>
  %d1 = sinter.all_gather %y sizes [4, 4] over [#d0, #d1] channel 3 {sinter.device = #d1} : tensor<4x3xf32> -> tensor<8x3xf32>
  // CHECK: sinter.reduce_scatter min %{{.*}} sizes [3, 1] over {{.*}} : tensor<4x3xf32> -> tensor<3x3xf32>
  %e0 = sinter.reduce_scatter min %x sizes [3, 1] over [#d0, #d1] channel 4 {sinter.device = #d0} : tensor<4x3xf32> -> tensor<3x3xf32>
  %e1 = sinter.reduce_scatter min %y sizes [3, 1] over [#d0, #d1] channel 4 {sinter.device = #d1} : tensor<4x3xf32> -> tensor<1x3xf32>
  // CHECK: sinter.all_to_all %{{.*}} over {{.*}} : tensor<4x3xf32> -> tensor<4x3xf32>
  %f0 = sinter.all_to_all %x over [#d0, #d1] channel 5 {sinter.device = #d0} : tensor<4x3xf32> -> tensor<4x3xf32>
  %f1 = sinter.all_to_all %y over [#d0, #d1] channel 5 {sinter.device = #d1} : tensor<4x3xf32> -> tensor<4x3xf32>
  // CHECK: sinter.ring_shift %{{.*}} by 1 over {{.*}} channel 7 {{.*}} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %h0 = sinter.ring_shift %x by 1 over [#d0, #d1] channel 7 {sinter.device = #d0} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %h1 = sinter.ring_shift %y by 1 over [#d0, #d1] channel 7 {sinter.device = #d1} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: sinter.send %{{.*}} over {{.*}} channel 6
  sinter.send %x over [#d0, #d1] channel 6 {sinter.device = #d0} : tensor<4x3xf32>
  // CHECK: sinter.recv over {{.*}} channel 6
  %g1 = sinter.recv over [#d0, #d1] channel 6 {sinter.device = #d1} : tensor<4x3xf32>
  return
}
