// Reductions and scans along dimensions. Reduced dimensions are dropped.
#ifndef SINTER_IR_REDUCE_OPS_TD
#define SINTER_IR_REDUCE_OPS_TD

include "sinter/ir/dialect/dialect.td"

// bf16 and f16 accumulate in f32, integers in their own type.
// `kind` says how parts combine: a FactorKind (ir/dialect/factor_rule.h).
class Sinter_ReduceOp<string mnemonic, string text, Type operand, string kind = "kWhole">
    : Sinter_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ReductionInterface>,
                           DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = text;
  let extraClassDeclaration = "::sinter::ir::FactorKind getReducedKind() { return ::sinter::ir::FactorKind::" # kind # "; }";
  let arguments = (ins operand:$x, DenseI64ArrayAttr:$dims);
  let results = (outs operand:$result);
  let assemblyFormat = "$x $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def SumOp : Sinter_ReduceOp<"sum", "Sum along `dims`; 0 if there are no elements", Sinter_NumberTensor, "kSum"> { let hasFolder = 1; }
def ProdOp : Sinter_ReduceOp<"prod", "Product along `dims`; 1 if there are no elements", Sinter_NumberTensor>;
def MaxOp : Sinter_ReduceOp<"max", "Largest element along `dims`; NaN if any is NaN; the lowest value if there are no elements",
                            Sinter_NumberTensor, "kMax">;
def MinOp : Sinter_ReduceOp<"min", "Smallest element along `dims`; NaN if any is NaN; the highest value if there are no elements",
                            Sinter_NumberTensor, "kMin">;
def AnyOp : Sinter_ReduceOp<"any", "True if any element along `dims` is true", Sinter_BoolTensor>;
def AllOp : Sinter_ReduceOp<"all", "True if all elements along `dims` are true", Sinter_BoolTensor>;

class Sinter_ArgReduceOp<string mnemonic, string text>
    : Sinter_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ReductionInterface>]> {
  let summary = text;
  let arguments = (ins Sinter_NumberTensor:$x, I64Attr:$dim);
  let results = (outs Sinter_IndexTensor:$result);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  // The dimension as an array, because ReductionInterface returns a reference.
  let extraClassDeclaration = [{ ::mlir::DenseI64ArrayAttr getDimsAttr(); }];
}
def ArgmaxOp : Sinter_ArgReduceOp<"argmax", "Position of the first largest element along `dim`; the first NaN wins">;
def ArgminOp : Sinter_ArgReduceOp<"argmin", "Position of the first smallest element along `dim`; the first NaN wins">;

class Sinter_CompositeReduceOp<string mnemonic, string text>
    : Sinter_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<CompositeInterface>]> {
  let summary = text;
  let arguments = (ins Sinter_FloatTensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def MeanOp : Sinter_CompositeReduceOp<"mean", "Arithmetic mean along `dims`; NaN if there are no elements">;
def LogsumexpOp : Sinter_CompositeReduceOp<"logsumexp", "log of the sum of exp along `dims`, shifted by the maximum so "
                                           "that it does not overflow">;
def NormOp : Sinter_CompositeReduceOp<"norm", "Euclidean norm along `dims`: sqrt of the sum of squares">;

def CumsumOp : Sinter_Op<"cumsum", [Pure, AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<ShardableInterface>,
    LibraryInterface,
    DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>, DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "Running sum along `dim`; from the end when `reverse`";
  let arguments = (ins Sinter_NumberTensor:$x, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TopKOp : Sinter_Op<"top_k", [Pure, LibraryInterface, DeclareOpInterfaceMethods<ShardableInterface>,
                                 DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "The k largest elements along the last dimension, the largest first, and their positions; NaN is the largest, and "
    "of equal elements the first comes first";
  let arguments = (ins Sinter_NumberTensor:$x, I64Attr:$k);
  let results = (outs Sinter_NumberTensor:$values, Sinter_TensorOf<[I32], "i32">:$positions);
  let assemblyFormat = "$x `k` $k attr-dict `:` type($x) `->` type($values) `,` type($positions)";
  let hasVerifier = 1;
}

def SortOp : Sinter_Op<"sort", [Pure, LibraryInterface, DeclareOpInterfaceMethods<ShardableInterface>,
                                DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "The elements along the last dimension in ascending order, or in descending order, and their positions; equal "
    "elements keep their order, and NaN is the largest";
  let arguments = (ins Sinter_NumberTensor:$x, UnitAttr:$descending);
  let results = (outs Sinter_NumberTensor:$values, Sinter_TensorOf<[I32], "i32">:$positions);
  let assemblyFormat = "$x (`descending` $descending^)? attr-dict `:` type($x) `->` type($values) `,` type($positions)";
  let hasVerifier = 1;
}

#endif  // SINTER_IR_REDUCE_OPS_TD
