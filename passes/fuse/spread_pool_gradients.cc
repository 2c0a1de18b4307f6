#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_SPREADPOOLGRADIENTS
#include "passes/passes.h.inc"

using ir::Expr;
using mlir::Operation;

namespace {

bool CanSpread(ir::AvgPool2dGradOp op) {
  if (!ir::TargetModel::Of(op.getOperation()).recomputes_cheap_values || op->use_empty()) return false;
  if (op.getLayout() == ir::ImageLayout::nchw16n || op.getType().getNumElements() == 0) return false;
  const bool side_by_side = op.getWindow() == op.getStrides() &&
                            llvm::all_of(op.getPadding(), [](int64_t padding) { return padding == 0; });
  return side_by_side && llvm::all_of(op->getUsers(), [](Operation* user) {
           return llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(user) &&
                  !llvm::isa<ir::ReshapeOp>(user);
         });
}

// g / (elements of a window), repeated along both image dimensions; zeros where no window reaches.
Expr Spread(ir::GraphBuilder& b, ir::AvgPool2dGradOp op) {
  llvm::ArrayRef<int64_t> window = op.getWindow(), from = op.getG().getType().getShape(),
                          to = op.getType().getShape();
  const size_t rows = op.getLayout() == ir::ImageLayout::nhwc ? 1 : 2;
  llvm::SmallVector<int64_t> repeated, dims, spread(from), low(from.size(), 0), high(from.size(), 0);
  for (size_t d = 0; d < from.size(); ++d) {
    dims.push_back(static_cast<int64_t>(repeated.size()));
    repeated.push_back(from[d]);
    if (d != rows && d != rows + 1) continue;
    repeated.push_back(window[d - rows]);
    spread[d] = from[d] * window[d - rows];
    high[d] = to[d] - spread[d];
  }
  Expr x = b.reshape(b.broadcast(b.wrap(op.getG()), repeated, dims), spread);
  if (llvm::ArrayRef<int64_t>(spread) != to) x = b.pad(x, low, high, low, 0);
  return x / static_cast<double>(window[0] * window[1]);
}

class SpreadPoolGradientsPass : public impl::SpreadPoolGradientsBase<SpreadPoolGradientsPass> {
 public:
  using SpreadPoolGradientsBase::SpreadPoolGradientsBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::AvgPool2dGradOp> ops;
    getOperation().walk([&](ir::AvgPool2dGradOp op) { ops.push_back(op); });
    for (ir::AvgPool2dGradOp op : ops) {
      if (!CanSpread(op)) continue;
      ir::PlacedBuilder at(op, ir::ConstantPlaces::kSet);
      ir::GraphBuilder b(at, op.getLoc());
      op.getResult().replaceAllUsesWith(Spread(b, op).value);
      op.erase();
    }
  }
};

}  // namespace
}  // namespace sinter
