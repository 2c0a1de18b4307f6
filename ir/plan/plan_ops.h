// The `plan` dialect: its buffer type and op classes. See plan_ops.td.
#ifndef SINTER_IR_PLAN_PLAN_OPS_H_
#define SINTER_IR_PLAN_PLAN_OPS_H_

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sinter/ir/dialect/dialect.h"

// Generated.
#include "ir/plan_dialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/plan_types.h.inc"
#define GET_OP_CLASSES
#include "ir/plan_ops.h.inc"

namespace sinter::plan_ir {

// Alignment of each tensor of a bucket, in bytes: it suits the vectors of any device.
inline constexpr int64_t kBucketAlignment = 256;

// Bytes of a dense tensor: an i1 element takes one.
int64_t TensorBytes(mlir::RankedTensorType type);

// The greatest common divisor of the bytes, in the whole input, before each rank's part; 0 if all parts begin
// with the input.
int64_t StartDivisor(ir::PartAttr part);

}  // namespace sinter::plan_ir

#endif  // SINTER_IR_PLAN_PLAN_OPS_H_
