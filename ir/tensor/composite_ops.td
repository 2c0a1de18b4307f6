// Neural-network functions that are defined by simpler ops.
#ifndef SINTER_IR_COMPOSITE_OPS_TD
#define SINTER_IR_COMPOSITE_OPS_TD

include "sinter/ir/dialect/dialect.td"

def Sinter_LossReduction : I32EnumAttr<"LossReduction", "how the examples' losses become one number", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"sum", 1>, I32EnumAttrCase<"mean", 2>]> {
  let cppNamespace = "::sinter::ir";
}

class Sinter_CompositeOp<string mnemonic, string text, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<CompositeInterface>]> {
  let summary = text;
  let hasVerifier = 1;
}
class Sinter_DifferentiableCompositeOp<string mnemonic, string text>
    : Sinter_CompositeOp<mnemonic, text, [DeclareOpInterfaceMethods<DifferentiableInterface>]>;

def SoftmaxOp : Sinter_DifferentiableCompositeOp<"softmax", "exp(x) over its sum along `dim`, shifted by the maximum"> {
  let arguments = (ins Sinter_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($x) `->` type($result)";
}
def LogSoftmaxOp : Sinter_DifferentiableCompositeOp<"log_softmax", "x - logsumexp(x) along `dim`"> {
  let arguments = (ins Sinter_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($x) `->` type($result)";
}
def SoftmaxCrossEntropyOp : Sinter_DifferentiableCompositeOp<"softmax_cross_entropy",
    "-log_softmax(logits)[label] of logits [..., classes] and integer labels [...]. Examples with the label `ignore_label` "
    "have loss 0 and do not count in the mean; the mean of no examples is 0. The loss of any other label outside "
    "[0, classes) is NaN"> {
  let arguments = (ins Sinter_FloatTensor:$logits, Sinter_IndexTensor:$labels, Sinter_LossReduction:$reduction,
                   OptionalAttr<I64Attr>:$ignore_label);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$reduction $logits `,` $labels attr-dict `:` type($logits) `,` type($labels) `->` type($result)";
}
// Ba, Kiros, Hinton, "Layer Normalization" (arXiv 1607.06450).
def LayerNormOp : Sinter_DifferentiableCompositeOp<"layer_norm",
    "(x - mean) / sqrt(variance + epsilon) * scale + offset over the last dimension"> {
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$offset, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale `,` $offset attr-dict `:` functional-type(operands, results)";
}
// Zhang, Sennrich, "Root Mean Square Layer Normalization" (arXiv 1910.07467).
def RmsNormOp : Sinter_DifferentiableCompositeOp<"rms_norm",
    "x / sqrt(mean(x^2) + epsilon) * scale over the last dimension"> {
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale attr-dict `:` functional-type(operands, results)";
}
// Ioffe, Szegedy, "Batch Normalization" (arXiv 1502.03167). Channels are dimension `dim`.
def BatchNormTrainingOp : Sinter_DifferentiableCompositeOp<"batch_norm_training",
    "Normalises each channel by its own mean and biased variance over all other dimensions, times scale plus offset; "
    "also returns that mean and variance. With `groups`, dimension 0 is cut in this many equal parts, each normalised by its "
    "own statistics; the returned mean and variance are the averages over the parts"> {
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$offset, I64Attr:$dim,
                   F64Attr:$epsilon, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Sinter_FloatTensor:$result, Sinter_FloatTensor:$mean, Sinter_FloatTensor:$variance);
  let assemblyFormat = "$x `,` $scale `,` $offset `dim` $dim attr-dict `:` functional-type(operands, results)";
}
def BatchNormInferenceOp : Sinter_CompositeOp<"batch_norm_inference",
    "Normalises each channel by a given mean and variance, times scale plus offset"> {
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$offset,
                   Sinter_FloatTensor:$mean, Sinter_FloatTensor:$variance, I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale `,` $offset `,` $mean `,` $variance `dim` $dim attr-dict `:` functional-type(operands, results)";
}
def DropoutOp : Sinter_CompositeOp<"dropout",
    "x times a random mask: 0 with the given probability, else 1 / (1 - probability)"> {
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream,
                   F64Attr:$probability);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `,` $seed `,` $step `stream` $stream attr-dict `:` type($x) `,` type($seed) `,` type($step) `->` type($result)";
}
class Sinter_LossOp<string mnemonic, string text, dag extra = (ins)> : Sinter_CompositeOp<mnemonic, text> {
  let arguments = !con((ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$target, Sinter_LossReduction:$reduction), extra);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$reduction $x `,` $target attr-dict `:` functional-type(operands, results)";
}
def MseLossOp : Sinter_LossOp<"mse_loss", "(x - target)^2">;
def L1LossOp : Sinter_LossOp<"l1_loss", "|x - target|">;
def HuberLossOp : Sinter_LossOp<"huber_loss",
    "0.5 d^2 where |d| <= delta, else delta (|d| - delta / 2), with d = x - target", (ins F64Attr:$delta)>;
def BceWithLogitsLossOp : Sinter_LossOp<"bce_with_logits_loss",
    "Binary cross entropy of sigmoid(x) against target: softplus(x) - x * target">;

#endif  // SINTER_IR_COMPOSITE_OPS_TD
