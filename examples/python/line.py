"""Learns the line y = 2 x + 1 from four points: compiles a program, trains it and predicts, all from Python."""
import array

import sinter

# One function that takes a step of gradient descent, and one that predicts; both have the variables w and b.
PROGRAM = """
module @line {
  sinter.variable @w : tensor<1x1xf32> = constant(0.0, 0.0) seed 0 trainable
  sinter.variable @b : tensor<1xf32> = constant(0.0, 0.0) seed 0 trainable
  func.func @train(%x: tensor<4x1xf32> {sinter.input = "x"}, %y: tensor<4x1xf32> {sinter.input = "y"},
                   %rate: tensor<f32> {sinter.input = "rate"}, %w: tensor<1x1xf32> {sinter.variable = @w},
                   %b: tensor<1xf32> {sinter.variable = @b})
      -> (tensor<f32> {sinter.output = "loss"}, tensor<1x1xf32> {sinter.variable = @w},
          tensor<1xf32> {sinter.variable = @b}) {
    %0 = sinter.matmul %x, %w : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
    %1 = sinter.broadcast %b [1] : tensor<1xf32> -> tensor<4x1xf32>
    %2 = sinter.add %0, %1 : tensor<4x1xf32>
    %3 = sinter.sub %2, %y : tensor<4x1xf32>
    %4 = sinter.mul %3, %3 : tensor<4x1xf32>
    %loss = sinter.sum %4 [0, 1] : tensor<4x1xf32> -> tensor<f32>
    %g:2 = sinter.gradients %loss wrt %w, %b : (tensor<f32>, tensor<1x1xf32>, tensor<1xf32>)
        -> (tensor<1x1xf32>, tensor<1xf32>)
    %5 = sinter.broadcast %rate [] : tensor<f32> -> tensor<1x1xf32>
    %6 = sinter.mul %g#0, %5 : tensor<1x1xf32>
    %new_w = sinter.sub %w, %6 : tensor<1x1xf32>
    %7 = sinter.broadcast %rate [] : tensor<f32> -> tensor<1xf32>
    %8 = sinter.mul %g#1, %7 : tensor<1xf32>
    %new_b = sinter.sub %b, %8 : tensor<1xf32>
    return %loss, %new_w, %new_b : tensor<f32>, tensor<1x1xf32>, tensor<1xf32>
  }
  func.func @predict(%x: tensor<1x1xf32> {sinter.input = "x"}, %w: tensor<1x1xf32> {sinter.variable = @w},
                     %b: tensor<1xf32> {sinter.variable = @b}) -> (tensor<1x1xf32> {sinter.output = "y"}) {
    %0 = sinter.matmul %x, %w : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    %1 = sinter.broadcast %b [1] : tensor<1xf32> -> tensor<1x1xf32>
    %2 = sinter.add %0, %1 : tensor<1x1xf32>
    return %2 : tensor<1x1xf32>
  }
}
"""


def rows(*values):
    """Returns an array f32[n, 1]. NumPy's and PyTorch's arrays do as well."""
    return memoryview(array.array("f", values)).cast("B").cast("f", (len(values), 1))


plan = sinter.compile(PROGRAM, name="line.mlir")
plan.save("line.plan")  # Another program needs only this file: sinter.load("line.plan").
session = plan.session(threads=1)
train = session.bind("train")
train.set(x=rows(0, 1, 2, 3), y=rows(1, 3, 5, 7), rate=0.01)  # Inputs stay set.
for step in range(201):
    results = train.run()
    if step % 100 == 0:
        print(f"step {step}: loss {results['loss'].item():.4f}")
print(f"2 * 10 + 1 = {session.run('predict', x=rows(10))['y'].item():.2f}")
print("w =", session.variables["w"].tolist(), "b =", session.variables["b"].tolist())
