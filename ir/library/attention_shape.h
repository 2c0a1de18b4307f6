// The sizes that the operands of an attention op have: see attention_ops.td.
//
//   AttentionShape s = AttentionShape::Of(attention.getInputs());   // Of a verified op.
//   int64_t scores = s.batch * s.heads * s.queries * s.keys;
#ifndef SINTER_IR_LIBRARY_ATTENTION_SHAPE_H_
#define SINTER_IR_LIBRARY_ATTENTION_SHAPE_H_

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/ValueRange.h"

namespace sinter::ir {

// On an attention op that stays whole: every GPU of the plan is of compute capability 9.0 (sinter-decompose).
inline constexpr llvm::StringLiteral kHopperAttr = "sinter.hopper";

struct AttentionShape {
  int64_t batch, queries, keys, heads, key_heads, width;
  bool packed;  // q, k and v are one tensor.
  mlir::Type element;

  // The sizes of q, k and v, or of the one tensor that holds them.
  static AttentionShape Of(mlir::ValueRange inputs);
  // Those of a few_queries_attention, with the heads of q that are queries.
  static AttentionShape OfFew(mlir::ValueRange inputs, int64_t heads, bool by_head);
  llvm::SmallVector<int64_t> queriesShape() const { return {batch, queries, heads, width}; }
  llvm::SmallVector<int64_t> keysShape() const { return {batch, keys, key_heads, width}; }
  llvm::SmallVector<int64_t> statsShape() const { return {batch, heads, queries}; }
  // The number of scores whose keys their queries see, but for those that a bias hides. About: it counts a
  // window's full width for each query.
  double seenScores(bool causal, int64_t window) const;
};

// Checks that each dimension of a bias of the scores is whole, or 1 and shared, and its type.
llvm::LogicalResult CheckScoreBias(mlir::Operation* op, mlir::Value bias, const AttentionShape& s);

}  // namespace sinter::ir

#endif  // SINTER_IR_LIBRARY_ATTENTION_SHAPE_H_
