#include "sinter/ir/dialect/sharding_rule.h"

#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {
namespace {

int64_t SizeOf(mlir::Value value, int64_t dim) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getDimSize(dim);
}

// Returns the operand dimension whose coordinate equals the result's along `dim`, kWhole if there is none,
// and nullopt if the op cannot be split so.
std::optional<int64_t> OperandDim(mlir::AffineMap map, mlir::Value operand, mlir::Value result, int64_t dim) {
  int64_t found = kWhole;
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    if (expr == mlir::getAffineDimExpr(dim, map.getContext()) && SizeOf(operand, d) == SizeOf(result, dim)) {
      if (found != kWhole) return std::nullopt;
      found = static_cast<int64_t>(d);
    } else if (expr.isFunctionOfDim(dim)) {
      return std::nullopt;
    }
  }
  return found;
}

// The rule of ops whose reads are all affine in the result's coordinates.
std::optional<ShardingRule> SplitByMaps(FusibleInterface op, unsigned operand, int64_t dim) {
  mlir::AffineMap map = op.getOperandMap(operand);
  if (!map || op->getNumResults() != 1) return std::nullopt;
  mlir::Value result = op->getResult(0);
  auto along = llvm::dyn_cast<mlir::AffineDimExpr>(map.getResult(dim));
  if (!along) return std::nullopt;
  int64_t result_dim = along.getPosition();
  if (SizeOf(result, result_dim) != SizeOf(op->getOperand(operand), dim)) return std::nullopt;
  ShardingRule rule;
  rule.results = {result_dim};
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    mlir::AffineMap other = op.getOperandMap(i);
    // Reads at data-dependent positions need the whole operand.
    auto d = other ? OperandDim(other, value, result, result_dim) : std::optional<int64_t>(kWhole);
    if (!d) return std::nullopt;
    rule.operands.push_back(*d);
  }
  return rule;
}

}  // namespace

std::optional<ShardingRule> ShardAlong(mlir::Operation* op, unsigned operand, int64_t dim) {
  if (auto shardable = llvm::dyn_cast<ShardableInterface>(op)) return shardable.shardAlong(operand, dim);
  if (auto fusible = llvm::dyn_cast<FusibleInterface>(op)) return SplitByMaps(fusible, operand, dim);
  return std::nullopt;
}

ShardingRule SplitAll(mlir::Operation* op, int64_t dim) {
  ShardingRule rule;
  rule.operands.assign(op->getNumOperands(), dim);
  rule.results.assign(op->getNumResults(), dim);
  return rule;
}

// Shapes ----------------------------------------------------------------------------------------------------

// Two dimensions with the same number of elements before them share boundaries: a boundary at p is one at p *
// (elements after `dim`) / (elements after j).
std::optional<ShardingRule> ReshapeOp::shardAlong(unsigned, int64_t dim) {
  auto product = [](llvm::ArrayRef<int64_t> sizes) {
    int64_t n = 1;
    for (int64_t size : sizes) n *= size;
    return n;
  };
  llvm::ArrayRef<int64_t> from = getX().getType().getShape(), to = getType().getShape();
  int64_t before = product(from.take_front(dim));
  for (auto [j, size] : llvm::enumerate(to)) {
    if (product(to.take_front(j)) != before || size == 1) continue;
    ShardingRule rule;
    rule.operands = {dim};
    rule.results = {static_cast<int64_t>(j)};
    rule.numerator = product(from.drop_front(dim + 1));
    rule.denominator = product(to.drop_front(j + 1));
    return rule.denominator == 0 ? std::nullopt : std::optional(rule);
  }
  return std::nullopt;
}

std::optional<ShardingRule> ConcatOp::shardAlong(unsigned, int64_t dim) {
  if (dim == static_cast<int64_t>(getDim())) return std::nullopt;
  return SplitAll(*this, dim);
}

std::optional<ShardingRule> PadOp::shardAlong(unsigned, int64_t dim) {
  if (getLow()[dim] != 0 || getHigh()[dim] != 0 || getInterior()[dim] != 0) return std::nullopt;
  return SplitAll(*this, dim);
}

std::optional<ShardingRule> TakeAlongOp::shardAlong(unsigned operand, int64_t dim) {
  if (dim != static_cast<int64_t>(getDim())) return SplitAll(*this, dim);
  if (operand == 0) return std::nullopt;
  ShardingRule rule;
  rule.operands = {kWhole, dim};
  rule.results = {dim};
  return rule;
}

// Parts of the indices and their updates add up to the result; only one part adds the operand.
std::optional<ShardingRule> ScatterAddOp::shardAlong(unsigned operand, int64_t dim) {
  int64_t along = getDim(), rank = getIndices().getType().getRank();
  ShardingRule rule;
  int64_t index_dim = operand == 1 ? dim : operand == 2 ? dim - along : kWhole;
  if (operand == 0 || index_dim < 0 || index_dim >= rank) return std::nullopt;
  rule.operands = {kWhole, index_dim, along + index_dim};
  rule.results = {kWhole};
  rule.partial = ReduceKind::sum;
  rule.only_first = 0;
  return rule;
}

// Reductions ------------------------------------------------------------------------------------------------

namespace {

std::optional<ShardingRule> SplitReduction(ReductionInterface op, int64_t dim,
                                           std::optional<ReduceKind> combine) {
  ShardingRule rule;
  rule.operands = {dim};
  if (llvm::is_contained(op.getReducedDims(), dim)) {
    if (!combine) return std::nullopt;
    rule.results = {kWhole};
    rule.partial = combine;
    return rule;
  }
  int64_t dropped = llvm::count_if(op.getReducedDims(), [&](int64_t d) { return d < dim; });
  rule.results = {dim - dropped};
  return rule;
}

}  // namespace

#define SINTER_SPLIT_REDUCTION(Class, combine)                                           \
  std::optional<ShardingRule> Class::shardAlong(unsigned, int64_t dim) {                 \
    return SplitReduction(llvm::cast<ReductionInterface>(getOperation()), dim, combine); \
  }
SINTER_SPLIT_REDUCTION(SumOp, ReduceKind::sum)
SINTER_SPLIT_REDUCTION(MaxOp, ReduceKind::max)
SINTER_SPLIT_REDUCTION(MinOp, ReduceKind::min)
// Collectives cannot combine these, so they need all elements in one place.
SINTER_SPLIT_REDUCTION(ProdOp, std::nullopt)
SINTER_SPLIT_REDUCTION(AnyOp, std::nullopt)
SINTER_SPLIT_REDUCTION(AllOp, std::nullopt)
SINTER_SPLIT_REDUCTION(ArgmaxOp, std::nullopt)
SINTER_SPLIT_REDUCTION(ArgminOp, std::nullopt)
#undef SINTER_SPLIT_REDUCTION

std::optional<ShardingRule> CumsumOp::shardAlong(unsigned, int64_t dim) {
  if (dim == static_cast<int64_t>(getDim())) return std::nullopt;
  return SplitAll(*this, dim);
}

// Linear ----------------------------------------------------------------------------------------------------

std::optional<ShardingRule> MatmulOp::shardAlong(unsigned operand, int64_t dim) {
  int64_t rank = getA().getType().getRank(), last = rank - 1, next = rank - 2;
  int64_t m = getTransposeA() ? last : next, a_k = getTransposeA() ? next : last;
  int64_t b_k = getTransposeB() ? last : next, n = getTransposeB() ? next : last;
  bool is_addend = getAddend() && operand == getODSOperandIndexAndLength(3).first;
  if (operand >= 2 && !is_addend) return std::nullopt;
  ShardingRule rule;
  int64_t of_addend = kWhole;
  if (dim < next) {  // A batch dimension.
    rule.operands = {dim, dim};
    rule.results = {of_addend = dim};
  } else if ((operand == 0 && dim == m) || (is_addend && dim == next)) {
    rule.operands = {m, kWhole};
    rule.results = {of_addend = next};
  } else if ((operand == 1 && dim == n) || is_addend) {
    if (getBias()) return std::nullopt;
    rule.operands = {kWhole, n};
    rule.results = {of_addend = last};
  } else {  // Partial sums over k, only without bias, addend and activation.
    if (getBias() || getAddend() || getActivation() != Activation::none) return std::nullopt;
    rule.operands = {a_k, b_k};
    rule.results = {kWhole};
    rule.partial = ReduceKind::sum;
  }
  if (getBias()) rule.operands.push_back(kWhole);
  if (getAddend()) rule.operands.push_back(of_addend);
  if (getScale()) rule.operands.push_back(kWhole);
  return rule;
}

namespace {

// True for the dimension of the images. Layout nchw16n has none: its images are in blocks of 16.
bool IsBatch(ImageLayout layout, int64_t dim) { return dim == 0 && layout != ImageLayout::nchw16n; }

std::optional<ShardingRule> SplitImages(mlir::Operation* op, ImageLayout layout, unsigned operand,
                                        int64_t dim) {
  if (operand != 0 || !IsBatch(layout, dim)) return std::nullopt;
  ShardingRule rule;
  rule.operands.assign(op->getNumOperands(), kWhole);
  rule.operands[0] = 0;
  rule.results = {0};
  return rule;
}

std::optional<ShardingRule> SplitPool(mlir::Operation* op, ImageLayout layout, int64_t dim) {
  if (!IsBatch(layout, dim)) return std::nullopt;
  return SplitAll(op, 0);
}

}  // namespace

std::optional<ShardingRule> Conv2dOp::shardAlong(unsigned operand, int64_t dim) {
  return SplitImages(*this, getLayout(), operand, dim);
}
std::optional<ShardingRule> Conv2dInputGradOp::shardAlong(unsigned operand, int64_t dim) {
  return SplitImages(*this, getLayout(), operand, dim);
}
std::optional<ShardingRule> Conv2dWeightGradOp::shardAlong(unsigned, int64_t dim) {
  if (!IsBatch(getLayout(), dim)) return std::nullopt;
  ShardingRule rule;
  rule.operands = {0, 0};
  rule.results = {kWhole};
  rule.partial = ReduceKind::sum;
  return rule;
}
std::optional<ShardingRule> MaxPool2dOp::shardAlong(unsigned, int64_t dim) {
  return SplitPool(*this, getLayout(), dim);
}
std::optional<ShardingRule> MaxPool2dGradOp::shardAlong(unsigned, int64_t dim) {
  return SplitPool(*this, getLayout(), dim);
}
std::optional<ShardingRule> AvgPool2dOp::shardAlong(unsigned, int64_t dim) {
  return SplitPool(*this, getLayout(), dim);
}
std::optional<ShardingRule> AvgPool2dGradOp::shardAlong(unsigned, int64_t dim) {
  return SplitPool(*this, getLayout(), dim);
}

}  // namespace sinter::ir
