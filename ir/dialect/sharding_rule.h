// ShardingRule: how an op runs on parts of one dimension of an operand, as its factors say (factor_rule.h).
//
//   std::optional<ShardingRule> rule = ShardAlong(matmul, /*operand=*/0, /*dim=*/1);   // [m, k], along k.
//   // rule->operands == {1, 0}, rule->results == {kWhole}, rule->partial == ReduceKind::sum
#ifndef SINTER_IR_DIALECT_SHARDING_RULE_H_
#define SINTER_IR_DIALECT_SHARDING_RULE_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

inline constexpr int64_t kWhole = -1;

struct ShardingRule {
  llvm::SmallVector<int64_t> operands;  // The dimension along which each operand must be split, or kWhole.
  llvm::SmallVector<int64_t> results;   // The dimension along which each result is then split, or kWhole.
  // If set: each part computes partial results, which this operation combines into the whole results.
  std::optional<ReduceKind> partial;
  // A boundary at position p of the operand's dimension is a boundary at p * numerator / denominator of the
  // result's. If that is not an integer for some boundary, the op cannot run on the parts.
  int64_t numerator = 1, denominator = 1;
  // For a partial sum: the operand that only the first part reads (the other parts read zeros). -1 if none.
  int64_t only_first = -1;
  unsigned factor = 0;  // The factor that is cut, of FactorsOf(op).
};

// Returns nullopt if the op needs the whole operand. This is also so for a dimension of size 1, and for
// collectives: each part would need an exchange of its own.
std::optional<ShardingRule> ShardAlong(mlir::Operation* op, unsigned operand, int64_t dim);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_SHARDING_RULE_H_
