// Op classes of the linear family: see linear_ops.td.
#ifndef SINTER_IR_LINEAR_OPS_H_
#define SINTER_IR_LINEAR_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#include "ir/linear_enums.h.inc"
#define GET_OP_CLASSES
#include "ir/linear_ops.h.inc"

#endif  // SINTER_IR_LINEAR_OPS_H_
