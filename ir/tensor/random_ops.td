// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). The value at a coordinate depends only on the seed, the step, the op's stream number and the
// row-major position. So it is the same however the tensor is split, fused or scheduled. The counter is
// (position low, position high, stream, step low), the key is (seed low, seed high XOR step high); each part
// is a 32-bit word.
#ifndef SINTER_IR_RANDOM_OPS_TD
#define SINTER_IR_RANDOM_OPS_TD

include "sinter/ir/dialect/dialect.td"

// `seed` and `step` are rank-0 i64 tensors; `stream` distinguishes the random ops of a program.
class Sinter_RandomOp<string mnemonic, string text, list<Trait> traits> : Sinter_Op<mnemonic, [Pure] # traits> {
  let summary = text;
  let hasVerifier = 1;
}
def RandomUniformOp : Sinter_RandomOp<"random_uniform", "Uniform in [low, high)",
    [DeclareOpInterfaceMethods<FusibleInterface>]> {
  let arguments = (ins Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream, F64Attr:$low, F64Attr:$high);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` $stream `low` $low `high` $high attr-dict `:` type($seed) `,` type($step) `->` type($result)";
}
def RandomNormalOp : Sinter_RandomOp<"random_normal", "Normal with the given mean and standard deviation (Box-Muller)",
    [DeclareOpInterfaceMethods<FusibleInterface>]> {
  let arguments = (ins Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream, F64Attr:$mean, F64Attr:$stddev);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` $stream `mean` $mean `stddev` $stddev attr-dict `:` type($seed) `,` type($step) `->` type($result)";
}
def RandomBernoulliOp : Sinter_RandomOp<"random_bernoulli", "True with the given probability",
    [DeclareOpInterfaceMethods<FusibleInterface>]> {
  let arguments = (ins Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream, F64Attr:$probability);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` $stream `probability` $probability attr-dict `:` type($seed) `,` type($step) `->` type($result)";
}
def RandomPermutationOp : Sinter_RandomOp<"random_permutation",
    "The numbers 0 to n-1 in random order: sorted by a random 32-bit key, ties by number",
    [LibraryInterface]> {
  let arguments = (ins Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream);
  let results = (outs Sinter_IndexTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` $stream attr-dict `:` type($seed) `,` type($step) `->` type($result)";
}

#endif  // SINTER_IR_RANDOM_OPS_TD
