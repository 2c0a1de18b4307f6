#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/partition/local_function.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_LOCALISE
#include "passes/passes.h.inc"

namespace {

using mlir::func::FuncOp;

class LocalisePass : public impl::LocaliseBase<LocalisePass> {
 public:
  using LocaliseBase::LocaliseBase;

  void runOnOperation() override {
    settings_ = {.mesh = ir::MeshOf(getOperation()),
                 .bucket_bytes = bucketBytes,
                 .copied_sum_bytes = copiedSumBytes,
                 .report = report};
    if (!settings_.mesh) return;
    for (auto variable : getOperation().getOps<ir::VariableOp>()) localise(variable);
    for (FuncOp function : llvm::make_early_inc_range(getOperation().getOps<FuncOp>())) {
      // The gradient of a user's kernel never runs itself.
      if (!function.isPrivate() && mlir::failed(localise(function))) return signalPassFailure();
    }
  }

 private:
  void localise(ir::VariableOp variable) {
    auto attribute = variable->getAttrOfType<ir::ShardingAttr>(ir::kShardingAttr);
    if (!attribute) return;
    ir::Sharding sharding = ir::Sharding::Of(attribute);
    if (!sharding.partial.empty()) {
      const llvm::SmallVector<mlir::Attribute> axes(sharding.partial.begin(), sharding.partial.end());
      variable->setAttr(ir::kSumAxesAttr, mlir::ArrayAttr::get(&getContext(), axes));
      sharding.partial.clear();
    }
    if (!sharding.isWhole()) setBox(variable, sharding);
    for (llvm::StringLiteral name : {ir::kShardingAttr, ir::kStoredAttr}) variable->removeAttr(name);
  }

  // A variable gets the type of a rank's part. All parts are equal.
  void setBox(ir::VariableOp variable, const ir::Sharding& sharding) {
    llvm::SmallVector<RankSet::Range> all;
    for (int64_t size : settings_.mesh.getSizes()) all.push_back({0, size});
    const RankSet ranks(settings_.mesh, all);
    const auto whole = llvm::cast<mlir::RankedTensorType>(variable.getType());
    llvm::SmallVector<int64_t> extents, sizes;
    llvm::SmallVector<mlir::DenseI64ArrayAttr> firsts;
    for (const auto& dim : sharding.dims) {
      for (const ir::Extent& extent : dim) {
        extents.push_back(extent.size);
        sizes.push_back(extent.axes.empty() ? extent.size : ranks.sizeOf(extent.size, extent.axes));
        llvm::SmallVector<int64_t> first;
        if (!extent.axes.empty()) {
          const RankNumber number = ranks.firstOf(extent.size, extent.axes);
          first.push_back(number.constant);
          first.append(number.strides);
        }
        firsts.push_back(mlir::DenseI64ArrayAttr::get(&getContext(), first));
      }
    }
    variable->setAttr(ir::kBoxAttr, ir::BoxAttr::get(&getContext(), whole, extents, sizes, firsts));
    variable.setTypeAttr(mlir::TypeAttr::get(ranks.localType(whole, sharding)));
  }

  mlir::LogicalResult localise(FuncOp function) {
    mlir::FailureOr<llvm::SmallVector<RankSet>> sets = RankSetsOf(function, settings_.mesh);
    if (mlir::failed(sets) || mlir::failed(checkTerms(function))) return mlir::failure();
    const std::string name = function.getSymName().str();
    for (auto [i, ranks] : llvm::enumerate(*sets)) {
      FuncOp local = LocalFunction(function, settings_, ranks).build();
      if (sets->size() > 1) setRanks(local, name, i, ranks);
    }
    function.erase();
    return mlir::success();
  }

  // A value that is whole is a term of a sum on the first rank, beside zeros. Other terms have no zero.
  static mlir::LogicalResult checkTerms(FuncOp function) {
    mlir::WalkResult walk = function.walk([](ir::ReshardOp op) {
      const ir::Sharding from = ir::ShardingOf(op.getX()), to = ir::ShardingOf(op);
      for (mlir::StringAttr axis : to.partial) {
        if (to.combine == ir::ReduceKind::sum || (from.isPartialOver(axis) && from.combine == to.combine)) {
          continue;
        }
        op.emitOpError() << "makes terms of a " << ir::stringifyReduceKind(*to.combine) << " over axis "
                         << axis << " of a value that its ranks have as " << from.text()
                         << "; expected such terms, or a sum";
        return mlir::WalkResult::interrupt();
      }
      return mlir::WalkResult::advance();
    });
    return mlir::failure(walk.wasInterrupted());
  }

  void setRanks(FuncOp variant, const std::string& name, size_t number, const RankSet& ranks) {
    variant.setSymName(name + "#" + std::to_string(number));
    variant->setAttr(ir::kVariantOfAttr, mlir::StringAttr::get(&getContext(), name));
    llvm::SmallVector<int64_t> box;
    for (const RankSet::Range& range : ranks.ranges()) box.append({range.begin, range.end});
    variant->setAttr(ir::kRanksAttr, mlir::DenseI64ArrayAttr::get(&getContext(), box));
  }

  LocalSettings settings_;
};

}  // namespace
}  // namespace sinter
