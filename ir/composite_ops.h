// Op classes of the composite family: see composite_ops.td.
#ifndef SINTER_IR_COMPOSITE_OPS_H_
#define SINTER_IR_COMPOSITE_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#include "ir/composite_enums.h.inc"
#define GET_OP_CLASSES
#include "ir/composite_ops.h.inc"

#endif  // SINTER_IR_COMPOSITE_OPS_H_
