// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sinter-fuse),sinter-lower-to-plan)' --mlir-print-local-scope | FileCheck %s

// Library calls write the parts of a concat one after another. The kernel that reads the concat reads one
// buffer.
// CHECK-LABEL: plan.function @joined
// CHECK: %[[ALL:.*]] = plan.alloc : <tensor<24x8xf32>>
// CHECK-DAG: %[[A:.*]] = plan.view %[[ALL]] at 0 : <tensor<24x8xf32>> -> <tensor<8x8xf32>>
// CHECK-DAG: %[[B:.*]] = plan.view %[[ALL]] at 256 : <tensor<24x8xf32>> -> <tensor<16x8xf32>>
// CHECK-DAG: plan.call {{.*}} outs(%[[A]] :
// CHECK-DAG: plan.call {{.*}} outs(%[[B]] :
// CHECK: plan.call {{.*}}neg" ins(%[[ALL]] :
// CHECK-NOT: sinter.concat
func.func @joined(%x: tensor<8x8xf32> {sinter.input = "x"}, %y: tensor<16x8xf32> {sinter.input = "y"}) -> (tensor<24x8xf32> {sinter.output = "r"}) {
  %a = sinter.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = sinter.matmul %y, %x : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %c = sinter.concat %a, %b dim 0 : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<24x8xf32>
  %r = sinter.neg %c : tensor<24x8xf32>
  return %r : tensor<24x8xf32>
}

// -----

// A kernel joins parts that have other readers, parts at unaligned offsets, and parts that are not rows.
// CHECK-LABEL: plan.function @apart
// CHECK-COUNT-3: sinter.concat
func.func @apart(%x: tensor<8x8xf32> {sinter.input = "x"}, %y: tensor<3x8xf32> {sinter.input = "y"})
    -> (tensor<16x8xf32> {sinter.output = "r"}, tensor<11x8xf32> {sinter.output = "s"}, tensor<8x16xf32> {sinter.output = "t"}, tensor<8x8xf32> {sinter.output = "a"}) {
  %a = sinter.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = sinter.matmul %x, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = sinter.concat %a, %b dim 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %c = sinter.matmul %y, %x : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %d = sinter.matmul %x, %x {transpose_a} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = sinter.concat %c, %d dim 0 : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<11x8xf32>
  %e = sinter.matmul %x, %x {transpose_b} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %f = sinter.matmul %x, %a {transpose_b} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = sinter.concat %e, %f dim 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
  return %r, %s, %t, %a : tensor<16x8xf32>, tensor<11x8xf32>, tensor<8x16xf32>, tensor<8x8xf32>
}

// -----

// For each element a kernel would have to search many parts. A call writes its result directly into the
// joined buffer, even if it has other readers. Inputs, repeated parts and parts at unaligned offsets are
// copied there.
// CHECK-LABEL: plan.function @many
// CHECK: %[[ALL:.*]] = plan.alloc : <tensor<74x8xf32>>
// CHECK: %[[A:.*]] = plan.view %[[ALL]] at 0 : <tensor<74x8xf32>> -> <tensor<8x8xf32>>
// CHECK: plan.call {{.*}} outs(%[[A]] :
// CHECK: plan.call {{.*}} ins(%[[A]],
// CHECK-NOT: sinter.concat
// CHECK-COUNT-8: plan.copy
// CHECK-NOT: plan.copy
// CHECK: plan.call {{.*}}neg" ins(%[[ALL]] :
// CHECK-NOT: sinter.concat
func.func @many(%x: tensor<8x8xf32> {sinter.input = "x"}, %y: tensor<10x8xf32> {sinter.input = "y"})
    -> (tensor<74x8xf32> {sinter.output = "r"}, tensor<8x8xf32> {sinter.output = "b"}) {
  %a = sinter.exp %x : tensor<8x8xf32>
  %b = sinter.matmul %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = sinter.concat %a, %x, %x, %x, %x, %x, %x, %y, %x dim 0
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<10x8xf32>, tensor<8x8xf32>) -> tensor<74x8xf32>
  %r = sinter.neg %c : tensor<74x8xf32>
  return %r, %b : tensor<74x8xf32>, tensor<8x8xf32>
}
