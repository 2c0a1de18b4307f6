// Op classes of the arithmetic family: see arithmetic_ops.td.
#ifndef SINTER_IR_ARITHMETIC_OPS_H_
#define SINTER_IR_ARITHMETIC_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/arithmetic_ops.h.inc"

#endif  // SINTER_IR_ARITHMETIC_OPS_H_
