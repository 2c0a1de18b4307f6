// Op classes of the attention family, and the sizes that its operands say: see attention_ops.td.
//
//   AttentionShape s = AttentionShape::Of(attention.getInputs());   // Of a verified op.
//   int64_t scores = s.batch * s.heads * s.queries * s.keys;
#ifndef SINTER_IR_ATTENTION_OPS_H_
#define SINTER_IR_ATTENTION_OPS_H_

#include "sinter/ir/dialect.h"
#include "sinter/ir/linear_ops.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/attention_ops.h.inc"

namespace sinter::ir {

struct AttentionShape {
  int64_t batch, queries, keys, heads, key_heads, width;
  bool packed;  // q, k and v are one tensor.
  mlir::Type element;

  // Of q, k and v, or of the one tensor that holds them.
  static AttentionShape Of(mlir::ValueRange inputs);
  llvm::SmallVector<int64_t> queriesShape() const { return {batch, queries, heads, width}; }
  llvm::SmallVector<int64_t> keysShape() const { return {batch, keys, key_heads, width}; }
  llvm::SmallVector<int64_t> statsShape() const { return {batch, heads, queries}; }
};

}  // namespace sinter::ir

#endif  // SINTER_IR_ATTENTION_OPS_H_
