// RUN: sinter-opt %s --device=gpu:0 --split-input-file --pass-pipeline='builtin.module(func.func(sinter-pad-products{always},canonicalize,cse))' | FileCheck %s
// RUN: sinter-opt %s --device=gpu:0 --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(sinter-pad-products{report},canonicalize,cse))' | FileCheck %s --check-prefix=PAYS
// RUN: sinter-opt %s --device=cpu:0 --split-input-file --pass-pipeline='builtin.module(func.func(sinter-pad-products{always},canonicalize,cse))' | FileCheck %s --check-prefix=CPU

// Logits over 101 classes. The weights are padded once, the softmax and its gradient run on 104 classes: the
// lowest number in the padding for the maximum and the exponentials, zeros for the label's logit and in the
// gradient, which all readers share. Only the sums over the padded rows are cut off.
// CHECK-LABEL: func.func @head
// CHECK: %[[W:.*]] = sinter.pad %{{.*}} value 0.000000e+00 low [0, 0] high [3, 0] {{.*}} -> tensor<104x8xbf16>
// CHECK: %[[L:.*]] = sinter.matmul %{{.*}}, %[[W]] {{.*}}transpose_b} {{.*}} -> tensor<300x104xbf16>
// CHECK: %[[C:.*]] = sinter.cast %[[L]] {{.*}} -> tensor<300x104xf32>
// CHECK: %[[INSIDE:.*]] = sinter.compare lt
// CHECK: %[[X:.*]] = sinter.select %[[INSIDE]], %[[C]], %{{.*}} : tensor<300x104xi1>, tensor<300x104xf32>
// CHECK: sinter.max %[[X]] [1]
// CHECK: %[[E:.*]] = sinter.exp {{.*}} : tensor<300x104xf32>
// CHECK: sinter.sum %[[E]] [1]
// CHECK: %[[OWN:.*]] = sinter.select %[[INSIDE]], {{.*}} : tensor<300x104xi1>, tensor<300x104xf32>
// CHECK: sinter.sum %[[OWN]] [1] {{.*}} : tensor<300x104xf32> -> tensor<300xf32>
// CHECK: %[[G:.*]] = sinter.select %[[INSIDE]], {{.*}} : tensor<300x104xi1>, tensor<300x104xbf16>
// CHECK: sinter.matmul %[[G]], %[[W]] {{.*}} -> tensor<300x8xbf16>
// CHECK: sinter.matmul %[[G]], %{{.*}} {{.*}}transpose_a} {{.*}} -> tensor<104x8xbf16>
// CHECK: sinter.slice {{.*}} : tensor<104x8xf32> -> tensor<101x8xf32>
// CHECK: sinter.sum {{.*}} [0] {{.*}} : tensor<300x104xf32> -> tensor<104xf32>
// CHECK: sinter.slice {{.*}} : tensor<104xf32> -> tensor<101xf32>
// PAYS-LABEL: func.func @head
// PAYS-NOT: sinter.pad
// PAYS: return
// CPU-LABEL: func.func @head
// CPU-NOT: sinter.pad
// CPU: return
func.func @head(%x: tensor<300x8xbf16> {sinter.input = "x"}, %w: tensor<101x8xf32> {sinter.input = "w"}, %y: tensor<300xi32> {sinter.input = "y"})
    -> (tensor<300xf32> {sinter.output = "e"}, tensor<300x8xbf16> {sinter.output = "dx"}, tensor<101x8xf32> {sinter.output = "dw"}, tensor<101xf32> {sinter.output = "db"}) {
  %i = sinter.iota 1 : tensor<300x101xi32>
  %b = sinter.broadcast %y [0] : tensor<300xi32> -> tensor<300x101xi32>
  %mask = sinter.compare eq %i, %b : tensor<300x101xi32> -> tensor<300x101xi1>
  %wb = sinter.cast %w : tensor<101x8xf32> -> tensor<101x8xbf16>
  // expected-remark @below {{does not pad n from 101 to 104 of a product of}}
  %lb = sinter.matmul %x, %wb {transpose_b} : (tensor<300x8xbf16>, tensor<101x8xbf16>) -> tensor<300x101xbf16>
  %l = sinter.cast %lb : tensor<300x101xbf16> -> tensor<300x101xf32>
  %m = sinter.max %l [1] : tensor<300x101xf32> -> tensor<300xf32>
  %r = sinter.broadcast %m [0] : tensor<300xf32> -> tensor<300x101xf32>
  %d = sinter.sub %l, %r : tensor<300x101xf32>
  %p = sinter.exp %d : tensor<300x101xf32>
  %s = sinter.sum %p [1] : tensor<300x101xf32> -> tensor<300xf32>
  %zero = sinter.constant dense<0.0> : tensor<300x101xf32>
  %one = sinter.constant dense<1.0> : tensor<300x101xf32>
  %own = sinter.select %mask, %l, %zero : tensor<300x101xi1>, tensor<300x101xf32>
  %e0 = sinter.sum %own [1] : tensor<300x101xf32> -> tensor<300xf32>
  %sl = sinter.log %s : tensor<300xf32>
  %e = sinter.sub %sl, %e0 : tensor<300xf32>
  %sb = sinter.broadcast %s [0] : tensor<300xf32> -> tensor<300x101xf32>
  %pn = sinter.div %p, %sb : tensor<300x101xf32>
  %hot = sinter.select %mask, %one, %zero : tensor<300x101xi1>, tensor<300x101xf32>
  %g32 = sinter.sub %pn, %hot : tensor<300x101xf32>
  %g = sinter.cast %g32 : tensor<300x101xf32> -> tensor<300x101xbf16>
  // expected-remark @below {{does not pad k from 101 to 104 of a product of}}
  %dx = sinter.matmul %g, %wb : (tensor<300x101xbf16>, tensor<101x8xbf16>) -> tensor<300x8xbf16>
  // expected-remark @below {{does not pad m from 101 to 104 of a product of}}
  %dwb = sinter.matmul %g, %x {transpose_a} : (tensor<300x101xbf16>, tensor<300x8xbf16>) -> tensor<101x8xbf16>
  %dw = sinter.cast %dwb : tensor<101x8xbf16> -> tensor<101x8xf32>
  %gg = sinter.cast %g : tensor<300x101xbf16> -> tensor<300x101xf32>
  %db = sinter.sum %gg [0] : tensor<300x101xf32> -> tensor<101xf32>
  return %e, %dx, %dw, %db : tensor<300xf32>, tensor<300x8xbf16>, tensor<101x8xf32>, tensor<101xf32>
}

// -----

// The real thing: 50,257 words become 50,304, a multiple of 64 that adds less than 1 %.
// PAYS-LABEL: func.func @words
// PAYS: %[[W:.*]] = sinter.pad {{.*}} -> tensor<50304x768xbf16>
// PAYS: sinter.matmul %{{.*}}, %[[W]] {{.*}} -> tensor<8192x50304xbf16>
// PAYS: sinter.max {{.*}} : tensor<8192x50304xf32> -> tensor<8192xf32>
func.func @words(%x: tensor<8192x768xbf16> {sinter.input = "x"}, %w: tensor<50257x768xbf16> {sinter.input = "w"}) -> (tensor<8192xf32> {sinter.output = "m"}) {
  // expected-remark @below {{pads n from 50257 to 50304 of a product of}}
  %lb = sinter.matmul %x, %w {transpose_b} : (tensor<8192x768xbf16>, tensor<50257x768xbf16>) -> tensor<8192x50257xbf16>
  %l = sinter.cast %lb : tensor<8192x50257xbf16> -> tensor<8192x50257xf32>
  %m = sinter.max %l [1] : tensor<8192x50257xf32> -> tensor<8192xf32>
  return %m : tensor<8192xf32>
}

// -----

// Between two products the activation keeps zeros, so nothing is masked; a sigmoid does not.
// CHECK-LABEL: func.func @layers
// CHECK: %[[W:.*]] = sinter.pad {{.*}} -> tensor<16x24xf32>
// CHECK: %[[X:.*]] = sinter.pad {{.*}} -> tensor<40x16xf32>
// CHECK: %[[H:.*]] = sinter.matmul %[[X]], %[[W]] math tf32 {{.*}} -> tensor<40x24xf32>
// CHECK: %[[A:.*]] = sinter.gelu_tanh %[[H]] {{.*}}: tensor<40x24xf32>
// CHECK: sinter.matmul %[[A]], {{.*}} math tf32 {{.*}} -> tensor<40x8xf32>
// CHECK: %[[S:.*]] = sinter.sigmoid %[[H]] {{.*}}: tensor<40x24xf32>
// CHECK: %[[Z:.*]] = sinter.select {{.*}}, %[[S]], {{.*}} : tensor<40x24xi1>, tensor<40x24xf32>
// CHECK: sinter.matmul %[[Z]], {{.*}} math tf32 {{.*}} -> tensor<40x8xf32>
func.func @layers(%x: tensor<40x13xf32> {sinter.input = "x"}, %w: tensor<13x19xf32> {sinter.input = "w"}, %v: tensor<19x8xf32> {sinter.input = "v"})
    -> (tensor<40x8xf32> {sinter.output = "y"}, tensor<40x8xf32> {sinter.output = "z"}) {
  %h = sinter.matmul %x, %w math tf32 : (tensor<40x13xf32>, tensor<13x19xf32>) -> tensor<40x19xf32>
  %a = sinter.gelu_tanh %h : tensor<40x19xf32>
  %y = sinter.matmul %a, %v math tf32 : (tensor<40x19xf32>, tensor<19x8xf32>) -> tensor<40x8xf32>
  %s = sinter.sigmoid %h : tensor<40x19xf32>
  %z = sinter.matmul %s, %v math tf32 : (tensor<40x19xf32>, tensor<19x8xf32>) -> tensor<40x8xf32>
  return %y, %z : tensor<40x8xf32>, tensor<40x8xf32>
}

// -----

// Rows that are whole, and products in full precision, stay as they are: m is no row of an operand here.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: sinter.pad
// CHECK: return
func.func @stays(%x: tensor<41x12xf32> {sinter.input = "x"}, %w: tensor<12x20xf32> {sinter.input = "w"}, %a: tensor<7x5xf32> {sinter.input = "a"}, %b: tensor<5x9xf32> {sinter.input = "b"})
    -> (tensor<41x20xf32> {sinter.output = "y"}, tensor<7x9xf32> {sinter.output = "z"}) {
  %y = sinter.matmul %x, %w math tf32 : (tensor<41x12xf32>, tensor<12x20xf32>) -> tensor<41x20xf32>
  %z = sinter.matmul %a, %b : (tensor<7x5xf32>, tensor<5x9xf32>) -> tensor<7x9xf32>
  return %y, %z : tensor<41x20xf32>, tensor<7x9xf32>
}

// -----

// A row kernel that also stores what nothing pads stays on the narrow rows.
// CHECK-LABEL: func.func @leaves
// CHECK: %[[Y:.*]] = sinter.slice {{.*}} -> tensor<40x19xf32>
// CHECK: sinter.max %[[Y]] [1] {{.*}}: tensor<40x19xf32>
func.func @leaves(%x: tensor<40x8xf32> {sinter.input = "x"}, %w: tensor<8x19xf32> {sinter.input = "w"}) -> (tensor<40x19xf32> {sinter.output = "y"}) {
  %h = sinter.matmul %x, %w math tf32 : (tensor<40x8xf32>, tensor<8x19xf32>) -> tensor<40x19xf32>
  %m = sinter.max %h [1] : tensor<40x19xf32> -> tensor<40xf32>
  %b = sinter.broadcast %m [0] : tensor<40xf32> -> tensor<40x19xf32>
  %y = sinter.sub %h, %b : tensor<40x19xf32>
  return %y : tensor<40x19xf32>
}
