// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sinter-fuse),sinter-lower-to-plan)' --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sinter-fuse{report}),sinter-lower-to-plan{report})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT

// A part of an input that several devices share is a view, even if a kernel could read through the slice.
// This holds for reshaped parts and for parts of parts. A slice that is not contiguous is read inside the
// kernel, and the device receives the whole operand.
// CHECK-LABEL: plan.function @parts
// CHECK-DAG: %[[X:.*]] = plan.input "x" on <cpu, 0> : <tensor<6x4xf32>>
// CHECK-DAG: %[[X1:.*]] = plan.input "x" on <cpu, 1> : <tensor<6x4xf32>>
// CHECK-DAG: %[[P:.*]] = plan.view %[[X]] at 0 : <tensor<6x4xf32>> -> <tensor<3x4xf32>>
// CHECK-DAG: %[[R:.*]] = plan.view %[[X1]] at 0 : <tensor<6x4xf32>> -> <tensor<3x8xf32>>
// CHECK-DAG: %[[Q:.*]] = plan.view %[[R]] at 32 : <tensor<3x8xf32>> -> <tensor<2x8xf32>>
// CHECK-DAG: %[[S:.*]] = plan.view %[[Q]] at 32 : <tensor<2x8xf32>> -> <tensor<1x8xf32>>
// CHECK-DAG: plan.call {{.*}}exp" ins(%[[P]] :
// CHECK-DAG: plan.call {{.*}} ins(%[[S]], %[[Q]] :
// CHECK-DAG: plan.call {{.*}}neg" ins(%[[X]] :
// REPORT: remark: not fused with sinter.slice: a part of an input that several devices share is a view of memory
// REPORT: remark: gives a part of input "x" of 'tensor<6x4xf32>', 64 of 96 bytes, from the caller to cpu:1: nothing places the input, which is read there
func.func @parts(%x: tensor<6x4xf32> {sinter.input = "x", sinter.device = #sinter.device<cpu, 0>})
    -> (tensor<3x4xf32> {sinter.output = "a"}, tensor<2x8xf32> {sinter.output = "b"}, tensor<6x2xf32> {sinter.output = "c"}) {
  %x1 = sinter.copy %x to <cpu, 1> because input : tensor<6x4xf32>
  %p = sinter.slice %x [0, 0] [3, 4] [1, 1] {sinter.device = #sinter.device<cpu, 0>} : tensor<6x4xf32> -> tensor<3x4xf32>
  %a = sinter.exp %p {sinter.device = #sinter.device<cpu, 0>} : tensor<3x4xf32>
  %r = sinter.reshape %x1 {sinter.device = #sinter.device<cpu, 1>} : tensor<6x4xf32> -> tensor<3x8xf32>
  %q = sinter.slice %r [1, 0] [3, 8] [1, 1] {sinter.device = #sinter.device<cpu, 1>} : tensor<3x8xf32> -> tensor<2x8xf32>
  %s = sinter.slice %q [1, 0] [2, 8] [1, 1] {sinter.device = #sinter.device<cpu, 1>} : tensor<2x8xf32> -> tensor<1x8xf32>
  %t = sinter.broadcast %s [0, 1] {sinter.device = #sinter.device<cpu, 1>} : tensor<1x8xf32> -> tensor<2x8xf32>
  %b = sinter.add %q, %t {sinter.device = #sinter.device<cpu, 1>} : tensor<2x8xf32>
  %u = sinter.slice %x [0, 1] [6, 3] [1, 1] {sinter.device = #sinter.device<cpu, 0>} : tensor<6x4xf32> -> tensor<6x2xf32>
  %c = sinter.neg %u {sinter.device = #sinter.device<cpu, 0>} : tensor<6x2xf32>
  return %a, %b, %c : tensor<3x4xf32>, tensor<2x8xf32>, tensor<6x2xf32>
}

// -----

// If only one device reads an input, its kernel reads through the slice: a view has no advantage.
// CHECK-LABEL: plan.function @alone
// CHECK-NOT: plan.view
// CHECK: plan.call {{.*}} ins(%{{.*}} : !plan.buffer<tensor<6x4xf32>>)
func.func @alone(%x: tensor<6x4xf32> {sinter.input = "x"}) -> (tensor<3x4xf32> {sinter.output = "a"}) {
  %p = sinter.slice %x [3, 0] [6, 4] [1, 1] : tensor<6x4xf32> -> tensor<3x4xf32>
  %a = sinter.exp %p : tensor<3x4xf32>
  return %a : tensor<3x4xf32>
}

// -----

// GPU libraries read from multiples of 16 bytes, so an unaligned part is copied for them, and only this part.
// Generated kernels read it in place. An empty part begins at the offset of its rows.
// CHECK-LABEL: plan.function @unaligned
// CHECK-DAG: %[[X1:.*]] = plan.input "x" on <gpu, 1> : <tensor<6x3xf32>>
// CHECK-DAG: %[[P:.*]] = plan.view %[[X1]] at 36 : <tensor<6x3xf32>> -> <tensor<3x3xf32>>
// CHECK-DAG: %[[C:.*]] = plan.alloc on <gpu, 1> : <tensor<3x3xf32>>
// CHECK-DAG: %[[Y1:.*]] = plan.input "y" on <gpu, 1> : <tensor<6xf32>>
// CHECK-DAG: %[[Q:.*]] = plan.view %[[Y1]] at 12 : <tensor<6xf32>> -> <tensor<3xf32>>
// CHECK-DAG: plan.view %[[Y1]] at 24 : <tensor<6xf32>> -> <tensor<0xf32>>
// CHECK: plan.copy %[[P]] to %[[C]] on <gpu, 1>
// CHECK-DAG: plan.call {{.*}} ins(%[[C]] : {{.*}} on <gpu, 1>
// CHECK-DAG: plan.call {{.*}} ins(%[[Q]] : {{.*}} on <gpu, 1>
#d0 = #sinter.device<gpu, 0>
#d1 = #sinter.device<gpu, 1>
func.func @unaligned(%x: tensor<6x3xf32> {sinter.input = "x", sinter.device = #d0},
                     %y: tensor<6xf32> {sinter.input = "y", sinter.device = #d0})
    -> (tensor<3x3xf32> {sinter.output = "a"}, tensor<3xf32> {sinter.output = "b"}, tensor<0xf32> {sinter.output = "c"}) {
  %x1 = sinter.copy %x to <gpu, 1> because input : tensor<6x3xf32>
  %y1 = sinter.copy %y to <gpu, 1> because input : tensor<6xf32>
  %p = sinter.slice %x1 [3, 0] [6, 3] [1, 1] {sinter.device = #d1} : tensor<6x3xf32> -> tensor<3x3xf32>
  %a = sinter.matmul %p, %p {sinter.device = #d1} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %q = sinter.slice %y1 [3] [6] [1] {sinter.device = #d1} : tensor<6xf32> -> tensor<3xf32>
  %b = sinter.exp %q {sinter.device = #d1} : tensor<3xf32>
  %n = sinter.slice %y1 [6] [6] [1] {sinter.device = #d1} : tensor<6xf32> -> tensor<0xf32>
  %c = sinter.exp %n {sinter.device = #d1} : tensor<0xf32>
  return %a, %b, %c : tensor<3x3xf32>, tensor<3xf32>, tensor<0xf32>
}
