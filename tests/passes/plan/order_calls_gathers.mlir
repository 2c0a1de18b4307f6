// RUN: sinter-opt %s --split-input-file --sinter-order-calls --mlir-print-local-scope | FileCheck %s

// A long product hides all gathers, if they start beside it. The time saved is worth the memory.
// CHECK-LABEL: plan.function @hidden
// CHECK: plan.call "gather0"
// CHECK: plan.call "gather1"
// CHECK: plan.call "gather2"
// CHECK: plan.call "gather3"
// CHECK: plan.call "product"
// CHECK: plan.call "use0"
// CHECK: plan.call "use1"
// CHECK: plan.call "use2"
// CHECK: plan.call "use3"
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @hidden on [#sinter.device<gpu, 0>] {
    %a = plan.input "a" on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %b = plan.input "b" on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p0 = plan.input "p0" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p1 = plan.input "p1" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w1 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z1 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p2 = plan.input "p2" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w2 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z2 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p3 = plan.input "p3" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w3 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z3 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    plan.call "product" ins(%a, %b : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.matmul %i0, %i1 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather0" ins(%p0 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w0 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 0 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use0" ins(%z, %w0 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z0 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather1" ins(%p1 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w1 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 1 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use1" ins(%z0, %w1 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z1 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather2" ins(%p2 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w2 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 2 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use2" ins(%z1, %w2 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z2 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather3" ins(%p3 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w3 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 3 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use3" ins(%z2, %w3 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z3 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.output "z" %z3 : !plan.buffer<tensor<4096x4096xbf16>>
  }
}

// -----

// A short product hides little of the gathers, however early they start: two at a time take less memory.
// CHECK-LABEL: plan.function @exposed
// CHECK: plan.call "gather0"
// CHECK: plan.call "gather1"
// CHECK: plan.call "product"
// CHECK: plan.call "use0"
// CHECK: plan.call "gather2"
// CHECK: plan.call "use1"
// CHECK: plan.call "gather3"
// CHECK: plan.call "use2"
// CHECK: plan.call "use3"
module attributes {sinter.mesh = #sinter.mesh<data 2>} {
  plan.function @exposed on [#sinter.device<gpu, 0>] {
    %a = plan.input "a" on <gpu, 0> : !plan.buffer<tensor<4096x512xbf16>>
    %b = plan.input "b" on <gpu, 0> : !plan.buffer<tensor<512x4096xbf16>>
    %z = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p0 = plan.input "p0" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z0 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p1 = plan.input "p1" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w1 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z1 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p2 = plan.input "p2" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w2 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z2 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %p3 = plan.input "p3" on <gpu, 0> : !plan.buffer<tensor<2048x4096xbf16>>
    %w3 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    %z3 = plan.alloc on <gpu, 0> : !plan.buffer<tensor<4096x4096xbf16>>
    plan.call "product" ins(%a, %b : !plan.buffer<tensor<4096x512xbf16>>, !plan.buffer<tensor<512x4096xbf16>>) outs(%z : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x512xbf16>, %i1: tensor<512x4096xbf16>):
      %r = sinter.matmul %i0, %i1 : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather0" ins(%p0 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w0 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 0 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use0" ins(%z, %w0 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z0 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather1" ins(%p1 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w1 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 1 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use1" ins(%z0, %w1 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z1 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather2" ins(%p2 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w2 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 2 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use2" ins(%z1, %w2 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z2 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "gather3" ins(%p3 : !plan.buffer<tensor<2048x4096xbf16>>) outs(%w3 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<2048x4096xbf16>):
      %r = sinter.all_gather %i0 sizes [] over ["data"] channel 3 : tensor<2048x4096xbf16> -> tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.call "use3" ins(%z2, %w3 : !plan.buffer<tensor<4096x4096xbf16>>, !plan.buffer<tensor<4096x4096xbf16>>) outs(%z3 : !plan.buffer<tensor<4096x4096xbf16>>) on <gpu, 0> {
    ^bb0(%i0: tensor<4096x4096xbf16>, %i1: tensor<4096x4096xbf16>):
      %r = sinter.add %i0, %i1 : tensor<4096x4096xbf16>
      sinter.yield %r : tensor<4096x4096xbf16>
    }
    plan.output "z" %z3 : !plan.buffer<tensor<4096x4096xbf16>>
  }
}
