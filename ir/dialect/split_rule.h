// How an op runs on a part of its operands: what the pass `partition` asks before it gives each device a part of the batch.
//
//   std::optional<SplitRule> rule = SplitAlong(matmul, /*operand=*/0, /*dim=*/1);      // [m, k] split along k
//   // rule->operands == {1, 0}, rule->results == {kWhole}, rule->partial == Combine::sum
#ifndef SINTER_IR_DIALECT_SPLIT_RULE_H_
#define SINTER_IR_DIALECT_SPLIT_RULE_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

inline constexpr int64_t kWhole = -1;

struct SplitRule {
  llvm::SmallVector<int64_t> operands;  // The dimension along which each must be split, or kWhole: all of it.
  llvm::SmallVector<int64_t> results;   // The dimension along which each then is split, or kWhole.
  // Set: what each part computes is combined with the others' in this way to the whole results.
  std::optional<Combine> partial;
  // A boundary at position p of the operand's dimension is one at p * numerator / denominator of the results'. Where that
  // is no integer for one of the boundaries, the op cannot run on the parts.
  int64_t numerator = 1, denominator = 1;
  // A partial sum of which the first part alone may read this operand: the others read zeros. -1: none.
  int64_t only_first = -1;
};

// Nothing when the op needs all of the operand.
std::optional<SplitRule> SplitAlong(mlir::Operation* op, unsigned operand, int64_t dim);

// For ops whose operands and results are all split along the same dimension, or which have no more than one.
SplitRule SplitAll(mlir::Operation* op, int64_t dim);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_SPLIT_RULE_H_
