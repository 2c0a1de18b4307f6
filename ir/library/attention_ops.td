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

// An attention of few queries without stats, for a kernel of a GPU that reads each key and value once and
// skips those that the bias hides from all queries. sinter-decompose makes it there; one written by hand for
// another device becomes an attention first. `inputs` are q [B, T, HT, D], of which `heads` heads from
// `first_head` on are the queries, and k and v, with `by_head` [B, HK, S, D], as caches keep them, else
// [B, S, HK, D]. The other operands are those of an attention.
// With `rows`, k and v are caches that first take a new position, i32[1] or i64[1]: the HK heads of each of
// the two rows [B, 1, HN, D] from `first_key` and `first_value` on. A position out of range changes nothing.
// The other results are the caches, and may overwrite k and v.
def FewQueriesAttentionOp : Sinter_Op<"few_queries_attention", [Pure, AttrSizedOperandSegments,
                                                               DeclareOpInterfaceMethods<CompositeInterface>, LibraryInterface,
                                                               DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>,
                                                               DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = "softmax(scale Q K^T + bias) V of few queries of each example and head, in one reading of K and V, which may "
    "take a new position first";
  let arguments = (ins Variadic<Sinter_FloatTensor>:$inputs, Optional<Sinter_FloatTensor>:$bias,
                   Variadic<Sinter_FloatTensor>:$rows, Optional<Sinter_IndexTensor>:$position, F64Attr:$scale,
                   I64Attr:$heads, DefaultValuedAttr<I64Attr, "0">:$first_head, DefaultValuedAttr<I64Attr, "0">:$first_key,
                   DefaultValuedAttr<I64Attr, "0">:$first_value, UnitAttr:$by_head, UnitAttr:$causal,
                   DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Sinter_FloatTensor:$result, Variadic<Sinter_FloatTensor>:$caches);
  let hasVerifier = 1;
  let assemblyFormat = "$inputs (`bias` $bias^)? (`rows` $rows^ `at` $position)? `heads` $heads (`by_head` $by_head^)? "
                       "(`causal` $causal^)? (`window` $window^)? attr-dict `:` functional-type(operands, results)";
}

#endif  // SINTER_IR_ATTENTION_OPS_TD
