#include "sinter/passes/partition/rank_set.h"

#include <set>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using mlir::StringAttr;

namespace {

// The coordinates of each axis at which the sizes of parts change.
class Breaks {
 public:
  explicit Breaks(ir::MeshAttr mesh) : mesh_(mesh), breaks_(mesh.getSizes().size()) {
    for (auto [axis, size] : llvm::enumerate(mesh.getSizes())) breaks_[axis] = {0, size};
  }

  mlir::LogicalResult add(mlir::Location loc, int64_t extent, llvm::ArrayRef<StringAttr> axes) {
    const int64_t parts = ir::CountParts(mesh_, axes), larger = extent % parts;
    if (larger == 0) return mlir::success();
    if (axes.size() == 1) {
      breaks_[*mesh_.find(axes[0])].insert(larger);
      return mlir::success();
    }
    return mlir::emitError(loc) << axes.size() << " axes of the mesh cut a dimension of " << extent << " in "
                                << parts
                                << " parts, which do not divide it; choose sizes that do, or cut by one axis";
  }

  // All combinations of the axes' ranges.
  llvm::SmallVector<RankSet> sets() const {
    llvm::SmallVector<llvm::SmallVector<RankSet::Range>> all = {{}};
    for (const std::set<int64_t>& breaks : breaks_) {
      llvm::SmallVector<llvm::SmallVector<RankSet::Range>> longer;
      for (const auto& ranges : all) {
        for (auto at = breaks.begin(); std::next(at) != breaks.end(); ++at) {
          longer.push_back(ranges);
          longer.back().push_back({*at, *std::next(at)});
        }
      }
      all = std::move(longer);
    }
    return llvm::map_to_vector(all, [&](const auto& ranges) { return RankSet(mesh_, ranges); });
  }

 private:
  ir::MeshAttr mesh_;
  llvm::SmallVector<std::set<int64_t>> breaks_;
};

}  // namespace

int64_t RankSet::sizeOf(int64_t extent, llvm::ArrayRef<StringAttr> axes) const {
  const int64_t parts = ir::CountParts(mesh_, axes), larger = extent % parts;
  const bool has_more = larger > 0 && ranges_[*mesh_.find(axes[0])].begin < larger;
  return extent / parts + (has_more ? 1 : 0);
}

RankNumber RankSet::firstOf(int64_t extent, llvm::ArrayRef<StringAttr> axes) const {
  const int64_t size = sizeOf(extent, axes), larger = extent % ir::CountParts(mesh_, axes);
  RankNumber first{0, llvm::SmallVector<int64_t>(mesh_.getSizes().size(), 0)};
  int64_t stride = size;
  for (StringAttr axis : llvm::reverse(axes)) {
    const size_t position = *mesh_.find(axis);
    first.strides[position] = stride;
    stride *= mesh_.getSizes()[position];
  }
  // The larger parts before the smaller ones.
  const bool is_smaller = larger > 0 && ranges_[*mesh_.find(axes[0])].begin >= larger;
  if (is_smaller) first.constant = larger;
  return first;
}

mlir::RankedTensorType RankSet::localType(mlir::RankedTensorType type, const ir::Sharding& sharding) const {
  llvm::SmallVector<int64_t> shape;
  for (const auto& dim : sharding.dims) {
    int64_t& size = shape.emplace_back(1);
    for (const ir::Extent& extent : dim) {
      size *= extent.axes.empty() ? extent.size : sizeOf(extent.size, extent.axes);
    }
  }
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

mlir::FailureOr<llvm::SmallVector<RankSet>> RankSetsOf(mlir::func::FuncOp function, ir::MeshAttr mesh) {
  Breaks breaks(mesh);
  auto add = [&](mlir::Value value) {
    for (const auto& dim : ir::ShardingOf(value).dims) {
      for (const ir::Extent& extent : dim) {
        if (mlir::failed(breaks.add(value.getLoc(), extent.size, extent.axes))) return mlir::failure();
      }
    }
    return mlir::success();
  };
  for (mlir::Value argument : function.getArguments()) {
    if (mlir::failed(add(argument))) return mlir::failure();
  }
  for (mlir::Operation& op : function.getBody().front().without_terminator()) {
    for (mlir::Value result : op.getResults()) {
      if (mlir::failed(add(result))) return mlir::failure();
    }
    if (llvm::isa<ir::ReshardOp>(op)) continue;
    const OpSharding sharding = OpSharding::Of(&op, mesh);
    for (auto [f, factor] : llvm::enumerate(sharding.rule().factors)) {
      if (mlir::failed(breaks.add(op.getLoc(), factor.size, sharding.axesOf(f)))) return mlir::failure();
    }
  }
  return breaks.sets();
}

}  // namespace sinter
