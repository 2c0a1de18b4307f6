// RUN: sinter-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(plan.function(sinter-select-kernels{report=true}))' | FileCheck %s

// One call of each row of codegen/plan/backends.cc.
// CHECK-LABEL: plan.function @on_cpus
plan.function @on_cpus {
  %x = plan.input "x" : <tensor<1000000xf32>>
  %s = plan.alloc : <tensor<f32>>
  %y = plan.alloc : <tensor<1000000xf32>>
  // A reduction in chunks needs workspace for their results.
  // CHECK: plan.call "sum" ins({{.*}}) outs({{.*}}) by "cpu.fused" attributes {workspace_bytes = [[CPU:[1-9][0-9]*]] : i64}
  // expected-remark-re @below {{'sum' on cpu:0: cpu.fused, {{[1-9][0-9]*}} bytes of workspace}}
  plan.call "sum" ins(%x : !plan.buffer<tensor<1000000xf32>>) outs(%s : !plan.buffer<tensor<f32>>) {
  ^bb0(%i: tensor<1000000xf32>):
    %r = sinter.sum %i [0] : tensor<1000000xf32> -> tensor<f32>
    sinter.yield %r : tensor<f32>
  }
  // CHECK: plan.call "cumsum" ins({{.*}}) outs({{.*}}) by "library" {
  // expected-remark @below {{'cumsum' on cpu:0: library, 0 bytes of workspace}}
  plan.call "cumsum" ins(%x : !plan.buffer<tensor<1000000xf32>>) outs(%y : !plan.buffer<tensor<1000000xf32>>) {
  ^bb0(%i: tensor<1000000xf32>):
    %r = sinter.cumsum %i dim 0 : tensor<1000000xf32>
    sinter.yield %r : tensor<1000000xf32>
  }
  // CHECK: plan.call "user" ins({{.*}}) outs({{.*}}) by "cpu.user" {
  // expected-remark @below {{'user' on cpu:0: cpu.user, 0 bytes of workspace}}
  plan.call "user" ins(%x : !plan.buffer<tensor<1000000xf32>>) outs(%y : !plan.buffer<tensor<1000000xf32>>) {
  ^bb0(%i: tensor<1000000xf32>):
    %r = sinter.elementwise_kernel "twice"(%i) {parameters = ["x", "y"], raw = array<i1: false, false>, body = "y = 2 * x;", n = 1000000 : i64} : (tensor<1000000xf32>) -> tensor<1000000xf32>
    sinter.yield %r : tensor<1000000xf32>
  }
}

// -----

// CHECK-LABEL: plan.function @on_gpus
plan.function @on_gpus on [#sinter.device<gpu, 0>] {
  %x = plan.input "x" on <gpu, 0> : <tensor<64x64xf32>>
  %n = plan.input "n" on <gpu, 0> : <tensor<64x64xi32>>
  %y = plan.alloc on <gpu, 0> : <tensor<64x64xf32>>
  %m = plan.alloc on <gpu, 0> : <tensor<64x64xi32>>
  // CHECK: plan.call "relu" ins({{.*}}) outs({{.*}}) on <gpu, 0> by "cuda.fused" {
  // expected-remark @below {{'relu' on gpu:0: cuda.fused, 0 bytes of workspace}}
  plan.call "relu" ins(%x : !plan.buffer<tensor<64x64xf32>>) outs(%y : !plan.buffer<tensor<64x64xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64x64xf32>):
    %r = sinter.relu %i : tensor<64x64xf32>
    sinter.yield %r : tensor<64x64xf32>
  }
  // The catalogue comes before the library, which has no matmul of integers.
  // CHECK: plan.call "integers" ins({{.*}}) outs({{.*}}) on <gpu, 0> by "cuda.catalog" {
  // expected-remark @below {{'integers' on gpu:0: cuda.catalog, 0 bytes of workspace}}
  plan.call "integers" ins(%n : !plan.buffer<tensor<64x64xi32>>) outs(%m : !plan.buffer<tensor<64x64xi32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64x64xi32>):
    %r = sinter.matmul %i, %i : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi32>
    sinter.yield %r : tensor<64x64xi32>
  }
  // CHECK: plan.call "floats" ins({{.*}}) outs({{.*}}) on <gpu, 0> by "library" {
  // expected-remark @below {{'floats' on gpu:0: library, 0 bytes of workspace}}
  plan.call "floats" ins(%x : !plan.buffer<tensor<64x64xf32>>) outs(%y : !plan.buffer<tensor<64x64xf32>>) on <gpu, 0> {
  ^bb0(%i: tensor<64x64xf32>):
    %r = sinter.matmul %i, %i : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    sinter.yield %r : tensor<64x64xf32>
  }
}

// -----

// An earlier choice is made anew: it was for another form of the call.
// CHECK-LABEL: plan.function @again
plan.function @again {
  %x = plan.input "x" : <tensor<4xf32>>
  %y = plan.alloc : <tensor<4xf32>>
  // CHECK: plan.call "relu" ins({{.*}}) outs({{.*}}) by "cpu.fused" {
  // expected-remark @below {{'relu' on cpu:0: cpu.fused, 0 bytes of workspace}}
  plan.call "relu" ins(%x : !plan.buffer<tensor<4xf32>>) outs(%y : !plan.buffer<tensor<4xf32>>) by "library" attributes {workspace_bytes = 64 : i64} {
  ^bb0(%i: tensor<4xf32>):
    %r = sinter.relu %i : tensor<4xf32>
    sinter.yield %r : tensor<4xf32>
  }
}

// -----

// A back end says which form of an op it does not compute.
plan.function @refused {
  %a = plan.input "a" : <tensor<8x8xbf16>>
  %x = plan.input "x" : <tensor<8x8xf32>>
  %y = plan.alloc : <tensor<8x8xf32>>
  // expected-error @below {{no library computes this sinter.matmul_grad in one call: it is on a CPU, where no library does it}}
  plan.call "gradient" ins(%a, %x : !plan.buffer<tensor<8x8xbf16>>, !plan.buffer<tensor<8x8xf32>>) outs(%y : !plan.buffer<tensor<8x8xf32>>) {
  ^bb0(%i: tensor<8x8xbf16>, %j: tensor<8x8xf32>):
    %r = sinter.matmul_grad %i, %i preactivation %j activation gelu_tanh : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
    sinter.yield %r : tensor<8x8xf32>
  }
}

// -----

plan.function @nobody {
  %x = plan.input "x" : <tensor<1x4x4x4xf32>>
  %y = plan.alloc : <tensor<1x4x4x4xf32>>
  // expected-error @below {{no library or kernel computes sinter.clone on cpu:0; decompose it into simpler ops before lower-to-plan}}
  plan.call "clone" ins(%x : !plan.buffer<tensor<1x4x4x4xf32>>) outs(%y : !plan.buffer<tensor<1x4x4x4xf32>>) {
  ^bb0(%i: tensor<1x4x4x4xf32>):
    %r = sinter.clone %i : tensor<1x4x4x4xf32>
    sinter.yield %r : tensor<1x4x4x4xf32>
  }
}
