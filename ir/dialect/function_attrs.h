// Edits attributes of many arguments or results of a function at once. MLIR's setArgAttr copies the list of
// all arguments' attributes, so the time to call it for each grows with the square of their number.
//
//   auto edit = [&](unsigned i, mlir::NamedAttrList& attributes) { attributes.set(kDeviceAttr, device); };
//   EditArgAttrs(function, edit);
#ifndef SINTER_IR_DIALECT_FUNCTION_ATTRS_H_
#define SINTER_IR_DIALECT_FUNCTION_ATTRS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::ir {

using AttrEdit = llvm::function_ref<void(unsigned number, mlir::NamedAttrList& attributes)>;

// Calls `edit` with the attributes of each argument, then assigns them all.
void EditArgAttrs(mlir::func::FuncOp function, AttrEdit edit);
// The same for results.
void EditResultAttrs(mlir::func::FuncOp function, AttrEdit edit);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_FUNCTION_ATTRS_H_
