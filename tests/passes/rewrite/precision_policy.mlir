// RUN: sinter-opt %s --split-input-file --sinter-precision-policy | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-precision-policy --sinter-differentiate --sinter-decompose -o /dev/null

// Two matmuls and the ops between them. The bias is cast before its broadcast. An input is cast once for both
// readers. After the last matmul everything is f32 again.
// CHECK-LABEL: func.func @mlp
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf32> {{.*}}, %[[W1:.*]]: tensor<16x32xf32> {{.*}}, %[[B1:.*]]: tensor<32xf32> {{.*}}, %[[W2:.*]]: tensor<32x16xf32>
// CHECK-DAG: %[[X16:.*]] = sinter.cast %[[X]] : tensor<8x16xf32> -> tensor<8x16xbf16>
// CHECK-DAG: %[[W116:.*]] = sinter.cast %[[W1]] : tensor<16x32xf32> -> tensor<16x32xbf16>
// CHECK-DAG: %[[B116:.*]] = sinter.cast %[[B1]] : tensor<32xf32> -> tensor<32xbf16>
// CHECK-DAG: %[[W216:.*]] = sinter.cast %[[W2]] : tensor<32x16xf32> -> tensor<32x16xbf16>
// CHECK-NOT: sinter.cast
// CHECK: %[[H:.*]] = sinter.matmul %[[X16]], %[[W116]] : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
// CHECK: %[[B:.*]] = sinter.broadcast %[[B116]] [1] : tensor<32xbf16> -> tensor<8x32xbf16>
// CHECK: %[[A:.*]] = sinter.add %[[H]], %[[B]] : tensor<8x32xbf16>
// CHECK: %[[R:.*]] = sinter.relu %[[A]] : tensor<8x32xbf16>
// CHECK: %[[Y16:.*]] = sinter.matmul %[[R]], %[[W216]]
// CHECK: %[[Y:.*]] = sinter.cast %[[Y16]] : tensor<8x16xbf16> -> tensor<8x16xf32>
// CHECK: %[[S:.*]] = sinter.add %[[Y]], %[[X]] : tensor<8x16xf32>
// CHECK: %[[L:.*]] = sinter.sum %[[S]] [0, 1] : tensor<8x16xf32> -> tensor<f32>
// CHECK: sinter.gradients %[[L]] wrt %[[W1]], %[[W2]] : (tensor<f32>, tensor<16x32xf32>, tensor<32x16xf32>) -> (tensor<16x32xf32>, tensor<32x16xf32>)
module attributes {sinter.precision = bf16} {
  func.func @mlp(%x: tensor<8x16xf32> {sinter.input = "x"}, %w1: tensor<16x32xf32> {sinter.variable = @w1},
                 %b1: tensor<32xf32> {sinter.variable = @b1}, %w2: tensor<32x16xf32> {sinter.variable = @w2})
      -> (tensor<16x32xf32>, tensor<32x16xf32>) {
    %h = sinter.matmul %x, %w1 : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %b = sinter.broadcast %b1 [1] : tensor<32xf32> -> tensor<8x32xf32>
    %a = sinter.add %h, %b : tensor<8x32xf32>
    %r = sinter.relu %a : tensor<8x32xf32>
    %y = sinter.matmul %r, %w2 : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    %s = sinter.add %y, %x : tensor<8x16xf32>
    %l = sinter.sum %s [0, 1] : tensor<8x16xf32> -> tensor<f32>
    %g:2 = sinter.gradients %l wrt %w1, %w2 : (tensor<f32>, tensor<16x32xf32>, tensor<32x16xf32>) -> (tensor<16x32xf32>, tensor<32x16xf32>)
    return %g#0, %g#1 : tensor<16x32xf32>, tensor<32x16xf32>
  }
}

// -----

// Attention counts as a matmul: it is always low precision, except for its stats.
// CHECK-LABEL: func.func @attention
// CHECK: %[[QKV:.*]] = sinter.cast %arg0 : tensor<2x16x3x4x8xf32> -> tensor<2x16x3x4x8xbf16>
// CHECK: %[[R:.*]], %[[S:.*]] = sinter.attention %[[QKV]] causal {scale = 5.000000e-01 : f64} : (tensor<2x16x3x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
// CHECK: %[[O:.*]] = sinter.cast %[[R]] : tensor<2x16x4x8xbf16> -> tensor<2x16x4x8xf32>
// CHECK: return %[[O]], %[[S]]
module attributes {sinter.precision = bf16} {
  func.func @attention(%qkv: tensor<2x16x3x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
    %r:2 = sinter.attention %qkv causal {scale = 0.5 : f64} : (tensor<2x16x3x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
    return %r#0, %r#1 : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
  }
}

// -----

// Keys of another shape than the queries are low precision too, and so are a gradient's operands except the
// stats.
// CHECK-LABEL: func.func @gradient
// CHECK: sinter.attention_grad {{.*}} : (tensor<2x16x4x8xf16>, tensor<2x9x4x8xf16>, tensor<2x9x4x8xf16>, tensor<2x16x4x8xf16>, tensor<2x4x16xf32>, tensor<2x16x4x8xf16>) -> (tensor<2x16x4x8xf16>, tensor<2x9x4x8xf16>, tensor<2x9x4x8xf16>)
module attributes {sinter.precision = f16} {
  func.func @gradient(%q: tensor<2x16x4x8xf32>, %k: tensor<2x9x4x8xf32>, %s: tensor<2x4x16xf32>) -> tensor<2x9x4x8xf32> {
    %d:3 = sinter.attention_grad %q, %k, %k result %q stats %s gradient %q {scale = 0.5 : f64} : (tensor<2x16x4x8xf32>, tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x4x16xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32>)
    return %d#1 : tensor<2x9x4x8xf32>
  }
}

// -----

// Images: pools and norms between convolutions are low precision; a norm's parameters and statistics are not.
// CHECK-LABEL: func.func @convolutions
// CHECK: sinter.conv2d {{.*}} -> tensor<2x4x8x8xf16>
// CHECK: %[[N:.*]], %[[M:.*]], %[[V:.*]] = sinter.batch_norm_training {{.*}} : (tensor<2x4x8x8xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf16>, tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[P:.*]], %{{.*}} = sinter.max_pool2d %[[N]] {{.*}} : tensor<2x4x8x8xf16> -> tensor<2x4x4x4xf16>, tensor<2x4x4x4xui8>
// CHECK: %[[D:.*]] = sinter.dropout %[[P]]
// CHECK: sinter.conv2d %[[D]], {{.*}} -> tensor<2x4x4x4xf16>
// CHECK: return %{{.*}}, %[[M]], %[[V]] : tensor<2x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>
module attributes {sinter.precision = f16} {
  func.func @convolutions(%x: tensor<2x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %scale: tensor<4xf32>, %offset: tensor<4xf32>,
                          %seed: tensor<i64>) -> (tensor<2x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %c = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x8x8xf32>
    %n:3 = sinter.batch_norm_training %c, %scale, %offset dim 1 {epsilon = 1.0e-5 : f64}
      : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
    %p, %position = sinter.max_pool2d %n#0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>}
      : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>, tensor<2x4x4x4xui8>
    %d = sinter.dropout %p, %seed, %seed stream 0 {probability = 0.5 : f64} : tensor<2x4x4x4xf32>, tensor<i64>, tensor<i64> -> tensor<2x4x4x4xf32>
    %y = sinter.conv2d %d, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x4x4xf32>
    return %y, %n#1, %n#2 : tensor<2x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Attention: softmax returns low-precision probabilities and computes in f32 inside. A loss stays in f32.
// CHECK-LABEL: func.func @attention
// CHECK: %[[P:.*]] = sinter.softmax %{{.*}} dim 1 : tensor<8x8xbf16> -> tensor<8x8xbf16>
// CHECK: %[[Y16:.*]] = sinter.matmul %[[P]]
// CHECK: %[[Y:.*]] = sinter.cast %[[Y16]] : tensor<8x4xbf16> -> tensor<8x4xf32>
// CHECK: sinter.softmax_cross_entropy mean %[[Y]], %{{.*}} : tensor<8x4xf32>, tensor<8xi32> -> tensor<f32>
module attributes {sinter.precision = bf16} {
  func.func @attention(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %labels: tensor<8xi32>) -> tensor<f32> {
    %s = sinter.matmul %q, %k {transpose_b} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %p = sinter.softmax %s dim 1 : tensor<8x8xf32> -> tensor<8x8xf32>
    %y = sinter.matmul %p, %k : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %l = sinter.softmax_cross_entropy mean %y, %labels : tensor<8x4xf32>, tensor<8xi32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// The program's explicit types and math modes have priority. A comparison is not a matmul operand, a gather's
// table is read as it is, and a reduction between matmuls is in f32.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x4xf32>, %[[D:[^:]*]]: tensor<4x4xf64>, %[[H:[^:]*]]: tensor<4x4xf16>, %[[I:[^:]*]]: tensor<4xi32>)
// CHECK: sinter.matmul %[[D]], %[[D]] : (tensor<4x4xf64>
// CHECK: sinter.matmul %[[H]], %[[H]] : (tensor<4x4xf16>
// CHECK: %[[T:.*]] = sinter.matmul %[[X]], %[[X]] math tf32 : (tensor<4x4xf32>
// CHECK: %[[A16:.*]] = sinter.matmul %{{.*}} -> tensor<4x4xbf16>
// CHECK: %[[A:.*]] = sinter.cast %[[A16]] : tensor<4x4xbf16> -> tensor<4x4xf32>
// CHECK: sinter.compare gt %[[A]], %{{.*}} : tensor<4x4xf32>
// CHECK: sinter.select %{{.*}}, %[[A16]], %{{.*}} : tensor<4x4xi1>, tensor<4x4xbf16>
// CHECK: sinter.gather %[[A]][%[[I]]] dim 0 : tensor<4x4xf32>
// CHECK: sinter.sum %[[A]] [1] : tensor<4x4xf32> -> tensor<4xf32>
// CHECK: sinter.broadcast %{{.*}} [0] : tensor<4xbf16> -> tensor<4x4xbf16>
module attributes {sinter.precision = bf16} {
  func.func @kept(%x: tensor<4x4xf32>, %d: tensor<4x4xf64>, %h: tensor<4x4xf16>, %i: tensor<4xi32>)
      -> (tensor<4x4xf64>, tensor<4x4xf16>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
    %dd = sinter.matmul %d, %d : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
    %hh = sinter.matmul %h, %h : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %t = sinter.matmul %x, %x math tf32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %a = sinter.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %zero = sinter.constant dense<0.0> : tensor<4x4xf32>
    %c = sinter.compare gt %a, %zero : tensor<4x4xf32> -> tensor<4x4xi1>
    %s = sinter.select %c, %a, %zero : tensor<4x4xi1>, tensor<4x4xf32>
    %b = sinter.matmul %s, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %g = sinter.gather %a[%i] dim 0 : tensor<4x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
    %e = sinter.matmul %g, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %sum = sinter.sum %a [1] : tensor<4x4xf32> -> tensor<4xf32>
    %spread = sinter.broadcast %sum [0] : tensor<4xf32> -> tensor<4x4xf32>
    %f = sinter.matmul %spread, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %dd, %hh, %t, %b, %e, %f : tensor<4x4xf64>, tensor<4x4xf16>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// The gradient of a value between matmuls has the value's type; the program gets it in f32.
// CHECK-LABEL: func.func @gradient_of_a_narrow_value
// CHECK: %[[H:.*]] = sinter.relu %{{.*}} : tensor<4x4xbf16>
// CHECK: %[[G:.*]]:2 = sinter.gradients %{{.*}} wrt %[[H]], %{{.*}} : (tensor<f32>, tensor<4x4xbf16>, tensor<4x4xf32>) -> (tensor<4x4xbf16>, tensor<4x4xf32>)
// CHECK: %[[WIDE:.*]] = sinter.cast %[[G]]#0 : tensor<4x4xbf16> -> tensor<4x4xf32>
// CHECK: return %[[WIDE]], %[[G]]#1
module attributes {sinter.precision = bf16} {
  func.func @gradient_of_a_narrow_value(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %a = sinter.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %h = sinter.relu %a : tensor<4x4xf32>
    %b = sinter.matmul %h, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %l = sinter.sum %b [0, 1] : tensor<4x4xf32> -> tensor<f32>
    %g:2 = sinter.gradients %l wrt %h, %x : (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
    return %g#0, %g#1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// A copy moves half the bytes; casts run on the devices of their values.
// CHECK-LABEL: func.func @devices
// CHECK: sinter.cast %{{.*}} {sinter.device = #sinter.device<gpu, 0>} : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK: sinter.copy %{{.*}} to <gpu, 1> : tensor<4x4xbf16>
// CHECK: sinter.cast %{{.*}} {sinter.device = #sinter.device<gpu, 1>} : tensor<4x4xbf16> -> tensor<4x4xf32>
module attributes {sinter.precision = bf16} {
  func.func @devices(%x: tensor<4x4xf32> {sinter.input = "x", sinter.device = #sinter.device<gpu, 0>}) -> (tensor<4x4xf32> {sinter.output = "y"}) {
    %a = sinter.matmul %x, %x {sinter.device = #sinter.device<gpu, 0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %c = sinter.copy %a to <gpu, 1> : tensor<4x4xf32>
    %b = sinter.matmul %c, %c {sinter.device = #sinter.device<gpu, 1>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %b : tensor<4x4xf32>
  }
}

// -----

// The body of a loop computes its products in bf16; what it gets and yields stays in f32.
// CHECK-LABEL: func.func @loop
// CHECK: sinter.scan 3 carry(%{{.*}} : tensor<4x4xf32>) with(%{{.*}} : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %[[S:.*]]: tensor<4x4xf32>, %[[W:.*]]: tensor<4x4xf32>):
// CHECK-DAG: %[[S16:.*]] = sinter.cast %[[S]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-DAG: %[[W16:.*]] = sinter.cast %[[W]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK: %[[P:.*]] = sinter.matmul %[[S16]], %[[W16]]
// CHECK: %[[P32:.*]] = sinter.cast %[[P]] : tensor<4x4xbf16> -> tensor<4x4xf32>
// CHECK: sinter.tanh %[[P32]] : tensor<4x4xf32>
module attributes {sinter.precision = bf16} {
  func.func @loop(%x: tensor<4x4xf32> {sinter.input = "x"}, %w: tensor<4x4xf32> {sinter.input = "w"}) -> (tensor<4x4xf32> {sinter.output = "y"}) {
    %y = sinter.scan 3 carry(%x : tensor<4x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%i: tensor<i64>, %s: tensor<4x4xf32>, %v: tensor<4x4xf32>):
      %p = sinter.matmul %s, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %n = sinter.tanh %p : tensor<4x4xf32>
      sinter.yield %n : tensor<4x4xf32>
    }
    return %y : tensor<4x4xf32>
  }
}

// -----

// CHECK-LABEL: func.func @as_written
// CHECK-NOT: bf16
module attributes {sinter.precision = f32} {
  func.func @as_written(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %a = sinter.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %a : tensor<4x4xf32>
  }
}
