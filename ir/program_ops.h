// Op classes of the program family: see program_ops.td.
#ifndef SINTER_IR_PROGRAM_OPS_H_
#define SINTER_IR_PROGRAM_OPS_H_

#include "mlir/IR/SymbolTable.h"
#include "sinter/ir/dialect.h"

// Generated.
#include "ir/program_enums.h.inc"
#define GET_OP_CLASSES
#include "ir/program_ops.h.inc"

#endif  // SINTER_IR_PROGRAM_OPS_H_
