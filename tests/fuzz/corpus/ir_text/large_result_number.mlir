sinter.variable @w : tensor<4x4xf32> = normal(0.0, 1.0) seed 7 trainable
sinter.variable @count : tensor<i64> = constant(0.0, 0.0) seed 0
func.func @fusions(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<bf16>, tensor<f32>, tensor<4xf32>) {
  %r:2 = sinter.fusion(%x, %y : tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) attributes {kind = "loop"} {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = sinter.add %a, %b : tensor<4xf32>
    %s = sinter.sum %c [0] : tensor<4xf32> -> tensor<f32>
    sinter.yield %c, %s : tensor<4xf32>, tensor<f32>
  }
  %n = sinter.fusion() -> (tensor<4xf32>) {
    %i = sinter.iota 0 : tensor<4xf32>
    sinter.yield %i : tensor<4xf32>
  }
  return %r#0, %r#1, %n : tensor<4xf32>, tensor<f32>, tensor<4xf32>
}
func.func @gradients(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = sinter.stop_gradient %y : tensor<4xf32>
  %p = sinter.mul %x, %s : tensor<4xf32>
  %loss = sinter.sum %p [0] : tensor<4xf32> -> tensor<f32>
  %g:2 = sinter.gradients %loss wrt %x, %y : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %g#0, %g#2147483648 : tensor<4xf32>, tensor<4xf32>
}
