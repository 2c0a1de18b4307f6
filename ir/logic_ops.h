// Op classes of the logic family: see logic_ops.td.
#ifndef SINTER_IR_LOGIC_OPS_H_
#define SINTER_IR_LOGIC_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#include "ir/logic_enums.h.inc"
#define GET_OP_CLASSES
#include "ir/logic_ops.h.inc"

#endif  // SINTER_IR_LOGIC_OPS_H_
