#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/passes/joined_calls.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_CONCATALONGFIRST
#include "passes/passes.h.inc"

namespace {

void MoveDimToFront(ir::ConcatOp op) {
  ir::PlacedBuilder at(op);
  ir::GraphBuilder b(at, op.getLoc());
  const int64_t dim = op.getDim(), rank = op.getType().getRank();
  llvm::SmallVector<int64_t> to_front = {dim}, back;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim) to_front.push_back(d);
    back.push_back(d == dim ? 0 : d < dim ? d + 1 : d);
  }
  llvm::SmallVector<ir::Expr> parts;
  for (mlir::Value part : op.getXs()) parts.push_back(b.transpose(b.wrap(part), to_front));
  op.replaceAllUsesWith(b.transpose(b.concat(parts, 0), back).value);
  op.erase();
}

class ConcatAlongFirstPass : public impl::ConcatAlongFirstBase<ConcatAlongFirstPass> {
 public:
  using ConcatAlongFirstBase::ConcatAlongFirstBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::ConcatOp> concats;
    getOperation().walk([&](ir::ConcatOp op) {
      if (IsWide(op) && !IsOneBehindTheOther(op)) concats.push_back(op);
    });
    for (ir::ConcatOp op : concats) MoveDimToFront(op);
  }
};

}  // namespace
}  // namespace sinter
