// The program of the golden plan recurrent.plan: a recurrent cell over four positions. A training step, whose gradient
// runs back over them, and a prediction that stacks its states. It documents the plan; never compile the plan again
// from it.
module @recurrent {
  sinter.variable @w : tensor<3x3xf32> = uniform(-0.5, 0.5) seed 1 trainable
  func.func @train(%x: tensor<4x2x3xf32> {sinter.input = "x"}, %w: tensor<3x3xf32> {sinter.variable = @w})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<3x3xf32> {sinter.variable = @w}) {
    %zero = sinter.constant dense<0.0> : tensor<2x3xf32>
    %last = sinter.scan 4 carry(%zero : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>) {
    ^bb0(%i: tensor<i64>, %h: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xf32>):
      %p = sinter.matmul %h, %wi : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %s = sinter.add %p, %xi : tensor<2x3xf32>
      %n = sinter.tanh %s : tensor<2x3xf32>
      sinter.yield %n : tensor<2x3xf32>
    }
    %square = sinter.square %last : tensor<2x3xf32>
    %loss = sinter.sum %square [0, 1] : tensor<2x3xf32> -> tensor<f32>
    %g = sinter.gradients %loss wrt %w : (tensor<f32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %rate = sinter.constant dense<0.1> : tensor<3x3xf32>
    %step = sinter.mul %g, %rate : tensor<3x3xf32>
    %new = sinter.sub %w, %step : tensor<3x3xf32>
    return %loss, %new : tensor<f32>, tensor<3x3xf32>
  }
  func.func @predict(%x: tensor<4x2x3xf32> {sinter.input = "x"}, %w: tensor<3x3xf32> {sinter.variable = @w})
      -> (tensor<4x2x3xf32> {sinter.output = "h"}) {
    %zero = sinter.constant dense<0.0> : tensor<2x3xf32>
    %s:2 = sinter.scan 4 reverse carry(%zero : tensor<2x3xf32>) over(%x : tensor<4x2x3xf32>) with(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>) {
    ^bb0(%i: tensor<i64>, %h: tensor<2x3xf32>, %xi: tensor<2x3xf32>, %wi: tensor<3x3xf32>):
      %p = sinter.matmul %h, %wi : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %t = sinter.add %p, %xi : tensor<2x3xf32>
      %n = sinter.tanh %t : tensor<2x3xf32>
      sinter.yield %n, %n : tensor<2x3xf32>, tensor<2x3xf32>
    }
    return %s#1 : tensor<4x2x3xf32>
  }
}
