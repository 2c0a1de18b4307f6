// Op classes of the activation family: see activation_ops.td.
#ifndef SINTER_IR_ACTIVATION_OPS_H_
#define SINTER_IR_ACTIVATION_OPS_H_

#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/activation_ops.h.inc"

#endif  // SINTER_IR_ACTIVATION_OPS_H_
