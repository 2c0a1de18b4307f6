// Op classes of the reduce family: see reduce_ops.td.
#ifndef SINTER_IR_REDUCE_OPS_H_
#define SINTER_IR_REDUCE_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/reduce_ops.h.inc"

#endif  // SINTER_IR_REDUCE_OPS_H_
