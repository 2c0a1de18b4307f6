// Op classes of the transcendental family: see transcendental_ops.td.
#ifndef SINTER_IR_TRANSCENDENTAL_OPS_H_
#define SINTER_IR_TRANSCENDENTAL_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/transcendental_ops.h.inc"

#endif  // SINTER_IR_TRANSCENDENTAL_OPS_H_
