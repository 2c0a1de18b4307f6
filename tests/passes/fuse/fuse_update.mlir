// On a GPU a matmul that gives a large variable's gradient also updates the variable.
// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline="builtin.module(func.func(sinter-fuse-update))" | FileCheck %s
// RUN: sinter-opt %s --device=gpu:0 --pass-pipeline="builtin.module(func.func(sinter-fuse-update),sinter-propagate-placement,sinter-place-constants,func.func(sinter-fuse))" | FileCheck %s --check-prefix=FUSED

sinter.variable @v : tensor<1024x1024xf32> = constant(0.0, 0.0) seed 0
sinter.variable @w : tensor<1024x1024xf32> = constant(0.0, 0.0) seed 0
sinter.variable @small : tensor<1024x16xf32> = constant(0.0, 0.0) seed 0
sinter.variable @cpu : tensor<1024x1024xf32> = constant(0.0, 0.0) seed 0 {sinter.device = #sinter.device<cpu, 0>}

// CHECK-LABEL: func @constant_rate
// CHECK:         %[[RATE:.*]] = sinter.constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT:    %[[NEW:.*]] = sinter.matmul %arg1, %arg2 addend %arg0 scale %[[RATE]] math tf32 {sinter.device = #sinter.device<gpu, 0>, transpose_a}
// CHECK-NEXT:    return %[[NEW]]
// The rate is stored in the plan, not computed in every run.
// FUSED-LABEL: func @constant_rate
// FUSED-NEXT:    sinter.constant dense<-5.000000e-01>
// FUSED-NEXT:    sinter.matmul
// FUSED-NEXT:    return
func.func @constant_rate(%w: tensor<1024x1024xf32> {sinter.variable = @w}, %x: tensor<8x1024xf32>,
                         %g: tensor<8x1024xf32>)
    -> (tensor<1024x1024xf32> {sinter.variable = @w}) {
  %d = sinter.matmul %x, %g math tf32 {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %c = sinter.constant dense<5.000000e-01> : tensor<1024x1024xf32>
  %s = sinter.mul %d, %c : tensor<1024x1024xf32>
  %n = sinter.sub %w, %s : tensor<1024x1024xf32>
  return %n : tensor<1024x1024xf32>
}

// CHECK-LABEL: func @rate_in_memory
// CHECK:         %[[RATE:.*]] = sinter.neg %arg3 {sinter.device = #sinter.device<gpu, 0>} : tensor<f32>
// CHECK:         sinter.matmul %arg1, %arg2 addend %arg0 scale %[[RATE]]
// CHECK-NOT:     sinter.sub
func.func @rate_in_memory(%w: tensor<1024x1024xf32> {sinter.variable = @w}, %x: tensor<8x1024xf32>,
                          %g: tensor<8x1024xf32>, %rate: tensor<f32>)
    -> (tensor<1024x1024xf32> {sinter.variable = @w}) {
  %d = sinter.matmul %x, %g {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %c = sinter.broadcast %rate [] : tensor<f32> -> tensor<1024x1024xf32>
  %s = sinter.mul %c, %d : tensor<1024x1024xf32>
  %n = sinter.sub %w, %s : tensor<1024x1024xf32>
  return %n : tensor<1024x1024xf32>
}

// CHECK-LABEL: func @sum
// CHECK:         sinter.matmul %arg1, %arg2 addend %arg0 {
// CHECK-NOT:     sinter.add
func.func @sum(%w: tensor<1024x1024xf32> {sinter.variable = @w}, %x: tensor<8x1024xf32>,
               %g: tensor<8x1024xf32>)
    -> (tensor<1024x1024xf32> {sinter.variable = @w}) {
  %d = sinter.matmul %x, %g {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %n = sinter.add %d, %w : tensor<1024x1024xf32>
  return %n : tensor<1024x1024xf32>
}

// Something else reads the gradient too.
// CHECK-LABEL: func @gradient_wanted
// CHECK:         sinter.sub
func.func @gradient_wanted(%w: tensor<1024x1024xf32> {sinter.variable = @w}, %x: tensor<8x1024xf32>,
                           %g: tensor<8x1024xf32>)
    -> (tensor<1024x1024xf32> {sinter.variable = @w}, tensor<1024x1024xf32>) {
  %d = sinter.matmul %x, %g {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %n = sinter.sub %w, %d : tensor<1024x1024xf32>
  return %n, %d : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// Not fused: gradient minus variable; a rate for each element; a small variable; a CPU.
// CHECK-LABEL: func @others
// CHECK-COUNT-4: sinter.sub
func.func @others(%v: tensor<1024x1024xf32> {sinter.variable = @v}, %w: tensor<1024x1024xf32> {sinter.variable = @w},
                  %small: tensor<1024x16xf32> {sinter.variable = @small}, %cpu: tensor<1024x1024xf32> {sinter.variable = @cpu},
                  %x: tensor<8x1024xf32>, %g: tensor<8x1024xf32>, %h: tensor<8x16xf32>, %rates: tensor<1024x1024xf32>,
                  %xc: tensor<8x1024xf32> {sinter.device = #sinter.device<cpu, 0>})
    -> (tensor<1024x1024xf32> {sinter.variable = @v}, tensor<1024x1024xf32> {sinter.variable = @w},
        tensor<1024x16xf32> {sinter.variable = @small}, tensor<1024x1024xf32> {sinter.variable = @cpu}) {
  %a = sinter.matmul %x, %g {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %an = sinter.sub %a, %v : tensor<1024x1024xf32>
  %b = sinter.matmul %g, %x {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %bs = sinter.mul %b, %rates : tensor<1024x1024xf32>
  %bn = sinter.sub %w, %bs : tensor<1024x1024xf32>
  %c = sinter.matmul %x, %h {transpose_a} : (tensor<8x1024xf32>, tensor<8x16xf32>) -> tensor<1024x16xf32>
  %cn = sinter.sub %small, %c : tensor<1024x16xf32>
  %d = sinter.matmul %xc, %xc {transpose_a} : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  %dn = sinter.sub %cpu, %d : tensor<1024x1024xf32>
  return %an, %bn, %cn, %dn : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x16xf32>, tensor<1024x1024xf32>
}
