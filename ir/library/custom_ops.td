// Kernels that the user wrote.
#ifndef SINTER_IR_CUSTOM_OPS_TD
#define SINTER_IR_CUSTOM_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "sinter/ir/dialect/dialect.td"

// frontend/ops/elementwise_kernel.h says what the texts may use.
def ElementwiseKernelOp : Sinter_Op<"elementwise_kernel", [Pure, DeclareOpInterfaceMethods<LibraryInterface>,
                                                           DeclareOpInterfaceMethods<DifferentiableInterface>,
                                                           DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A C++ body, run once for each i of 0 to n-1, over the user's parameters";
  let description = [{
    `parameters` names the operands, then the results. An element of a parameter is its name; `raw` parameters are arrays, to
    be indexed by the body. All others have n elements, and element i is the i-th in row-major order. `prologue` comes before
    the loop over i, `epilogue` behind it, `preamble` before the function. `types` are the names of element types that the
    texts may use.
    `gradient` is a private function of the module: from operands, results and the results' gradients to one gradient for
    each operand of floating-point type. An op without it has no gradient, and the pass `differentiate` refuses it.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, StrAttr:$kernel_name, StrArrayAttr:$parameters,
                   DenseBoolArrayAttr:$raw, I64Attr:$n, StrAttr:$body, OptionalAttr<StrAttr>:$prologue,
                   OptionalAttr<StrAttr>:$epilogue, OptionalAttr<StrAttr>:$preamble, OptionalAttr<DictionaryAttr>:$types,
                   OptionalAttr<FlatSymbolRefAttr>:$gradient);
  let results = (outs Variadic<Sinter_Tensor>:$outputs);
  let assemblyFormat = "$kernel_name `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}

#endif  // SINTER_IR_CUSTOM_OPS_TD
