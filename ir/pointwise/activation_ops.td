// Pointwise activation functions of neural networks.
#ifndef SINTER_IR_ACTIVATION_OPS_TD
#define SINTER_IR_ACTIVATION_OPS_TD

include "sinter/ir/dialect/dialect.td"

def SigmoidOp : Sinter_UnaryFloatOp<"sigmoid", "1 / (1 + exp(-x))", [{ s.sigmoid(x) }], [{ g * r * (1.0 - r) }]>;
def ReluOp : Sinter_UnaryNumberOp<"relu", "max(x, 0); the gradient at 0 is 0",
    [{ s.maximum(x, s.zero(x)) }], [{ b.select(b.gt(r, b.zeros(r)), g, b.zeros(g)) }]>;
def SiluOp : Sinter_UnaryFloatOp<"silu", "x * sigmoid(x)", [{ x * s.sigmoid(x) }],
    [{ g * b.sigmoid(x) * (1.0 + x * (1.0 - b.sigmoid(x))) }]>;
def SoftplusOp : Sinter_UnaryFloatOp<"softplus", "log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which never overflows",
    [{ s.maximum(x, s.zero(x)) + s.log1p(s.exp(-s.abs(x))) }], [{ g * b.sigmoid(x) }]>;
def LogSigmoidOp : Sinter_UnaryFloatOp<"log_sigmoid",
    "log(sigmoid(x)) as min(x, 0) - log1p(exp(-|x|)), which neither overflows nor rounds to 0 before exp(-x) does",
    [{ s.minimum(x, s.zero(x)) - s.log1p(s.exp(-s.abs(x))) }], [{ g * b.sigmoid(-x) }]>;
// Hendrycks and Gimpel, "Gaussian Error Linear Units" (arXiv 1606.08415): the exact form.
def GeluOp : Sinter_UnaryFloatOp<"gelu", "x/2 * (1 + erf(x / sqrt(2)))",
    [{ 0.5 * x * (1.0 + s.erf(x * 0.70710678118654752)) }],
    [{ g * (0.5 + b.erf(x * 0.70710678118654752) * 0.5 + x * b.exp(x * x * -0.5) * 0.3989422804014327) }]>;
// The same paper's tanh approximation.
def GeluTanhOp : Sinter_UnaryFloatOp<"gelu_tanh", "x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))",
    [{ 0.5 * x * (1.0 + s.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) }],
    [{ b.geluTanhGradient(g, x) }]>;

class Sinter_AlphaOp<string mnemonic, string text, code scalar, code gradient>
    : Sinter_PointwiseOp<mnemonic, text, scalar, gradient, [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_FloatTensor:$x, F64Attr:$alpha);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}
def LeakyReluOp : Sinter_AlphaOp<"leaky_relu", "x where x > 0, else alpha * x",
    [{ s.select(s.gt(x, s.zero(x)), x, s.constant(x, getAlpha().convertToDouble()) * x) }],
    [{ b.select(b.gt(x, b.zeros(x)), g, g * getAlpha().convertToDouble()) }]>;
def EluOp : Sinter_AlphaOp<"elu", "x where x > 0, else alpha * (exp(x) - 1)",
    [{ s.select(s.gt(x, s.zero(x)), x, s.constant(x, getAlpha().convertToDouble()) * s.expm1(x)) }],
    [{ b.select(b.gt(x, b.zeros(x)), g, g * (r + getAlpha().convertToDouble())) }]>;

#endif  // SINTER_IR_ACTIVATION_OPS_TD
