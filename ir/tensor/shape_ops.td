// Ops that move or make elements without computing on them.
#ifndef SINTER_IR_SHAPE_OPS_TD
#define SINTER_IR_SHAPE_OPS_TD

include "sinter/ir/dialect/dialect.td"

// An index map, which fuses into loops and has a gradient.
class Sinter_ShapeOp<string mnemonic, string text, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<FusibleInterface>,
                                    DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = text;
  let results = (outs Sinter_Tensor:$result);
  // Elements move; as in Sinter_PointwiseOp.
  code linear = "kFirst";
  let extraClassDeclaration = Sinter_LinearMethod<linear>.text;
}

// The numbers are parameters of the kernels.
def Sinter_ScatterKind : I32EnumAttr<"ScatterKind", "what becomes of an element that an index names", [
    I32EnumAttrCase<"set", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"mul", 3>]> {
  let cppNamespace = "::sinter::ir";
}

def ConstantOp : Sinter_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>,
                                        DeclareOpInterfaceMethods<FusibleInterface>,
                                        DeclareOpInterfaceMethods<ShardableInterface>,
                                        DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let summary = "A tensor of given values; splats are computed where they are used, other values are stored in the plan";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}
def IotaOp : Sinter_Op<"iota", [Pure, DeclareOpInterfaceMethods<FusibleInterface>,
                                DeclareOpInterfaceMethods<ShardableInterface>,
                                DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let summary = "Each element is its coordinate along `dim`, plus `origin`: the position of the first element in a whole of "
                "which the result is a part";
  let arguments = (ins I64Attr:$dim, Optional<Sinter_Origin>:$origin);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$dim (`origin` $origin^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def ReshapeOp : Sinter_ShapeOp<"reshape", "The same elements in row-major order under another shape",
                               [DeclareOpInterfaceMethods<ShardableInterface>]> {
  let arguments = (ins Sinter_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def TransposeOp : Sinter_ShapeOp<"transpose", "Result dimension i is operand dimension permutation[i]"> {
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$x $permutation attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def BroadcastOp : Sinter_ShapeOp<"broadcast",
    "Operand dimension i becomes result dimension dims[i], with the same size or repeated from size 1; the operand is "
    "repeated along all other result dimensions"> {
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$x $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def SliceOp : Sinter_ShapeOp<"slice", "Elements starts[d], starts[d] + strides[d], ... below limits[d] along each d",
                             [DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                   DenseI64ArrayAttr:$strides);
  let assemblyFormat = "$x $starts $limits $strides attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def ConcatOp : Sinter_ShapeOp<"concat", "Concatenates the operands along `dim`",
                              [DeclareOpInterfaceMethods<ShardableInterface>]> {
  let arguments = (ins Variadic<Sinter_Tensor>:$xs, I64Attr:$dim);
  let assemblyFormat = "$xs `dim` $dim attr-dict `:` functional-type($xs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let linear = "kAll";
}
def SplitOp : Sinter_Op<"split", [Pure, DeclareOpInterfaceMethods<CompositeInterface>]> {
  let summary = "Splits x along `dim` into parts of the results' sizes, in order";
  let arguments = (ins Sinter_Tensor:$x, I64Attr:$dim);
  let results = (outs Variadic<Sinter_Tensor>:$parts);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($x) `->` type($parts)";
  let hasVerifier = 1;
}
def PadOp : Sinter_ShapeOp<"pad",
    "Along each dimension d: low[d] copies of `value`, then the operand with interior[d] copies between neighbours, then high[d] copies",
    [DeclareOpInterfaceMethods<ShardableInterface>]> {
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                   DenseI64ArrayAttr:$interior, F64Attr:$value);
  let assemblyFormat = "$x `value` $value `low` $low `high` $high `interior` $interior attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let linear = "getValue().isZero() ? kFirst : kNone";
}
def ReverseOp : Sinter_ShapeOp<"reverse", "The elements in opposite order along each of `dims`",
                               [AllTypesMatch<["x", "result"]>]> {
  let arguments = (ins Sinter_Tensor:$x, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$x $dims attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def GatherOp : Sinter_ShapeOp<"gather",
    "result[..., i..., ...] = x[..., indices[i...], ...]: the dimensions of `indices` replace `dim`. An embedding is a gather "
    "along dimension 0. Indices out of range are clamped",
    [DeclareOpInterfaceMethods<ShardableInterface>, DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let arguments = (ins Sinter_Tensor:$x, Sinter_IndexTensor:$indices, I64Attr:$dim);
  let assemblyFormat = "$x `[` $indices `]` `dim` $dim attr-dict `:` type($x) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}
def TakeAlongOp : Sinter_ShapeOp<"take_along",
    "result[c] = x[c with c[dim] replaced by indices[c]]: `indices` has the result's shape. Indices out of range are clamped",
    [DeclareOpInterfaceMethods<ShardableInterface>, DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let arguments = (ins Sinter_Tensor:$x, Sinter_IndexTensor:$indices, I64Attr:$dim);
  let assemblyFormat = "$x `[` $indices `]` `dim` $dim attr-dict `:` type($x) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}
def ScatterAddOp : Sinter_Op<"scatter_add", [Pure, AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<ShardableInterface>,
    DeclareOpInterfaceMethods<LocalFormInterface>, LibraryInterface,
    DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>, DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "x plus updates: result[..., indices[i...], ...] += updates[..., i..., ...] along `dim`, in the order of i, "
                "so that the sum is deterministic; an index out of range adds nothing";
  let arguments = (ins Sinter_NumberTensor:$x, Sinter_IndexTensor:$indices, Sinter_NumberTensor:$updates, I64Attr:$dim);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$x `[` $indices `]` `,` $updates `dim` $dim attr-dict `:` type($x) `,` type($indices) `,` type($updates)";
  let hasVerifier = 1;
}
def ScatterOp : Sinter_Op<"scatter", [Pure, AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<ShardableInterface>,
    DeclareOpInterfaceMethods<LocalFormInterface>, LibraryInterface,
    DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>, DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "x with result[..., indices[i...], ...] replaced along `dim`, in the order of i, by the update there (`set`: the "
                "last one stays), or by the larger (`max`), the smaller (`min`) or the product (`mul`) of both; an index out "
                "of range changes nothing";
  let arguments = (ins Sinter_NumberTensor:$x, Sinter_IndexTensor:$indices, Sinter_NumberTensor:$updates,
                   Sinter_ScatterKind:$kind, I64Attr:$dim);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$kind $x `[` $indices `]` `,` $updates `dim` $dim attr-dict `:` type($x) `,` type($indices) `,` type($updates)";
  let hasVerifier = 1;
}
def OneHotOp : Sinter_Op<"one_hot", [Pure, DeclareOpInterfaceMethods<FusibleInterface>,
                                     DeclareOpInterfaceMethods<ShardableInterface>,
                                     DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let summary = "A new last dimension: 1 where its coordinate equals the index, else 0; an index out of range gives zeros";
  let arguments = (ins Sinter_IndexTensor:$indices);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$indices attr-dict `:` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

#endif  // SINTER_IR_SHAPE_OPS_TD
