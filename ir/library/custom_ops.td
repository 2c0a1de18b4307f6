// Kernels that the user wrote.
#ifndef SINTER_IR_CUSTOM_OPS_TD
#define SINTER_IR_CUSTOM_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "sinter/ir/dialect/dialect.td"

// frontend/ops/elementwise_kernel.h specifies what the texts may use.
def ElementwiseKernelOp : Sinter_Op<"elementwise_kernel", [Pure, LibraryInterface,
                                                           DeclareOpInterfaceMethods<ShardableInterface>,
                                                           DeclareOpInterfaceMethods<DifferentiableInterface>,
                                                           DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A C++ body, run once for each i of 0 to n-1, over the user's parameters";
  let description = [{
    `parameters` names the operands, then the results. The name of a parameter stands for its element i, in row-major order;
    such a parameter has n elements. A `raw` parameter is an array, which the body indexes itself. `prologue` comes before
    the loop over i, `epilogue` after it, and `preamble` before the function. `types` names the element types that the
    texts may use.
    `gradient` is a private function of the module. It takes the operands, the results and the results' gradients, and
    returns one gradient for each floating-point operand. Without it the pass `differentiate` refuses the op.
  }];
  let arguments = (ins Variadic<Sinter_ComputedTensor>:$inputs, StrAttr:$kernel_name, StrArrayAttr:$parameters,
                   DenseBoolArrayAttr:$raw, I64Attr:$n, StrAttr:$body, OptionalAttr<StrAttr>:$prologue,
                   OptionalAttr<StrAttr>:$epilogue, OptionalAttr<StrAttr>:$preamble, OptionalAttr<DictionaryAttr>:$types,
                   OptionalAttr<FlatSymbolRefAttr>:$gradient);
  let results = (outs Variadic<Sinter_ComputedTensor>:$outputs);
  let assemblyFormat = "$kernel_name `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}

#endif  // SINTER_IR_CUSTOM_OPS_TD
