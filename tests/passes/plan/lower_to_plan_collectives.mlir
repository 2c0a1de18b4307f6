// RUN: sinter-opt %s --split-input-file --sinter-lower-to-plan --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-lower-to-plan=report=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT

// Values that travel together share one buffer. If another op also reads a part of it, the sums go to a
// second buffer. A value that this function does not compute is copied in.
// CHECK-LABEL: plan.function @sums on [#sinter.device<cpu, 0>, #sinter.device<cpu, 1>]
// CHECK: %[[B1:.*]] = plan.alloc on <cpu, 1> : <tensor<768xi8>>
// CHECK: %[[S0:.*]] = plan.alloc on <cpu, 0> : <tensor<768xi8>>
// CHECK: %[[B0:.*]] = plan.alloc on <cpu, 0> : <tensor<768xi8>>
// CHECK-DAG: %[[P0:.*]] = plan.view %[[B0]] at 0 : <tensor<768xi8>> -> <tensor<2x2xf32>>
// CHECK-DAG: %[[Q0:.*]] = plan.view %[[B0]] at 256 : <tensor<768xi8>> -> <tensor<4xf32>>
// CHECK-DAG: %[[V0:.*]] = plan.view %[[B0]] at 512 : <tensor<768xi8>> -> <tensor<4xf32>>
// CHECK-DAG: %[[R0:.*]] = plan.view %[[S0]] at 0 : <tensor<768xi8>> -> <tensor<2x2xf32>>
// CHECK-DAG: %[[R1:.*]] = plan.view %[[S0]] at 256 : <tensor<768xi8>> -> <tensor<4xf32>>
// CHECK-DAG: %[[R2:.*]] = plan.view %[[S0]] at 512 : <tensor<768xi8>> -> <tensor<4xf32>>
// CHECK: plan.call "matmul_0" ins(%{{.*}} outs(%[[P0]] :
// CHECK: plan.call "cumsum{{.*}} outs(%[[Q0]] :
// CHECK: plan.copy %{{.*}} to %[[V0]] on <cpu, 0>
// CHECK-NOT: plan.copy %{{.*}} on <cpu, 0>
// CHECK: plan.call "all_reduce_{{.*}}" ins(%[[P0]], %[[Q0]], %[[V0]] : {{.*}} outs(%[[R0]], %[[R1]], %[[R2]] :
// REPORT: remark: all_reduce of 48 bytes over cpu:0, cpu:1
#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>
func.func @sums(%a: tensor<2x2xf32> {sinter.input = "a", sinter.device = #d0}, %b: tensor<2x2xf32> {sinter.input = "b", sinter.device = #d1},
                %c: tensor<4xf32> {sinter.input = "c", sinter.device = #d0}, %d: tensor<4xf32> {sinter.input = "d", sinter.device = #d1})
    -> (tensor<2x2xf32> {sinter.output = "y"}, tensor<4xf32> {sinter.output = "q"}) {
  %p0 = sinter.matmul %a, %a {sinter.device = #d0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p1 = sinter.matmul %b, %b {sinter.device = #d1} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %q0 = sinter.cumsum %c dim 0 {sinter.device = #d0} : tensor<4xf32>
  %q1 = sinter.cumsum %d dim 0 {sinter.device = #d1} : tensor<4xf32>
  %r0:3 = sinter.all_reduce sum %p0, %q0, %c over [#d0, #d1] channel 0 {sinter.device = #d0} : (tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>)
  %r1:3 = sinter.all_reduce sum %p1, %q1, %d over [#d0, #d1] channel 0 {sinter.device = #d1} : (tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r0#0, %q0 : tensor<2x2xf32>, tensor<4xf32>
}

// -----

// Values without other readers are replaced by the sums in place.
// CHECK-LABEL: plan.function @replaced
// CHECK: %[[B1:.*]] = plan.alloc on <cpu, 1> : <tensor<512xi8>>
// CHECK: %[[B0:.*]] = plan.alloc on <cpu, 0> : <tensor<512xi8>>
// CHECK-DAG: %[[P0:.*]] = plan.view %[[B0]] at 0 : <tensor<512xi8>> -> <tensor<2x2xf32>>
// CHECK-DAG: %[[Q0:.*]] = plan.view %[[B0]] at 256 : <tensor<512xi8>> -> <tensor<4xf32>>
// CHECK: plan.call "all_reduce_{{.*}}" ins(%[[P0]], %[[Q0]] : {{.*}} outs(%[[P0]], %[[Q0]] : {{.*}}{in_place = array<i64: 0, 0, 1, 1>}
#d0 = #sinter.device<cpu, 0>
#d1 = #sinter.device<cpu, 1>
func.func @replaced(%a: tensor<2x2xf32> {sinter.input = "a", sinter.device = #d0}, %b: tensor<2x2xf32> {sinter.input = "b", sinter.device = #d1},
                    %c: tensor<4xf32> {sinter.input = "c", sinter.device = #d0}, %d: tensor<4xf32> {sinter.input = "d", sinter.device = #d1})
    -> (tensor<2x2xf32> {sinter.output = "y"}) {
  %p0 = sinter.matmul %a, %a {sinter.device = #d0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p1 = sinter.matmul %b, %b {sinter.device = #d1} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %q0 = sinter.cumsum %c dim 0 {sinter.device = #d0} : tensor<4xf32>
  %q1 = sinter.cumsum %d dim 0 {sinter.device = #d1} : tensor<4xf32>
  %r0:2 = sinter.all_reduce sum %p0, %q0 over [#d0, #d1] channel 0 {sinter.device = #d0} : (tensor<2x2xf32>, tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>)
  %r1:2 = sinter.all_reduce sum %p1, %q1 over [#d0, #d1] channel 0 {sinter.device = #d1} : (tensor<2x2xf32>, tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>)
  return %r0#0 : tensor<2x2xf32>
}
