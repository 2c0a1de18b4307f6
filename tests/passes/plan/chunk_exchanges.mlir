// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-chunk-exchanges=report=true --mlir-print-local-scope | FileCheck %s
// RUN: sinter-opt %s --split-input-file --pass-pipeline='builtin.module(sinter-chunk-exchanges,plan.function(sinter-order-calls,sinter-plan-memory,sinter-verify-plan))' | FileCheck %s --check-prefix=ORDER
// RUN: sinter-opt %s --split-input-file --sinter-chunk-exchanges=parts=1 | FileCheck %s --check-prefix=WHOLE
// RUN: sinter-opt %s --split-input-file --sinter-chunk-exchanges=parts=4 --mlir-print-local-scope | FileCheck %s --check-prefix=FORCED

// A product, the sum of its terms, and a product of the sum. Nothing else could hide the sum: its first part
// travels beside the second part of the first product.
// CHECK-LABEL: plan.function @exposed
// CHECK: [[H:%.*]] = plan.alloc on <gpu, 0> : <tensor<4096x2048xbf16>>
// CHECK: plan.view [[H]] at 0 : <tensor<4096x2048xbf16>> -> <tensor<2048x2048xbf16>>
// CHECK: plan.view [[H]] at 8388608 : <tensor<4096x2048xbf16>> -> <tensor<2048x2048xbf16>>
// CHECK: plan.call "up_part0"
// CHECK-SAME: tensor<2048x4096xbf16>{{.*}}tensor<4096x2048xbf16>{{.*}}outs({{.*}}tensor<2048x2048xbf16>
// CHECK: plan.call "sum_part0"
// CHECK: sinter.all_reduce sum {{.*}} over ["tensor"] channel 0
// CHECK-SAME: "a reason; in 2 parts, each beside the computation of another"
// CHECK: plan.call "up_part1"
// CHECK: plan.call "sum_part1"
// CHECK: sinter.all_reduce sum {{.*}} over ["tensor"] channel 1
// CHECK: plan.call "scale_part0"
// CHECK: plan.call "down_part0"
// CHECK: plan.call "scale_part1"
// CHECK: plan.call "down_part1"
// The weight's gradient contracts the rows, so it reads all of the sum.
// CHECK: plan.call "contract" ins({{.*}} : !plan.buffer<tensor<4096x2048xbf16>>, !plan.buffer<tensor<4096x2048xbf16>>)
// CHECK-NOT: plan.call
// ORDER-LABEL: plan.function @exposed
// ORDER: plan.call "up_part0"
// ORDER: plan.call "sum_part0"
// ORDER: plan.call "up_part1"
// ORDER: plan.call "sum_part1"
// ORDER: plan.call "scale_part0"
// ORDER: plan.call "scale_part1"
// ORDER: plan.call "contract"
// WHOLE-LABEL: plan.function @exposed
// WHOLE-NOT: _part
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  // expected-remark-re @below {{takes {{[0-9]+}} us with exchanges in parts, {{[0-9]+}} us without (predicted)}}
  plan.function @exposed on [#sinter.device<gpu, 0>] {
    %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %w = plan.input "w" on <gpu, 0> : !plan.buffer<tensor<4096x2048xbf16>>
    %v = plan.input "v" on <gpu, 0> : !plan.buffer<tensor<2048x2048xbf16>>
    %h = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x2048xbf16>>
    %s = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x2048xbf16>>
    %z = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x2048xbf16>>
    %y = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x2048xbf16>>
    %g = plan.alloc on <gpu, 0> : !plan.buffer<tensor<2048x2048xbf16>>
    plan.call "up" ins(%x, %w : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x2048xbf16>>) outs(%h : !plan.buffer<tensor<4096x2048xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x2048xbf16>):
      %r = sinter.matmul %i0, %i1 : (tensor<4096x4096xbf16>, tensor<4096x2048xbf16>) -> tensor<4096x2048xbf16>
      sinter.yield %r : tensor<4096x2048xbf16>
    }
    // expected-remark @below {{all_reduce of 16777216 bytes travels in 2 parts, each beside the computation of another}}
    plan.call "sum" ins(%h : !plan.buffer<tensor<4096x2048xbf16>>) outs(%s : !plan.buffer<tensor<4096x2048xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x2048xbf16>):
      %r = sinter.all_reduce sum %i0 over ["tensor"] channel 7 {sinter.because = ["a reason", loc(unknown)]} : (tensor<4096x2048xbf16>) -> tensor<4096x2048xbf16>
      sinter.yield %r : tensor<4096x2048xbf16>
    }
    plan.call "scale" ins(%s : !plan.buffer<tensor<4096x2048xbf16>>) outs(%z : !plan.buffer<tensor<4096x2048xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x2048xbf16>):
      %m = sinter.max %i0 [1] : tensor<4096x2048xbf16> -> tensor<4096xbf16>
      %b = sinter.broadcast %m [0] : tensor<4096xbf16> -> tensor<4096x2048xbf16>
      %r = sinter.sub %i0, %b : tensor<4096x2048xbf16>
      sinter.yield %r : tensor<4096x2048xbf16>
    }
    plan.call "down" ins(%z, %v : !plan.buffer<tensor<4096x2048xbf16>>, !plan.buffer<tensor<2048x2048xbf16>>) outs(%y : !plan.buffer<tensor<4096x2048xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x2048xbf16>, %i1: tensor<2048x2048xbf16>):
      %r = sinter.matmul %i0, %i1 : (tensor<4096x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<4096x2048xbf16>
      sinter.yield %r : tensor<4096x2048xbf16>
    }
    plan.call "contract" ins(%s, %z : !plan.buffer<tensor<4096x2048xbf16>>, !plan.buffer<tensor<4096x2048xbf16>>) outs(%g : !plan.buffer<tensor<2048x2048xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x2048xbf16>, %i1: tensor<4096x2048xbf16>):
      %r = sinter.matmul %i0, %i1 {transpose_a} : (tensor<4096x2048xbf16>, tensor<4096x2048xbf16>) -> tensor<2048x2048xbf16>
      sinter.yield %r : tensor<2048x2048xbf16>
    }
    plan.output "y" %y : !plan.buffer<tensor<4096x2048xbf16>>
    plan.output "g" %g : !plan.buffer<tensor<2048x2048xbf16>>
  }
}

// -----

// A product that needs neither hides the sum.
// CHECK-LABEL: plan.function @hidden
// CHECK-NOT: _part
// FORCED-LABEL: plan.function @hidden
// FORCED: plan.call "sum_part3"
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  plan.function @hidden on [#sinter.device<gpu, 0>] {
    %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<1024x1024xbf16>>
    %a = plan.input "a" on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %h = plan.alloc on <gpu, 0> : !plan.buffer<tensor<1024x1024xbf16>>
    %s = plan.alloc on <gpu, 0> : !plan.buffer<tensor<1024x1024xbf16>>
    %b = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %y = plan.alloc on <gpu, 0> : !plan.buffer<tensor<1024x1024xbf16>>
    plan.call "up" ins(%x : !plan.buffer<tensor<1024x1024xbf16>>) outs(%h : !plan.buffer<tensor<1024x1024xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<1024x1024xbf16>):
      %r = sinter.matmul %i0, %i0 : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
      sinter.yield %r : tensor<1024x1024xbf16>
    }
    plan.call "sum" ins(%h : !plan.buffer<tensor<1024x1024xbf16>>) outs(%s : !plan.buffer<tensor<1024x1024xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<1024x1024xbf16>):
      %r = sinter.all_reduce sum %i0 over ["tensor"] channel 0 : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
      sinter.yield %r : tensor<1024x1024xbf16>
    }
    plan.call "beside" ins(%a : !plan.buffer<tensor<4096x4096xbf16>>) outs(%b : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %r = sinter.matmul %i0, %i0 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "neg" ins(%s : !plan.buffer<tensor<1024x1024xbf16>>) outs(%y : !plan.buffer<tensor<1024x1024xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<1024x1024xbf16>):
      %r = sinter.neg %i0 : tensor<1024x1024xbf16>
      sinter.yield %r : tensor<1024x1024xbf16>
    }
    plan.output "y" %y : !plan.buffer<tensor<1024x1024xbf16>>
    plan.output "b" %b : !plan.buffer<tensor<4096x4096xbf16>>
  }
}

// -----

// Exposed exchanges that stay whole: an op reads all rows, or each rank keeps some of the rows.
// CHECK-LABEL: plan.function @all_rows
// CHECK-NOT: _part
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  plan.function @all_rows on [#sinter.device<gpu, 0>] {
    %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %s = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %g = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %r = plan.alloc on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %y = plan.alloc on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    // expected-remark @below {{all_reduce travels whole: no computation beside it works by its rows}}
    plan.call "sum" ins(%x : !plan.buffer<tensor<4096x4096xbf16>>) outs(%s : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %r = sinter.all_reduce sum %i0 over ["tensor"] channel 0 : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "contract" ins(%s : !plan.buffer<tensor<4096x4096xbf16>>) outs(%g : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %r = sinter.matmul %i0, %i0 {transpose_a} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    // expected-remark @below {{reduce_scatter travels whole: parts of a reduce_scatter would give each rank other rows}}
    plan.call "scatter" ins(%g : !plan.buffer<tensor<4096x4096xbf16>>) outs(%r : !plan.buffer<tensor<2048x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %r = sinter.reduce_scatter sum %i0 sizes [] over ["tensor"] channel 1 : tensor<4096x4096xbf16> -> tensor<2048x4096xbf16>
      sinter.yield %r : tensor<2048x4096xbf16>
    }
    plan.call "neg" ins(%r : !plan.buffer<tensor<2048x4096xbf16>>) outs(%y : !plan.buffer<tensor<2048x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.neg %i0 : tensor<2048x4096xbf16>
      sinter.yield %r : tensor<2048x4096xbf16>
    }
    plan.output "y" %y : !plan.buffer<tensor<2048x4096xbf16>>
  }
}

// -----

// Each part counts its rows from its place in the whole: an iota by rows begins at 2, random numbers have the
// positions of the whole. The weight, which all rows read, is whole in each part; the rows are the outermost
// dimension, which a reshape joins with the next one. A CPU's exchanges run alone.
// CHECK-LABEL: plan.function @numbered
// CHECK-NOT: _part
// FORCED-LABEL: plan.function @numbered
// FORCED: plan.view {{.*}} at 512 : <tensor<8x4x16xf32>> -> <tensor<2x4x16xf32>>
// FORCED: plan.view {{.*}} at 512 : <tensor<32x16xf32>> -> <tensor<8x16xf32>>
// FORCED: plan.call "make_part0"
// FORCED: plan.call "make_part1"
// FORCED-SAME: !plan.buffer<tensor<2x4x16xf32>>, !plan.buffer<tensor<16xf32>>, !plan.buffer<tensor<i64>>) outs({{.*}} : !plan.buffer<tensor<8x16xf32>>)
// FORCED: sinter.constant dense<2> : tensor<i64>
// FORCED: sinter.iota 0 origin {{.*}} : tensor<2x4x16xf32>
// FORCED: sinter.random_uniform {{.*}} of [8, 4, 16] {{.*}} -> tensor<2x4x16xf32>
// FORCED: sinter.reshape {{.*}} : tensor<2x4x16xf32> -> tensor<8x16xf32>
// FORCED: plan.call "sum_part1"
// FORCED: channel 1
// FORCED: plan.call "make_part3"
// FORCED: plan.call "square_part0"
// The sum over all rows needs all parts.
// FORCED: plan.call "total"
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  plan.function @numbered {
    %x = plan.input "x" : <tensor<8x4x16xf32>>
    %w = plan.input "w" : <tensor<16xf32>>
    %seed = plan.input "seed" : <tensor<i64>>
    %h = plan.alloc : <tensor<32x16xf32>>
    %s = plan.alloc : <tensor<32x16xf32>>
    %q = plan.alloc : <tensor<32x16xf32>>
    %t = plan.alloc : <tensor<16xf32>>
    plan.call "make" ins(%x, %w, %seed : !plan.buffer<tensor<8x4x16xf32>>, !plan.buffer<tensor<16xf32>>, !plan.buffer<tensor<i64>>) outs(%h : !plan.buffer<tensor<32x16xf32>>) {
    ^bb0(%i0: tensor<8x4x16xf32>, %i1: tensor<16xf32>, %i2: tensor<i64>):
      %n = sinter.iota 0 : tensor<8x4x16xf32>
      %u = sinter.random_uniform %i2, %i2 stream 0 low 0.0 high 1.0 : tensor<i64>, tensor<i64> -> tensor<8x4x16xf32>
      %b = sinter.broadcast %i1 [2] : tensor<16xf32> -> tensor<8x4x16xf32>
      %p = sinter.mul %n, %u : tensor<8x4x16xf32>
      %a = sinter.add %p, %b : tensor<8x4x16xf32>
      %c = sinter.add %a, %i0 : tensor<8x4x16xf32>
      %r = sinter.reshape %c : tensor<8x4x16xf32> -> tensor<32x16xf32>
      sinter.yield %r : tensor<32x16xf32>
    }
    plan.call "sum" ins(%h : !plan.buffer<tensor<32x16xf32>>) outs(%s : !plan.buffer<tensor<32x16xf32>>) {
    ^bb0(%i0: tensor<32x16xf32>):
      %r = sinter.all_reduce sum %i0 over ["tensor"] channel 0 : (tensor<32x16xf32>) -> tensor<32x16xf32>
      sinter.yield %r : tensor<32x16xf32>
    }
    plan.call "square" ins(%s : !plan.buffer<tensor<32x16xf32>>) outs(%q : !plan.buffer<tensor<32x16xf32>>) {
    ^bb0(%i0: tensor<32x16xf32>):
      %r = sinter.mul %i0, %i0 : tensor<32x16xf32>
      sinter.yield %r : tensor<32x16xf32>
    }
    plan.call "total" ins(%q : !plan.buffer<tensor<32x16xf32>>) outs(%t : !plan.buffer<tensor<16xf32>>) {
    ^bb0(%i0: tensor<32x16xf32>):
      %r = sinter.sum %i0 [0] : tensor<32x16xf32> -> tensor<16xf32>
      sinter.yield %r : tensor<16xf32>
    }
    plan.output "t" %t : <tensor<16xf32>>
  }
}

// -----

// Both variants get the same exchanges. The rows of "part#1" do not divide into four parts.
// FORCED-LABEL: plan.function @"part#0"
// FORCED-NOT: _part
// FORCED: plan.function @"part#1"
// FORCED-NOT: _part
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  plan.function @"part#0" variant_of "part" ranks [0, 1, 0, 2] {
    %x = plan.input "x" : <tensor<8x16xf32>>
    %h = plan.alloc : <tensor<8x16xf32>>
    %s = plan.alloc : <tensor<8x16xf32>>
    plan.call "make" ins(%x : !plan.buffer<tensor<8x16xf32>>) outs(%h : !plan.buffer<tensor<8x16xf32>>) {
    ^bb0(%i0: tensor<8x16xf32>):
      %r = sinter.neg %i0 : tensor<8x16xf32>
      sinter.yield %r : tensor<8x16xf32>
    }
    plan.call "sum" ins(%h : !plan.buffer<tensor<8x16xf32>>) outs(%s : !plan.buffer<tensor<8x16xf32>>) {
    ^bb0(%i0: tensor<8x16xf32>):
      %r = sinter.all_reduce sum %i0 over ["tensor"] channel 0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
      sinter.yield %r : tensor<8x16xf32>
    }
    plan.output "s" %s : <tensor<8x16xf32>>
  }
  plan.function @"part#1" variant_of "part" ranks [1, 2, 0, 2] {
    %x = plan.input "x" : <tensor<7x16xf32>>
    %h = plan.alloc : <tensor<7x16xf32>>
    %s = plan.alloc : <tensor<7x16xf32>>
    plan.call "make" ins(%x : !plan.buffer<tensor<7x16xf32>>) outs(%h : !plan.buffer<tensor<7x16xf32>>) {
    ^bb0(%i0: tensor<7x16xf32>):
      %r = sinter.neg %i0 : tensor<7x16xf32>
      sinter.yield %r : tensor<7x16xf32>
    }
    plan.call "sum" ins(%h : !plan.buffer<tensor<7x16xf32>>) outs(%s : !plan.buffer<tensor<7x16xf32>>) {
    ^bb0(%i0: tensor<7x16xf32>):
      %r = sinter.all_reduce sum %i0 over ["tensor"] channel 0 : (tensor<7x16xf32>) -> tensor<7x16xf32>
      sinter.yield %r : tensor<7x16xf32>
    }
    plan.output "s" %s : <tensor<7x16xf32>>
  }
}

// -----

// Each rank keeps some rows of the sum, computes with each of them alone, and adds them up; then the rows are
// gathered. In parts each rank has other rows, and what is gathered is the same.
// CHECK-LABEL: plan.function @rows
// CHECK: plan.call "up_part0"
// CHECK: plan.call "scatter_part0"
// CHECK: sinter.reduce_scatter sum {{.*}} channel 0 : tensor<2048x4096xbf16> -> tensor<1024x4096xbf16>
// CHECK: plan.call "scale_part0"
// CHECK: plan.call "gather_part0"
// CHECK: sinter.all_gather {{.*}} channel 1 : tensor<1024x4096xbf16> -> tensor<2048x4096xbf16>
// CHECK: plan.call "up_part1"
// CHECK: plan.call "scatter_part1"
// CHECK: plan.call "scale_part1"
// CHECK: plan.call "gather_part1"
// CHECK: plan.call "gather_part3"
// CHECK: plan.call "columns" ins({{.*}}tensor<4096x4096xbf16>>)
// CHECK: plan.call "down_part0"
// CHECK: plan.call "down_part3"
// WHOLE-LABEL: plan.function @rows
// FORCED-LABEL: plan.function @rows
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  // expected-remark-re @below {{takes {{[0-9]+}} us with exchanges in parts, {{[0-9]+}} us without (predicted)}}
  plan.function @rows on [#sinter.device<gpu, 0>] {
    %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<8192x4096xbf16>>
    %w = plan.input "w" on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %h = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8192x4096xbf16>>
    %s = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %c = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096xbf16>>
    %a = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8192x4096xbf16>>
    %y = plan.alloc on <gpu, 0> : !plan.buffer<tensor<8192x4096xbf16>>
    plan.call "up" ins(%x, %w : !plan.buffer<tensor<8192x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%h : !plan.buffer<tensor<8192x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<8192x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.matmul %i0, %i1 : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
      sinter.yield %r : tensor<8192x4096xbf16>
    }
    // expected-remark @below {{reduce_scatter of 67108864 bytes travels in 4 parts, each beside the computation of another}}
    plan.call "scatter" ins(%h : !plan.buffer<tensor<8192x4096xbf16>>) outs(%s : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<8192x4096xbf16>):
      %r = sinter.reduce_scatter sum %i0 sizes [] over ["tensor"] channel 0 : tensor<8192x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "scale" ins(%s : !plan.buffer<tensor<4096x4096xbf16>>) outs(%z : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %n = sinter.iota 1 : tensor<4096x4096xbf16>
      %m = sinter.max %i0 [1] : tensor<4096x4096xbf16> -> tensor<4096xbf16>
      %b = sinter.broadcast %m [0] : tensor<4096xbf16> -> tensor<4096x4096xbf16>
      %d = sinter.sub %i0, %b : tensor<4096x4096xbf16>
      %r = sinter.mul %d, %n : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "columns" ins(%z : !plan.buffer<tensor<4096x4096xbf16>>) outs(%c : !plan.buffer<tensor<4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %r = sinter.sum %i0 [0] : tensor<4096x4096xbf16> -> tensor<4096xbf16>
      sinter.yield %r : tensor<4096xbf16>
    }
    // expected-remark @below {{all_gather of 33554432 bytes travels in 4 parts, each beside the computation of another}}
    plan.call "gather" ins(%z : !plan.buffer<tensor<4096x4096xbf16>>) outs(%a : !plan.buffer<tensor<8192x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["tensor"] channel 1 : tensor<4096x4096xbf16> -> tensor<8192x4096xbf16>
      sinter.yield %r : tensor<8192x4096xbf16>
    }
    plan.call "down" ins(%a, %w : !plan.buffer<tensor<8192x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%y : !plan.buffer<tensor<8192x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<8192x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.matmul %i0, %i1 : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
      sinter.yield %r : tensor<8192x4096xbf16>
    }
    plan.output "y" %y : !plan.buffer<tensor<8192x4096xbf16>>
    plan.output "c" %c : !plan.buffer<tensor<4096xbf16>>
  }
}

// -----

// A rank numbers its rows, so it must keep them: even forced, the exchanges stay whole.
// FORCED-LABEL: plan.function @numbered_rows
// FORCED-NOT: _part
module attributes {sinter.mesh = #sinter.mesh<tensor 2>} {
  plan.function @numbered_rows {
    %x = plan.input "x" : <tensor<32x16xf32>>
    %h = plan.alloc : <tensor<32x16xf32>>
    %s = plan.alloc : <tensor<16x16xf32>>
    %z = plan.alloc : <tensor<16x16xf32>>
    %a = plan.alloc : <tensor<32x16xf32>>
    plan.call "make" ins(%x : !plan.buffer<tensor<32x16xf32>>) outs(%h : !plan.buffer<tensor<32x16xf32>>) {
    ^bb0(%i0: tensor<32x16xf32>):
      %r = sinter.neg %i0 : tensor<32x16xf32>
      sinter.yield %r : tensor<32x16xf32>
    }
    plan.call "scatter" ins(%h : !plan.buffer<tensor<32x16xf32>>) outs(%s : !plan.buffer<tensor<16x16xf32>>) {
    ^bb0(%i0: tensor<32x16xf32>):
      %r = sinter.reduce_scatter sum %i0 sizes [] over ["tensor"] channel 0 : tensor<32x16xf32> -> tensor<16x16xf32>
      sinter.yield %r : tensor<16x16xf32>
    }
    plan.call "number" ins(%s : !plan.buffer<tensor<16x16xf32>>) outs(%z : !plan.buffer<tensor<16x16xf32>>) {
    ^bb0(%i0: tensor<16x16xf32>):
      %n = sinter.iota 0 : tensor<16x16xf32>
      %r = sinter.mul %i0, %n : tensor<16x16xf32>
      sinter.yield %r : tensor<16x16xf32>
    }
    plan.call "gather" ins(%z : !plan.buffer<tensor<16x16xf32>>) outs(%a : !plan.buffer<tensor<32x16xf32>>) {
    ^bb0(%i0: tensor<16x16xf32>):
      %r = sinter.all_gather %i0 sizes [] over ["tensor"] channel 1 : tensor<16x16xf32> -> tensor<32x16xf32>
      sinter.yield %r : tensor<32x16xf32>
    }
    plan.output "a" %a : <tensor<32x16xf32>>
  }
}

// -----

// One call writes a variable's new value in place.
// FORCED-LABEL: plan.function @update
// FORCED-NOT: _part
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @update {
    %w = plan.variable @w : <tensor<8x16xf32>>
    %g = plan.input "g" : <tensor<8x16xf32>>
    %s = plan.alloc : <tensor<8x16xf32>>
    %n = plan.alloc : <tensor<8x16xf32>>
    %new = plan.variable @w : <tensor<8x16xf32>>
    plan.call "sum" ins(%g : !plan.buffer<tensor<8x16xf32>>) outs(%s : !plan.buffer<tensor<8x16xf32>>) {
    ^bb0(%i0: tensor<8x16xf32>):
      %r = sinter.all_reduce sum %i0 over ["data"] channel 0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
      sinter.yield %r : tensor<8x16xf32>
    }
    plan.call "step" ins(%w, %s : !plan.buffer<tensor<8x16xf32>>, !plan.buffer<tensor<8x16xf32>>) outs(%n : !plan.buffer<tensor<8x16xf32>>) {
    ^bb0(%i0: tensor<8x16xf32>, %i1: tensor<8x16xf32>):
      %r = sinter.sub %i0, %i1 : tensor<8x16xf32>
      sinter.yield %r : tensor<8x16xf32>
    }
    plan.copy %n to %new : <tensor<8x16xf32>>
  }
}
