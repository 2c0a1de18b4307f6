#include "sinter/ir/dialect/sharding_rule.h"

#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {
namespace {

// The dimension of a value that a cut of a factor cuts.
struct CutDim {
  int64_t dim = kWhole;
  int64_t inner = 1;  // Elements of the dimension for each iteration of the factor.
};

// Returns nullopt if the parts of the value are no ranges of one dimension.
std::optional<CutDim> FindCut(const FactorRule& rule, const ValueFactors& value, unsigned factor) {
  CutDim cut;
  for (auto [d, dim] : llvm::enumerate(value)) {
    if (!llvm::is_contained(dim, factor)) continue;
    if (dim.front() != factor || cut.dim != kWhole) return std::nullopt;
    cut.dim = static_cast<int64_t>(d);
    for (unsigned f : llvm::drop_begin(dim)) cut.inner *= rule.factors[f].size;
  }
  return cut;
}

// Adds the cut dimension of each value to `dims`. Returns the common number of elements for each iteration, 0
// if no value is cut, and nullopt if that is not possible.
std::optional<int64_t> AddCuts(const FactorRule& rule, llvm::ArrayRef<ValueFactors> values, unsigned factor,
                               llvm::SmallVector<int64_t>& dims) {
  int64_t inner = 0;
  for (const ValueFactors& value : values) {
    std::optional<CutDim> cut = FindCut(rule, value, factor);
    if (!cut) return std::nullopt;
    dims.push_back(cut->dim);
    if (cut->dim == kWhole) continue;
    if (inner != 0 && inner != cut->inner) return std::nullopt;
    inner = cut->inner;
  }
  return inner;
}

}  // namespace

std::optional<ShardingRule> ShardAlong(mlir::Operation* op, unsigned operand, int64_t dim) {
  if (llvm::isa<CollectiveInterface>(op)) return std::nullopt;
  FactorRule rule = FactorsOf(op);
  const llvm::SmallVector<unsigned>& along = rule.operands[operand][dim];
  if (along.empty()) return std::nullopt;
  ShardingRule sharding;
  sharding.factor = along.front();
  const FactorKind kind = rule.factors[sharding.factor].kind;
  if (kind == FactorKind::kWhole || kind == FactorKind::kOwned) return std::nullopt;
  std::optional<int64_t> of_operands = AddCuts(rule, rule.operands, sharding.factor, sharding.operands);
  std::optional<int64_t> of_results = AddCuts(rule, rule.results, sharding.factor, sharding.results);
  if (!of_operands || !of_results || sharding.operands[operand] != dim) return std::nullopt;
  // Boundaries of the factor are not all boundaries of the dimension, and the numerator does not say so.
  if (*of_operands > 1 && (*of_results == 0 || *of_results == *of_operands)) return std::nullopt;
  if (llvm::is_contained(sharding.results, kWhole)) {
    // Some results are cut, some are partial; or parts cannot be told which operands count once.
    if (*of_results != 0 || rule.counts_once.size() > 1) return std::nullopt;
    sharding.partial = CombineOf(kind);
    if (!rule.counts_once.empty()) sharding.only_first = rule.counts_once.front();
  } else {
    sharding.numerator = *of_results;
    sharding.denominator = *of_operands;
  }
  return sharding;
}

}  // namespace sinter::ir
