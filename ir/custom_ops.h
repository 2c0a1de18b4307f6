// Op classes of the custom family: see custom_ops.td.
#ifndef SINTER_IR_CUSTOM_OPS_H_
#define SINTER_IR_CUSTOM_OPS_H_

#include "mlir/IR/SymbolTable.h"
#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/custom_ops.h.inc"

#endif  // SINTER_IR_CUSTOM_OPS_H_
