// Op classes of the shape family: see shape_ops.td.
#ifndef SINTER_IR_SHAPE_OPS_H_
#define SINTER_IR_SHAPE_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/shape_ops.h.inc"

#endif  // SINTER_IR_SHAPE_OPS_H_
