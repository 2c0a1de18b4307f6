// Op classes of the random family: see random_ops.td.
#ifndef SINTER_IR_RANDOM_OPS_H_
#define SINTER_IR_RANDOM_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/random_ops.h.inc"

#endif  // SINTER_IR_RANDOM_OPS_H_
