// Every op class of the `sinter` dialect.
//
//   if (auto matmul = llvm::dyn_cast<ir::MatmulOp>(op)) ...
#ifndef SINTER_IR_DIALECT_OPS_H_
#define SINTER_IR_DIALECT_OPS_H_

#include "mlir/IR/SymbolTable.h"
#include "sinter/ir/dialect/device_attr.h"
#include "sinter/ir/dialect/dialect.h"

// Generated, in an order in which each finds what it names.
#include "ir/composite_enums.h.inc"
#include "ir/linear_enums.h.inc"
#include "ir/logic_enums.h.inc"
#include "ir/program_enums.h.inc"
#include "ir/shape_enums.h.inc"
#define GET_OP_CLASSES
#include "ir/activation_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/arithmetic_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/linear_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/attention_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/collective_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/composite_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/custom_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/fourier_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/logic_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/matrix_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/placement_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/program_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/control_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/random_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/reduce_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/shape_ops.h.inc"
#define GET_OP_CLASSES
#include "ir/transcendental_ops.h.inc"

#endif  // SINTER_IR_DIALECT_OPS_H_
