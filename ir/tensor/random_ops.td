// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). The value at a coordinate depends only on the seed, the step, the op's stream number and the
// row-major position. So it is the same however the tensor is split, fused or scheduled. The counter is
// (position low, position high, stream, step low), the key is (seed low, seed high XOR step high); each part
// is a 32-bit word.
//
// With `origin`, the result is a part of a tensor of the shape `whole`: its element at c is the whole's at
// origin + c, along each dimension.
#ifndef SINTER_IR_RANDOM_OPS_TD
#define SINTER_IR_RANDOM_OPS_TD

include "sinter/ir/dialect/dialect.td"

// `seed` and `step` are rank-0 i64 tensors; `stream` distinguishes the random ops of a program.
class Sinter_RandomOp<string mnemonic, string text, list<Trait> traits> : Sinter_Op<mnemonic, [Pure] # traits> {
  let summary = text;
  let hasVerifier = 1;
}
class Sinter_RandomTensorOp<string mnemonic, string text, dag parameters, string parameters_format>
    : Sinter_RandomOp<mnemonic, text, [DeclareOpInterfaceMethods<FusibleInterface>, DeclareOpInterfaceMethods<ShardableInterface>,
                                       DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let arguments = !con((ins Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream), parameters,
                       (ins Variadic<Sinter_Origin>:$origin, OptionalAttr<DenseI64ArrayAttr>:$whole));
  let assemblyFormat = "$seed `,` $step `stream` $stream " # parameters_format #
      " (`origin` `[` $origin^ `]` `of` $whole)? attr-dict `:` type($seed) `,` type($step) `->` type($result)";
}
def RandomUniformOp : Sinter_RandomTensorOp<"random_uniform", "Uniform in [low, high)",
    (ins F64Attr:$low, F64Attr:$high), "`low` $low `high` $high"> {
  let results = (outs Sinter_FloatTensor:$result);
}
def RandomNormalOp : Sinter_RandomTensorOp<"random_normal", "Normal with the given mean and standard deviation (Box-Muller)",
    (ins F64Attr:$mean, F64Attr:$stddev), "`mean` $mean `stddev` $stddev"> {
  let results = (outs Sinter_FloatTensor:$result);
}
def RandomBernoulliOp : Sinter_RandomTensorOp<"random_bernoulli", "True with the given probability",
    (ins F64Attr:$probability), "`probability` $probability"> {
  let results = (outs Sinter_BoolTensor:$result);
}
def RandomPermutationOp : Sinter_RandomOp<"random_permutation",
    "The numbers 0 to n-1 in random order: sorted by a random 32-bit key, ties by number",
    [LibraryInterface, DeclareOpInterfaceMethods<ShardableInterface>]> {
  let arguments = (ins Sinter_IndexTensor:$seed, Sinter_IndexTensor:$step, I64Attr:$stream);
  let results = (outs Sinter_IndexTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` $stream attr-dict `:` type($seed) `,` type($step) `->` type($result)";
}

#endif  // SINTER_IR_RANDOM_OPS_TD
