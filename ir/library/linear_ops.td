// Matmuls, convolutions and pooling: one library call each. The verifiers of matmuls are in matmul_ops.cc.
#ifndef SINTER_IR_LINEAR_OPS_TD
#define SINTER_IR_LINEAR_OPS_TD

include "sinter/ir/dialect/dialect.td"
include "sinter/ir/dialect/math_mode.td"

def Sinter_Activation : I32EnumAttr<"Activation", "what a library call applies to its result before storing it", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"relu", 1>, I32EnumAttrCase<"gelu", 2>, I32EnumAttrCase<"gelu_tanh", 3>,
    I32EnumAttrCase<"sigmoid", 4>, I32EnumAttrCase<"tanh", 5>, I32EnumAttrCase<"silu", 6>]> {
  let cppNamespace = "::sinter::ir";
}
// nchw16n, [N / 16, C, H, W, 16], keeps the same pixel of 16 images adjacent, so that vectors are full for
// any number of channels. f32 only; N must be a multiple of 16.
def Sinter_ImageLayout : I32EnumAttr<"ImageLayout", "the order of an image tensor's dimensions", [
    I32EnumAttrCase<"nchw", 0>, I32EnumAttrCase<"nhwc", 1>, I32EnumAttrCase<"nchw16n", 2>]> {
  let cppNamespace = "::sinter::ir";
}

// Operands are A [..., m, k] (or [..., k, m] when transpose_a) and B [..., k, n] (or [..., n, k] when
// transpose_b), with one element type and equal leading dimensions. The result is [..., m, n], of the same
// element type, or f32 for bf16 and f16, or i32 for i8. bf16 and f16 accumulate in f32; the epilogue is
// computed before the sums are rounded. Integers wrap. `addend` has the result's type, and the result may
// overwrite it. `scale` is an f32 number (f64 for f64) that is read when the matmul runs. Integers have
// neither. On a GPU cuBLASLt does all of it in one call.
def MatmulOp : Sinter_Op<"matmul", [Pure, AttrSizedOperandSegments, LibraryInterface, DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>,
                                    ContractionInterface, EpilogueInterface,
                                    DeclareOpInterfaceMethods<ShardableInterface>, DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "activation(scale A B + bias + addend): A [..., m, k] (or [..., k, m] when transpose_a), B [..., k, n] (or "
    "[..., n, k] when transpose_b), equal leading batch dimensions, bias [n]; bf16 and f16 accumulate in f32 and may return f32, "
    "and i8 may return i32";
  let hasVerifier = 1;
  let arguments = (ins Sinter_NumberTensor:$a, Sinter_NumberTensor:$b, Optional<Sinter_NumberTensor>:$bias,
                   Optional<Sinter_FloatTensor>:$addend, Optional<Sinter_FloatTensor>:$scale,
                   UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                   DefaultValuedAttr<Sinter_Activation, "::sinter::ir::Activation::none">:$activation,
                   DefaultValuedAttr<Sinter_MathMode, "::sinter::ir::MathMode::ieee">:$math);
  let results = (outs Sinter_NumberTensor:$result);
  // A matmul without addend and scale, as programs write it.
  let extraClassDeclaration = [{
    // Along the rows of the result.
    int64_t getBiasDim() { return getType().getRank() - 1; }
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$bias,
                                 "bool":$transpose_a, "bool":$transpose_b, "::sinter::ir::Activation":$activation,
                                 "::sinter::ir::MathMode":$math), [{
    build($_builder, $_state, result, a, b, bias, ::mlir::Value(), ::mlir::Value(), transpose_a, transpose_b, activation, math);
  }]>];
  let assemblyFormat = "$a `,` $b (`bias` $bias^)? (`addend` $addend^)? (`scale` $scale^)? (`activation` $activation^)? "
                       "(`math` $math^)? attr-dict `:` functional-type(operands, $result)";
}

// A matmul followed by an activation's gradient, which a GPU's library computes in one call. The pass
// fuse-epilogue creates it there; one written by hand is decomposed first. `preactivation` is the
// activation's input and has the result's type.
def MatmulGradOp : Sinter_Op<"matmul_grad", [Pure, DeclareOpInterfaceMethods<CompositeInterface>, LibraryInterface,
                                            ContractionInterface, DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = "(A B) activation'(preactivation); operands like matmul's";
  let hasVerifier = 1;
  let arguments = (ins Sinter_FloatTensor:$a, Sinter_FloatTensor:$b, Sinter_FloatTensor:$preactivation,
                   UnitAttr:$transpose_a, UnitAttr:$transpose_b, Sinter_Activation:$activation,
                   DefaultValuedAttr<Sinter_MathMode, "::sinter::ir::MathMode::ieee">:$math);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$a `,` $b `preactivation` $preactivation `activation` $activation (`math` $math^)? attr-dict `:` "
                       "functional-type(operands, $result)";
}

// A matmul with a matrix of few bits, which is stored as rows of k: each group of k / g elements of a row has
// a scale. i8 holds a number each. ui8 holds two numbers of four bits, from -8 to 7 and stored with 8 added:
// byte j of a block of 16 bytes has number j of the block's 32 in its low bits, and number j + 16 in its high
// bits. Sums are in f32. For few rows of x a kernel reads the matrix as it is; sinter-decompose makes a
// matmul of others.
def QuantizedMatmulOp : Sinter_Op<"quantized_matmul", [Pure, AllElementTypesMatch<["x", "result"]>, LibraryInterface,
                                                      DeclareOpInterfaceMethods<CompositeInterface>,
                                                      DeclareOpInterfaceMethods<ShardableInterface>,
                                                      DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "Y = X W^T, X [m, k], for W [n, k] of 8 bits (i8), or of 4 bits in pairs (ui8 [n, k / 2]), times the scale of each "
    "group of k / g elements of a row, scales [n, g]; sums in f32";
  let hasVerifier = 1;
  let arguments = (ins Sinter_TensorOf<[F32, BF16, F16], "f32 bf16 f16">:$x, Sinter_TensorOf<[I<8>, UI8], "i8 ui8">:$weights,
                   Sinter_TensorOf<[F32, BF16, F16], "f32 bf16 f16">:$scales);
  let results = (outs Sinter_TensorOf<[F32, BF16, F16], "f32 bf16 f16">:$result);
  let assemblyFormat = "$x `,` $weights `scale` $scales attr-dict `:` functional-type(operands, $result)";
}

def Sinter_Float8Tensor : Sinter_TensorOf<[F8E4M3FN, F8E5M2], "f8E4M3FN f8E5M2">;

// A matmul of floats of 8 bits, whose rows both run along k. Each operand has a scale: one number, or one for
// each of its rows. Sums are in f32, and products with `fast` in the tensor cores' own, of fewer bits.
// cuBLASLt computes it; sinter-decompose makes a matmul of bf16, which holds both types, of others.
def ScaledMatmulOp : Sinter_Op<"scaled_matmul", [Pure, LibraryInterface, DeclareOpInterfaceMethods<CompositeInterface>,
                                                DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = "Y[i, j] = scale_a[i] scale_b[j] sum over l of A[i, l] B[j, l] for A [m, k] and B [n, k] of f8E4M3FN or f8E5M2; "
    "both scales are single f32 numbers, or [m] and [n]; sums in f32";
  let hasVerifier = 1;
  let arguments = (ins Sinter_Float8Tensor:$a, Sinter_Float8Tensor:$b, Sinter_TensorOf<[F32], "f32">:$scale_a,
                   Sinter_TensorOf<[F32], "f32">:$scale_b, UnitAttr:$fast);
  let results = (outs Sinter_TensorOf<[F32, BF16], "f32 bf16">:$result);
  let assemblyFormat = "$a `,` $b `scales` $scale_a `,` $scale_b attr-dict `:` functional-type(operands, $result)";
}

def Sinter_Float8Recipe : I32EnumAttr<"Float8Recipe", "how a product's operands become floats of 8 bits", [
    I32EnumAttrCase<"tensorwise", 0>, I32EnumAttrCase<"rowwise", 1>,
    I32EnumAttrCase<"rowwise_with_bf16_weight_gradient", 2>]> {
  let cppNamespace = "::sinter::ir";
}

// The product of a linear layer, x W, in floats of 8 bits; sinter-float8-products makes it of matmuls. An
// operand is multiplied by a scale that brings its largest magnitude to the type's largest number, and cast.
// tensorwise: a scale for the operand; gradients are of f8E5M2, other operands of f8E4M3FN. rowwise: a scale
// for each row or column along k, rounded down to a power of two; f8E4M3FN.
// rowwise_with_bf16_weight_gradient: as rowwise, but one scale for the weights in x's gradient, and the
// weights' gradient is a matmul of the operands as they are. `gradient` is the number of the operand that is
// a gradient, or -1.
def Float8MatmulOp : Sinter_Op<"float8_matmul", [Pure, AllElementTypesMatch<["a", "b", "result"]>,
                                                DeclareOpInterfaceMethods<CompositeInterface>,
                                                DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "A B, of operands like matmul's with rank 2, both scaled and rounded to 8 bits by a recipe";
  let hasVerifier = 1;
  let arguments = (ins Sinter_TensorOf<[F32, BF16], "f32 bf16">:$a, Sinter_TensorOf<[F32, BF16], "f32 bf16">:$b,
                   Sinter_Float8Recipe:$recipe, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                   DefaultValuedAttr<I64Attr, "-1">:$gradient);
  let results = (outs Sinter_TensorOf<[F32, BF16], "f32 bf16">:$result);
  let assemblyFormat = "$a `,` $b `recipe` $recipe attr-dict `:` functional-type(operands, $result)";
}

// Base of convolution and its two gradients. Images are [N, C, H, W], or in the order of `layout`; weights
// are always [C_out, C_in / groups, kh, kw]; padding is [top, bottom, left, right].
class Sinter_ConvOp<string mnemonic, string text, dag operands>
    : Sinter_Op<mnemonic, [Pure, LibraryInterface, ImageOpInterface, ContractionInterface, EpilogueInterface,
                           DeclareOpInterfaceMethods<ShardableInterface>, DeclareOpInterfaceMethods<LocalFormInterface>,
                           DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = text;
  let arguments = !con(operands, (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilations, I64Attr:$groups,
      DefaultValuedAttr<Sinter_ImageLayout, "::sinter::ir::ImageLayout::nchw">:$layout,
      DefaultValuedAttr<Sinter_Activation, "::sinter::ir::Activation::none">:$activation,
      DefaultValuedAttr<Sinter_MathMode, "::sinter::ir::MathMode::ieee">:$math));
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  code conv_declarations = [{
    // Along the channels of the result.
    int64_t getBiasDim() { return ChannelDim(getLayout()); }
  }];
  let extraClassDeclaration = conv_declarations;
}
def Conv2dOp : Sinter_ConvOp<"conv2d", "activation(cross-correlation of images with weights + bias [C_out])",
    (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$weights, Optional<Sinter_FloatTensor>:$bias)> {
  let assemblyFormat = "$x `,` $weights (`bias` $bias^)? (`activation` $activation^)? (`layout` $layout^)? (`math` $math^)? "
                       "attr-dict `:` functional-type(operands, $result)";
}
def Conv2dInputGradOp : Sinter_ConvOp<"conv2d_input_grad",
    "Gradient of conv2d with respect to its images: `g` is the result's gradient",
    (ins Sinter_FloatTensor:$g, Sinter_FloatTensor:$weights)> {
  let assemblyFormat = "$g `,` $weights (`layout` $layout^)? (`math` $math^)? attr-dict `:` functional-type(operands, $result)";
}
def Conv2dWeightGradOp : Sinter_ConvOp<"conv2d_weight_grad",
    "Gradient of conv2d with respect to its weights: `g` is the result's gradient",
    (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$g)> {
  let assemblyFormat = "$x `,` $g (`layout` $layout^)? (`math` $math^)? attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = conv_declarations # [{
    // The gradient has the weights' shape.
    ::mlir::Value getWeights() { return getResult(); }
  }];
}

class Sinter_PoolOp<string mnemonic, string text, dag operands, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, LibraryInterface, ImageOpInterface, DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = text;
  let arguments = !con(operands, (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
      DefaultValuedAttr<Sinter_ImageLayout, "::sinter::ir::ImageLayout::nchw">:$layout));
  let hasVerifier = 1;
}
def MaxPool2dOp : Sinter_PoolOp<"max_pool2d",
    "Largest element of each window, and its row-major position within the window (the first on a tie); windows that "
    "do not fit are dropped, padding never wins", (ins Sinter_FloatTensor:$x),
    [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let results = (outs Sinter_FloatTensor:$result, Sinter_TensorOf<[UI8], "ui8">:$position);
  let assemblyFormat = "$x (`layout` $layout^)? attr-dict `:` type($x) `->` type($result) `,` type($position)";
}
def MaxPool2dGradOp : Sinter_PoolOp<"max_pool2d_grad", "Sends each gradient to the position that won",
    (ins Sinter_FloatTensor:$g, Sinter_TensorOf<[UI8], "ui8">:$position)> {
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$g `,` $position (`layout` $layout^)? attr-dict `:` type($g) `,` type($position) `->` type($result)";
}
def AvgPool2dOp : Sinter_PoolOp<"avg_pool2d",
    "Mean of each window, padding counted as zeros; windows that do not fit are dropped", (ins Sinter_FloatTensor:$x),
    [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x (`layout` $layout^)? attr-dict `:` type($x) `->` type($result)";
}
def AvgPool2dGradOp : Sinter_PoolOp<"avg_pool2d_grad", "Spreads each gradient evenly over its window",
    (ins Sinter_FloatTensor:$g), [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$g (`layout` $layout^)? attr-dict `:` type($g) `->` type($result)";
}

#endif  // SINTER_IR_LINEAR_OPS_TD
