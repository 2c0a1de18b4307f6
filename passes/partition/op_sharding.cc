#include "sinter/passes/partition/op_sharding.h"

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::Extent;
using ir::FactorKind;
using ir::Sharding;
using ir::ValueFactors;
using mlir::StringAttr;

bool IsUncut(llvm::ArrayRef<ir::Extent> dim) {
  return llvm::all_of(dim, [](const ir::Extent& extent) { return extent.axes.empty(); });
}

llvm::SmallVector<StringAttr> AxesInOrder(ir::MeshAttr mesh, llvm::ArrayRef<Sharding> shardings) {
  llvm::SmallVector<StringAttr> order(mesh.getNames());
  for (const Sharding& sharding : shardings) {
    for (const auto& dim : sharding.dims) {
      for (const Extent& extent : dim) {
        if (extent.axes.size() < 2) continue;
        // Their places stay, their order becomes the extent's.
        auto next = extent.axes.begin();
        for (StringAttr& axis : order) {
          if (llvm::is_contained(extent.axes, axis)) axis = *next++;
        }
      }
    }
  }
  return order;
}

OpSharding::OpSharding(mlir::Operation* op, ir::MeshAttr mesh)
    : op_(op), mesh_(mesh), rule_(ir::FactorsOf(op)), axes_(rule_.factors.size()) {}

OpSharding OpSharding::Of(mlir::Operation* op, ir::MeshAttr mesh) {
  OpSharding sharding(op, mesh);
  llvm::SmallVector<Sharding> all;
  for (mlir::Value value : op->getOperands()) all.push_back(ir::ShardingOf(value));
  for (mlir::Value value : op->getResults()) all.push_back(ir::ShardingOf(value));
  for (StringAttr axis : AxesInOrder(mesh, all)) {
    std::optional<unsigned> factor;
    llvm::SmallVector<unsigned> terms;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      const Sharding parts = ir::ShardingOf(operand);
      if (parts.isPartialOver(axis)) terms.push_back(i);
      if (!factor && parts.isCutBy(axis)) factor = sharding.factorOf(sharding.rule_.operands[i], parts, axis);
    }
    for (auto [r, result] : llvm::enumerate(op->getResults())) {
      const Sharding parts = ir::ShardingOf(result);
      if (!factor && parts.isCutBy(axis)) factor = sharding.factorOf(sharding.rule_.results[r], parts, axis);
    }
    if (factor) sharding.cut(*factor, axis);
    if (!terms.empty()) sharding.pass(terms, axis);
  }
  return sharding;
}

bool OpSharding::isCut() const {
  return llvm::any_of(axes_, [](const auto& axes) { return !axes.empty(); });
}

bool OpSharding::worksOn(StringAttr axis) const {
  return llvm::any_of(axes_, [&](const auto& axes) { return llvm::is_contained(axes, axis); });
}

std::optional<unsigned> OpSharding::factorAt(unsigned operand, const Sharding& sharding, StringAttr axis) {
  std::optional<unsigned> factor = factorOf(rule_.operands[operand], sharding, axis);
  if (!factor || rule_.factors[*factor].kind == FactorKind::kWhole) return std::nullopt;
  return factor;
}

std::optional<unsigned> OpSharding::factorAtResult(unsigned result, const Sharding& sharding,
                                                   StringAttr axis) {
  std::optional<unsigned> factor = factorOf(rule_.results[result], sharding, axis);
  if (!factor || rule_.factors[*factor].kind == FactorKind::kWhole) return std::nullopt;
  return factor;
}

std::optional<unsigned> OpSharding::factorOf(const ValueFactors& dims, const Sharding& sharding,
                                             StringAttr axis) {
  for (auto [extents, factors] : llvm::zip_equal(sharding.dims, dims)) {
    int64_t outer = 1;
    for (const Extent& extent : extents) {
      if (llvm::is_contained(extent.axes, axis)) return factorFrom(factors, outer, extent);
      outer *= extent.size;
    }
  }
  return std::nullopt;
}

// Finds the factor that begins where the cut extent begins, `outer` iterations of the dimension in, and that
// has as many iterations or is cut evenly too. Axes that cut the factor already cut its outer iterations. A
// larger factor is split where its outer iterations are those of the extent: uneven parts of a batch are cut
// at examples, also where an op has the tokens of all examples as its rows.
std::optional<unsigned> OpSharding::factorFrom(llvm::ArrayRef<unsigned> factors, int64_t outer,
                                               const Extent& extent) {
  const int64_t parts = ir::CountParts(mesh_, extent.axes);
  auto fits = [&](int64_t size) {
    return size == extent.size || (size % parts == 0 && extent.size % parts == 0);
  };
  int64_t before = 1;
  for (unsigned factor : factors) {
    const int64_t size = rule_.factors[factor].size;
    if (before == outer) {
      if (fits(size)) return factor;
      const bool splits = axes_[factor].empty() && extent.size > 1 && size % extent.size == 0 &&
                          ir::SplitFactor(rule_, factor, {extent.size, size / extent.size});
      axes_.resize(rule_.factors.size());
      return splits ? std::optional(factor) : std::nullopt;
    }
    if (outer < before * size) {
      const int64_t skipped = outer / before;
      const bool divides =
          outer % before == 0 && size % skipped == 0 && skipped % ir::CountParts(mesh_, axes_[factor]) == 0;
      if (!divides || !fits(size / skipped)) return std::nullopt;
      if (!ir::SplitFactor(rule_, factor, {skipped, size / skipped})) return std::nullopt;
      axes_.resize(rule_.factors.size());
      return axes_.size() - 1;
    }
    before *= size;
  }
  return std::nullopt;
}

void OpSharding::pass(llvm::ArrayRef<unsigned> operands, StringAttr axis) {
  passing_.push_back(axis);
  terms_.assign(operands.begin(), operands.end());
}

Sharding OpSharding::partsOf(mlir::Value value, const ValueFactors& dims) const {
  Sharding sharding = Sharding::Whole(ir::TypeOf(value));
  for (auto [extents, factors] : llvm::zip_equal(sharding.dims, dims)) {
    if (factors.empty()) continue;
    extents.clear();
    for (unsigned factor : factors) extents.push_back({rule_.factors[factor].size, axes_[factor]});
  }
  return sharding;
}

Sharding OpSharding::operand(unsigned i) const {
  Sharding sharding = partsOf(op_->getOperand(i), rule_.operands[i]);
  if (!passing_.empty() && llvm::is_contained(terms_, i)) {
    sharding.combine = ir::ReduceKind::sum;
    sharding.partial = passing_;
  }
  return sharding.canonical(mesh_);
}

Sharding OpSharding::result(unsigned r) const {
  Sharding sharding = partsOf(op_->getResult(r), rule_.results[r]);
  sharding.partial = passing_;
  if (!passing_.empty()) sharding.combine = ir::ReduceKind::sum;
  for (auto [factor, axes] : llvm::enumerate(axes_)) {
    if (axes.empty() || rule_.resultNames(r, factor)) continue;
    const FactorKind kind = rule_.factors[factor].kind;
    if (kind == FactorKind::kParallel) continue;
    sharding.combine = kind == FactorKind::kMax   ? ir::ReduceKind::max
                       : kind == FactorKind::kMin ? ir::ReduceKind::min
                                                  : ir::ReduceKind::sum;
    sharding.partial.append(axes.begin(), axes.end());
  }
  return sharding.canonical(mesh_);
}

}  // namespace sinter
