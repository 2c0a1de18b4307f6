// The structure of a program: variables, gradients, fused groups.
//
// A program is a module of `sinter.variable`s and `func.func`s. Functions are pure. Each argument has an
// attribute `sinter.input = "name"` or `sinter.variable = @name`. Each result has `sinter.output = "name"`,
// or `sinter.variable = @name` if it is the variable's new value. A function's locations are the user's
// lines.
#ifndef SINTER_IR_PROGRAM_OPS_TD
#define SINTER_IR_PROGRAM_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "sinter/ir/dialect/dialect.td"

def Sinter_Initializer : I32EnumAttr<"Initializer", "how a variable gets its first value", [
    I32EnumAttrCase<"constant", 0>, I32EnumAttrCase<"uniform", 1>, I32EnumAttrCase<"normal", 2>,
    I32EnumAttrCase<"orthogonal", 3>]> {
  let cppNamespace = "::sinter::ir";
}
def VariableOp : Sinter_Op<"variable", [Symbol]> {
  let summary = "A named tensor that outlives a run and is shared by the program's functions";
  let description = [{
    `initializer` with `a` and `b`: constant a; uniform in [a, b); normal with mean a and deviation b; orthogonal times a
    (for the matrix of the first dimension by all others). Random ones draw from Philox with `seed`. `trainable` marks
    parameters. With the attribute `sinter.box` (ir/dialect/mesh.h) each rank holds a part: `type` is the part's, and the
    initializer gives it the values that this part of the whole has.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, Sinter_Initializer:$initializer,
                   F64Attr:$a, F64Attr:$b, I64Attr:$seed, UnitAttr:$trainable);
  let assemblyFormat = "$sym_name `:` $type `=` $initializer `(` $a `,` $b `)` `seed` $seed (`trainable` $trainable^)? attr-dict";
  let hasVerifier = 1;
}
def GradientsOp : Sinter_Op<"gradients", [Pure]> {
  let summary = "The gradients of a rank-0 loss with respect to the values `xs`; zeros if the loss does not depend on a value. "
                "The pass `differentiate` replaces it";
  let arguments = (ins Sinter_FloatTensor:$loss, Variadic<Sinter_FloatTensor>:$xs);
  let results = (outs Variadic<Sinter_FloatTensor>:$gradients);
  let assemblyFormat = "$loss `wrt` $xs attr-dict `:` functional-type(operands, $gradients)";
  let hasVerifier = 1;
}
def StopGradientOp : Sinter_Op<"stop_gradient", [Pure, SameOperandsAndResultType,
                                                 DeclareOpInterfaceMethods<CompositeInterface>,
                                                 DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "Returns x and stops its gradient";
  let arguments = (ins Sinter_Tensor:$x);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}
def GradientPointOp : Sinter_Op<"gradient_point", [Pure, SameOperandsAndResultType,
                                                   DeclareOpInterfaceMethods<CompositeInterface>,
                                                   DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "Returns x, a value with respect to which a gradient is wanted. Rewrites do not look through it, so what reads "
                "x goes on to do so until the gradient exists. `id` differs from those of other points of the function, which "
                "keeps equal values apart";
  let arguments = (ins Sinter_Tensor:$x, I64Attr:$id);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}
def FusionOp : Sinter_Op<"fusion", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Ops that become one generated kernel";
  let description = [{
    The region's arguments are the operands; `sinter.yield` names the results. Its ops are fusible ops and reductions;
    its constants are splats.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, OptionalAttr<StrAttr>:$kind);
  let results = (outs Variadic<Sinter_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
def YieldOp : Sinter_Op<"yield", [Pure, Terminator]> {
  let summary = "Ends a region and names its results";
  let arguments = (ins Variadic<Sinter_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif  // SINTER_IR_PROGRAM_OPS_TD
