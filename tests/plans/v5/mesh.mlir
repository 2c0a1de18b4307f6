// The program of the golden plan mesh.plan, compiled for level x86-64-v3 and for three CPUs that share the batch, which
// they do not divide (DataParallel::even = false). It documents the plan; never compile the plan again from it. Version 5
// brought the mesh: parts of inputs, numbers of ranks (here for dropout), exchanges over axes, and functions for some of
// the ranks.
module @mesh attributes {sinter.next_stream = 1 : i64} {
  sinter.variable @weight : tensor<8x8xf32> = uniform(-5.000000e-01, 5.000000e-01) seed -5496759951907304666 trainable
  sinter.variable @bias : tensor<8xf32> = constant(5.000000e-01, 0.000000e+00) seed 293950824528690587 trainable
  sinter.variable @"random/seed" : tensor<i64> = constant(3.000000e+00, 0.000000e+00) seed 8778601835398312149
  sinter.variable @"random/step" : tensor<i64> = constant(0.000000e+00, 0.000000e+00) seed -14550024500899846
  sinter.variable @"momentum/v/weight" : tensor<8x8xf32> = constant(0.000000e+00, 0.000000e+00) seed -2068986813802482900
  sinter.variable @"momentum/v/bias" : tensor<8xf32> = constant(0.000000e+00, 0.000000e+00) seed -2391569247457684335
  func.func @train(%arg0: tensor<4x8xf32> {sinter.input = "x"}, %arg1: tensor<4xi32> {sinter.input = "y"}, %arg2: tensor<8x8xf32> {sinter.variable = @weight}, %arg3: tensor<8xf32> {sinter.variable = @bias}, %arg4: tensor<i64> {sinter.variable = @"random/seed"}, %arg5: tensor<i64> {sinter.variable = @"random/step"}, %arg6: tensor<f32> {sinter.input = "lr"}, %arg7: tensor<8x8xf32> {sinter.variable = @"momentum/v/weight"}, %arg8: tensor<8xf32> {sinter.variable = @"momentum/v/bias"}) -> (tensor<f32> {sinter.output = "loss"}, tensor<8x8xf32> {sinter.output = "new_w"}, tensor<8x8xf32> {sinter.variable = @"momentum/v/weight"}, tensor<8x8xf32> {sinter.variable = @weight}, tensor<8xf32> {sinter.variable = @"momentum/v/bias"}, tensor<8xf32> {sinter.variable = @bias}, tensor<i64> {sinter.variable = @"random/step"}) {
    %0 = sinter.matmul %arg0, %arg2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = sinter.broadcast %arg3 [1] : tensor<8xf32> -> tensor<4x8xf32>
    %2 = sinter.add %0, %1 : tensor<4x8xf32>
    %3 = sinter.gelu_tanh %2 : tensor<4x8xf32>
    %4 = sinter.dropout %3, %arg4, %arg5 stream 0 {probability = 2.500000e-01 : f64} : tensor<4x8xf32>, tensor<i64>, tensor<i64> -> tensor<4x8xf32>
    %5 = sinter.softmax_cross_entropy mean %4, %arg1 : tensor<4x8xf32>, tensor<4xi32> -> tensor<f32>
    %6:2 = sinter.gradients %5 wrt %arg2, %arg3 : (tensor<f32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
    %7 = sinter.square %6#0 : tensor<8x8xf32>
    %8 = sinter.sum %7 [0, 1] : tensor<8x8xf32> -> tensor<f32>
    %9 = sinter.square %6#1 : tensor<8xf32>
    %10 = sinter.sum %9 [0] : tensor<8xf32> -> tensor<f32>
    %11 = sinter.add %8, %10 : tensor<f32>
    %12 = sinter.sqrt %11 : tensor<f32>
    %13 = sinter.constant dense<5.000000e-01> : tensor<f32>
    %14 = sinter.div %13, %12 : tensor<f32>
    %15 = sinter.constant dense<1.000000e+00> : tensor<f32>
    %16 = sinter.minimum %14, %15 : tensor<f32>
    %17 = sinter.broadcast %16 [] : tensor<f32> -> tensor<8x8xf32>
    %18 = sinter.mul %6#0, %17 : tensor<8x8xf32>
    %19 = sinter.broadcast %16 [] : tensor<f32> -> tensor<8xf32>
    %20 = sinter.mul %6#1, %19 : tensor<8xf32>
    %21 = sinter.constant dense<0.899999976> : tensor<8x8xf32>
    %22 = sinter.mul %arg7, %21 : tensor<8x8xf32>
    %23 = sinter.add %22, %18 : tensor<8x8xf32>
    %24 = sinter.broadcast %arg6 [] : tensor<f32> -> tensor<8x8xf32>
    %25 = sinter.mul %23, %24 : tensor<8x8xf32>
    %26 = sinter.sub %arg2, %25 : tensor<8x8xf32>
    %27 = sinter.constant dense<0.899999976> : tensor<8xf32>
    %28 = sinter.mul %arg8, %27 : tensor<8xf32>
    %29 = sinter.add %28, %20 : tensor<8xf32>
    %30 = sinter.broadcast %arg6 [] : tensor<f32> -> tensor<8xf32>
    %31 = sinter.mul %29, %30 : tensor<8xf32>
    %32 = sinter.sub %arg3, %31 : tensor<8xf32>
    %33 = sinter.constant dense<1> : tensor<i64>
    %34 = sinter.add %arg5, %33 : tensor<i64>
    return %5, %26, %23, %26, %29, %32, %34 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<i64>
  }
  func.func @predict(%arg0: tensor<8x8xf32> {sinter.variable = @weight}, %arg1: tensor<4x8xf32> {sinter.input = "x"}) -> (tensor<4x8xf32> {sinter.output = "p"}, tensor<8xf32> {sinter.output = "sums"}, tensor<f32> {sinter.output = "best"}) {
    %0 = sinter.cast %arg0 : tensor<8x8xf32> -> tensor<8x8xbf16>
    %1 = sinter.cast %arg1 : tensor<4x8xf32> -> tensor<4x8xbf16>
    %2 = sinter.matmul %1, %0 : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    %3 = sinter.cast %2 : tensor<4x8xbf16> -> tensor<4x8xf32>
    %4 = sinter.softmax %3 dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
    %5 = sinter.sum %4 [0] : tensor<4x8xf32> -> tensor<8xf32>
    %6 = sinter.max %4 [0, 1] : tensor<4x8xf32> -> tensor<f32>
    return %4, %5, %6 : tensor<4x8xf32>, tensor<8xf32>, tensor<f32>
  }
}
