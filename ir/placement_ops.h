// Op classes of the placement family: see placement_ops.td.
#ifndef SINTER_IR_PLACEMENT_OPS_H_
#define SINTER_IR_PLACEMENT_OPS_H_

#include "sinter/ir/device_attr.h"
#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/placement_ops.h.inc"

#endif  // SINTER_IR_PLACEMENT_OPS_H_
