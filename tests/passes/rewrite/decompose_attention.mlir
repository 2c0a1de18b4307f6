// RUN: sinter-opt %s --split-input-file --sinter-decompose --sinter-drop-unread-stats --canonicalize --cse --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --split-input-file '--sinter-decompose=device=gpu:0' --sinter-drop-unread-stats --canonicalize --cse --mlir-print-local-scope | FileCheck %s --check-prefix=GPU
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(sinter-decompose{device=gpu:0 report=true}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: sinter-opt %s --split-input-file '--sinter-decompose=device=gpu:0 widest-head=256' | FileCheck %s --check-prefix=WIDE
// RUN: sinter-opt %s --split-input-file '--sinter-decompose=device=gpu:0 hopper=true' | FileCheck %s --check-prefix=HOPPER
// RUN: not sinter-opt %s --split-input-file '--sinter-decompose=device=tpu' 2>&1 | FileCheck %s --check-prefix=DEVICE

// DEVICE: "tpu" is no device; expected one such as gpu:0

// The scores and their softmax are f32. The probabilities are rounded for the second matmul.
// CHECK-LABEL: func.func @causal
// CHECK: sinter.matmul %{{.*}}, %{{.*}} math tf32 {transpose_b} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x16xf32>
// CHECK: sinter.compare ge {{.*}} : tensor<16x16xi32>
// CHECK: sinter.select
// CHECK: sinter.max {{.*}} [3] : tensor<2x4x16x16xf32> -> tensor<2x4x16xf32>
// CHECK: sinter.exp
// CHECK: %[[P:.*]] = sinter.cast %{{.*}} : tensor<2x4x16x16xf32> -> tensor<2x4x16x16xbf16>
// CHECK: sinter.matmul %[[P]], %{{.*}} : (tensor<2x4x16x16xbf16>, tensor<2x4x16x8xbf16>) -> tensor<2x4x16x8xbf16>
// CHECK-NOT: sinter.log
// CHECK: return
// On a GPU attention stays whole; unread stats are dropped.
// GPU-LABEL: func.func @causal
// GPU-NEXT: %[[R:.*]] = sinter.attention %arg0 causal {scale = 5.000000e-01 : f64} : (tensor<2x16x3x4x8xbf16>) -> tensor<2x16x4x8xbf16>
// GPU-NEXT: return %[[R]]
// If every GPU of the plan is of compute capability 9.0, a mark says so.
// HOPPER-LABEL: func.func @causal
// HOPPER: sinter.attention %arg0 causal {scale = 5.000000e-01 : f64, sinter.hopper}
func.func @causal(%qkv: tensor<2x16x3x4x8xbf16>) -> tensor<2x16x4x8xbf16> {
  %r:2 = sinter.attention %qkv causal {scale = 0.5 : f64} : (tensor<2x16x3x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
  return %r#0 : tensor<2x16x4x8xbf16>
}

// -----

// The gradient computes the probabilities from the stats.
// CHECK-LABEL: func.func @gradient
// CHECK: sinter.max
// CHECK-NOT: sinter.max
// CHECK: sinter.concat
// GPU-LABEL: func.func @gradient
// GPU: %[[R:.*]], %[[S:.*]] = sinter.attention %arg0
// GPU: sinter.attention_grad %arg0 result %[[R]] stats %[[S]] gradient %arg1
func.func @gradient(%qkv: tensor<2x16x3x4x8xbf16>, %g: tensor<2x16x4x8xbf16>, %s: tensor<2x4x16xf32>) -> tensor<2x16x3x4x8xbf16> {
  %r:2 = sinter.attention %qkv {scale = 0.5 : f64} : (tensor<2x16x3x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
  %d = sinter.attention_grad %qkv result %r#0 stats %r#1 gradient %g {scale = 0.5 : f64}
      : (tensor<2x16x3x4x8xbf16>, tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x8xbf16>) -> tensor<2x16x3x4x8xbf16>
  return %d : tensor<2x16x3x4x8xbf16>
}

// -----

// An explicit device attribute overrides the option.
// GPU-LABEL: func.func @on_cpu
// GPU-NOT: sinter.attention
// GPU: return
func.func @on_cpu(%qkv: tensor<2x16x3x4x8xf16>) -> tensor<2x16x4x8xf16> {
  %r = sinter.attention %qkv {scale = 0.5 : f64, sinter.device = #sinter.device<cpu, 0>} : (tensor<2x16x3x4x8xf16>) -> tensor<2x16x4x8xf16>
  return %r : tensor<2x16x4x8xf16>
}
// CHECK-LABEL: func.func @on_gpu
// CHECK: sinter.attention {{.*}}sinter.device = #sinter.device<gpu, 1>
func.func @on_gpu(%qkv: tensor<2x16x3x4x8xf16>) -> tensor<2x16x4x8xf16> {
  %r:2 = sinter.attention %qkv {scale = 0.5 : f64, sinter.device = #sinter.device<gpu, 1>} : (tensor<2x16x3x4x8xf16>) -> (tensor<2x16x4x8xf16>, tensor<2x4x16xf32>)
  return %r#0 : tensor<2x16x4x8xf16>
}

// -----

// WHY: 'sinter.attention' is decomposed, its scores in memory: cuDNN computes attention in bf16 and f16 only
// WHY: 'sinter.attention' is decomposed, its scores in memory: its heads have a width of 136, and some GPUs of the plan take at most 128
// WHY: 'sinter.attention' is decomposed, its scores in memory: cuDNN takes heads of a width that is a multiple of 8 and at most 256, and this is 12
// WHY: 'sinter.attention' is decomposed, its scores in memory: cuDNN takes two positions and more
// WHY: 'sinter.attention' is decomposed, its scores in memory: cuDNN takes a scale above 0, and this is -0.500000
// WHY: 'sinter.attention' is decomposed, its scores in memory: the batch is empty
// GPU-LABEL: func.func @refused
// GPU-NOT: sinter.attention
// GPU: return
// WIDE-LABEL: func.func @refused
// WIDE: sinter.attention %arg1 {{.*}}tensor<2x16x4x136xbf16>
// WIDE-NOT: sinter.attention
// WIDE: return
func.func @refused(%a: tensor<2x16x3x4x8xf32>, %b: tensor<2x16x3x4x136xbf16>, %q: tensor<2x16x3x4x12xbf16>,
                   %c: tensor<2x1x3x4x8xf16>, %d: tensor<0x16x3x4x8xf16>,
                   %e: tensor<2x16x3x4x8xf16>)
    -> (tensor<2x16x4x8xf32>, tensor<2x16x4x136xbf16>, tensor<2x16x4x12xbf16>, tensor<2x1x4x8xf16>, tensor<2x16x4x8xf16>, tensor<0x16x4x8xf16>) {
  %0 = sinter.attention %a {scale = 0.5 : f64} : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
  %1 = sinter.attention %b {scale = 0.5 : f64} : (tensor<2x16x3x4x136xbf16>) -> tensor<2x16x4x136xbf16>
  %2 = sinter.attention %q {scale = 0.5 : f64} : (tensor<2x16x3x4x12xbf16>) -> tensor<2x16x4x12xbf16>
  %3 = sinter.attention %c {scale = 0.5 : f64} : (tensor<2x1x3x4x8xf16>) -> tensor<2x1x4x8xf16>
  %negative = sinter.attention %e {scale = -0.5 : f64} : (tensor<2x16x3x4x8xf16>) -> tensor<2x16x4x8xf16>
  %4 = sinter.attention %d {scale = 0.5 : f64} : (tensor<0x16x3x4x8xf16>) -> tensor<0x16x4x8xf16>
  return %0, %1, %2, %3, %negative, %4 : tensor<2x16x4x8xf32>, tensor<2x16x4x136xbf16>, tensor<2x16x4x12xbf16>, tensor<2x1x4x8xf16>, tensor<2x16x4x8xf16>, tensor<0x16x4x8xf16>
}

// -----

// Queries are the last positions: query t stands at 8 - 4 + t. The bias of keys is added before the masks; a row of minus
// infinities has 0 in place of its largest score and of the reciprocal of its sum.
// CHECK-LABEL: func.func @masks
// CHECK: sinter.add %{{.*}}, %{{.*}} : tensor<2x1x16x8xf32>
// CHECK: sinter.compare ge {{.*}} : tensor<4x8xi32>
// CHECK: sinter.compare lt {{.*}} : tensor<4x8xi32>
// CHECK: sinter.max {{.*}} [3] : tensor<2x1x16x8xf32> -> tensor<2x1x16xf32>
// CHECK: sinter.compare eq
// CHECK: sinter.select {{.*}}tensor<2x1x16xf32>
// CHECK: sinter.exp
// CHECK: sinter.compare eq
// CHECK: sinter.select {{.*}}tensor<2x1x16xf32>
// CHECK: sinter.matmul
// CHECK: return
// GPU-LABEL: func.func @masks
// GPU: sinter.attention %arg0, %arg1, %arg1 bias %arg2 causal window 3
// GPU-NOT: sinter.matmul
// GPU: return
func.func @masks(%q: tensor<2x4x4x8xbf16>, %k: tensor<2x8x1x8xbf16>, %bias: tensor<2x1x1x8xf32>) -> tensor<2x4x4x8xbf16> {
  %r = sinter.attention %q, %k, %k bias %bias causal window 3 {scale = 0.5 : f64} : (tensor<2x4x4x8xbf16>, tensor<2x8x1x8xbf16>, tensor<2x8x1x8xbf16>, tensor<2x1x1x8xf32>) -> tensor<2x4x4x8xbf16>
  return %r : tensor<2x4x4x8xbf16>
}

// -----

// An attention of few queries is a kernel's, if nothing reads its stats. It reads heads of q where they are, and keys and
// values by head, as caches keep them.
// CHECK-LABEL: func.func @few
// CHECK-NOT: attention
// CHECK: return
// GPU-LABEL: func.func @few
// GPU-NEXT: %[[R:.*]] = sinter.few_queries_attention %arg0, %arg1, %arg1 bias %arg2 heads 4 by_head {first_head = 2 : i64, scale = 5.000000e-01 : f64}
// GPU-NEXT: return %[[R]]
func.func @few(%q: tensor<2x1x8x8xbf16>, %k: tensor<2x4x64x8xbf16>, %bias: tensor<1x1x1x64xbf16>) -> tensor<2x1x4x8xbf16> {
  %h = sinter.slice %q [0, 0, 2, 0] [2, 1, 6, 8] [1, 1, 1, 1] : tensor<2x1x8x8xbf16> -> tensor<2x1x4x8xbf16>
  %t = sinter.transpose %k [0, 2, 1, 3] : tensor<2x4x64x8xbf16> -> tensor<2x64x4x8xbf16>
  %r:2 = sinter.attention %h, %t, %t bias %bias {scale = 0.5 : f64} : (tensor<2x1x4x8xbf16>, tensor<2x64x4x8xbf16>, tensor<2x64x4x8xbf16>, tensor<1x1x1x64xbf16>) -> (tensor<2x1x4x8xbf16>, tensor<2x4x1xf32>)
  return %r#0 : tensor<2x1x4x8xbf16>
}

// -----

// It also writes the new position of its caches, from where the projection has it.
// CHECK-LABEL: func.func @caches
// CHECK: sinter.scatter
// CHECK: return
// GPU-LABEL: func.func @caches
// GPU-NOT: sinter.scatter
// GPU: %[[R:.*]], %[[C:.*]]:2 = sinter.few_queries_attention %arg0, %arg1, %arg2 rows %arg0, %arg0 at %arg3 heads 4 by_head {first_key = 4 : i64, first_value = 6 : i64, scale = 5.000000e-01 : f64}
// GPU: return %[[R]], %[[C]]#0, %[[C]]#1
func.func @caches(%qkv: tensor<2x1x8x8xbf16>, %k: tensor<2x2x64x8xbf16>, %v: tensor<2x2x64x8xbf16>, %at: tensor<1xi32>) -> (tensor<2x1x4x8xbf16>, tensor<2x2x64x8xbf16>, tensor<2x2x64x8xbf16>) {
  %q = sinter.slice %qkv [0, 0, 0, 0] [2, 1, 4, 8] [1, 1, 1, 1] : tensor<2x1x8x8xbf16> -> tensor<2x1x4x8xbf16>
  %nk = sinter.slice %qkv [0, 0, 4, 0] [2, 1, 6, 8] [1, 1, 1, 1] : tensor<2x1x8x8xbf16> -> tensor<2x1x2x8xbf16>
  %nv = sinter.slice %qkv [0, 0, 6, 0] [2, 1, 8, 8] [1, 1, 1, 1] : tensor<2x1x8x8xbf16> -> tensor<2x1x2x8xbf16>
  %wide = sinter.cast %nk : tensor<2x1x2x8xbf16> -> tensor<2x1x2x8xf32>
  %turned = sinter.transpose %wide [0, 2, 1, 3] : tensor<2x1x2x8xf32> -> tensor<2x2x1x8xf32>
  %row = sinter.cast %turned : tensor<2x2x1x8xf32> -> tensor<2x2x1x8xbf16>
  %other = sinter.transpose %nv [0, 2, 1, 3] : tensor<2x1x2x8xbf16> -> tensor<2x2x1x8xbf16>
  %ck = sinter.scatter set %k[%at], %row dim 2 : tensor<2x2x64x8xbf16>, tensor<1xi32>, tensor<2x2x1x8xbf16>
  %cv = sinter.scatter set %v[%at], %other dim 2 : tensor<2x2x64x8xbf16>, tensor<1xi32>, tensor<2x2x1x8xbf16>
  %tk = sinter.transpose %ck [0, 2, 1, 3] : tensor<2x2x64x8xbf16> -> tensor<2x64x2x8xbf16>
  %tv = sinter.transpose %cv [0, 2, 1, 3] : tensor<2x2x64x8xbf16> -> tensor<2x64x2x8xbf16>
  %r = sinter.attention %q, %tk, %tv {scale = 0.5 : f64} : (tensor<2x1x4x8xbf16>, tensor<2x64x2x8xbf16>, tensor<2x64x2x8xbf16>) -> tensor<2x1x4x8xbf16>
  return %r, %ck, %cv : tensor<2x1x4x8xbf16>, tensor<2x2x64x8xbf16>, tensor<2x2x64x8xbf16>
}
