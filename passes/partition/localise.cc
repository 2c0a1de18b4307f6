#include "sinter/ir/dialect/mesh.h"
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
    settings_ = {.mesh = ir::MeshOf(getOperation()), .bucket_bytes = bucketBytes, .report = report};
    if (!settings_.mesh) return;
    for (FuncOp function : llvm::make_early_inc_range(getOperation().getOps<FuncOp>())) {
      // The gradient of a user's kernel never runs itself.
      if (!function.isPrivate() && mlir::failed(localise(function))) return signalPassFailure();
    }
  }

 private:
  mlir::LogicalResult localise(FuncOp function) {
    mlir::FailureOr<llvm::SmallVector<RankSet>> sets = RankSetsOf(function, settings_.mesh);
    if (mlir::failed(sets)) return mlir::failure();
    const std::string name = function.getSymName().str();
    for (auto [i, ranks] : llvm::enumerate(*sets)) {
      FuncOp local = LocalFunction(function, settings_, ranks).build();
      if (sets->size() > 1) setRanks(local, name, i, ranks);
    }
    function.erase();
    return mlir::success();
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
