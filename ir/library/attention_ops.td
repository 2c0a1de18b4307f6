// Attention. On a GPU a library computes it whole; elsewhere it becomes matmuls and a softmax
// (passes/rewrite/decompose.cc).
#ifndef SINTER_IR_ATTENTION_OPS_TD
#define SINTER_IR_ATTENTION_OPS_TD

include "sinter/ir/dialect/dialect.td"
include "sinter/ir/dialect/math_mode.td"

// `inputs` are q [B, T, H, D] and k and v [B, S, HK, D]. HK divides H: each group of H / HK heads of q shares
// one head of k and v. Alternatively `inputs` is one tensor [B, T, 3, H, D] with q, k and v, as one
// projection computes it.
// Queries are the last positions: query t stands at S - T + t. Causal: it sees keys up to its position. A
// window above 0: it sees keys at a distance below the window. Both need T <= S. `bias` [1 or B, 1 or H, 1 or
// T, S], in f32 or the type of q, is added to the scaled scores: minus infinity hides a key.
// A query that sees no key gets zeros.
// `stats` is [B, H, T], in f64 for f64 and in f32 for all other types: the logarithm of each row's sum of
// exponentials, minus infinity for a query that sees no key. From it the gradient recomputes the
// probabilities.
class Sinter_AttentionOp<string mnemonic, string text, dag operands, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<CompositeInterface>,
                                    LibraryInterface, ContractionInterface,
                                    DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = text;
  let arguments = !con((ins Variadic<Sinter_FloatTensor>:$inputs, Optional<Sinter_FloatTensor>:$bias), operands,
      (ins F64Attr:$scale, UnitAttr:$causal, DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<Sinter_MathMode, "::sinter::ir::MathMode::ieee">:$math));
  let hasVerifier = 1;
}

def AttentionOp : Sinter_AttentionOp<"attention",
    "softmax(scale Q K^T + bias) V of each example and head, and the logarithm of each row's sum of exponentials",
    (ins), [DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let results = (outs Sinter_FloatTensor:$result, Optional<Sinter_FloatTensor>:$stats);
  let assemblyFormat = "$inputs (`bias` $bias^)? (`causal` $causal^)? (`window` $window^)? (`math` $math^)? attr-dict "
                       "`:` functional-type(operands, results)";
}
def AttentionGradOp : Sinter_AttentionOp<"attention_grad",
    "Gradients of attention with respect to its inputs; `o` and `stats` are attention's results, `g` is the gradient of `o`",
    (ins Sinter_FloatTensor:$o, Sinter_FloatTensor:$stats, Sinter_FloatTensor:$g)> {
  let results = (outs Variadic<Sinter_FloatTensor>:$gradients);
  let assemblyFormat = "$inputs (`bias` $bias^)? `result` $o `stats` $stats `gradient` $g (`causal` $causal^)? "
                       "(`window` $window^)? (`math` $math^)? attr-dict `:` functional-type(operands, results)";
}

#endif  // SINTER_IR_ATTENTION_OPS_TD
