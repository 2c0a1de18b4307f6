#include "sinter/codegen/cuda/cuda_rescaled_sums.h"

#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

using llvm::SmallVector;
using mlir::Value;

namespace {

// Removes broadcasts and reshapes.
Value WithoutSpreading(Value value) {
  for (;;) {
    if (auto broadcast = value.getDefiningOp<ir::BroadcastOp>()) {
      value = broadcast.getX();
    } else if (auto reshape = value.getDefiningOp<ir::ReshapeOp>()) {
      value = reshape.getX();
    } else {
      return value;
    }
  }
}

// Positions need no check: a job reads a result of its own reductions only at the same row.
bool SumsExponentialsBehind(mlir::Operation* sum, mlir::Operation* max) {
  auto sum_op = llvm::dyn_cast<ir::SumOp>(sum);
  auto max_op = llvm::dyn_cast<ir::MaxOp>(max);
  if (!sum_op || !max_op) return false;
  auto exp = sum_op.getX().getDefiningOp<ir::ExpOp>();
  auto difference = exp ? exp.getX().getDefiningOp<ir::SubOp>() : ir::SubOp();
  if (!difference || difference.getX() != max_op.getX()) return false;
  // Narrower types round the difference and the exponential.
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(exp.getType()).getElementType();
  return (element.isF32() || element.isF64()) && WithoutSpreading(difference.getY()) == max_op.getResult();
}

}  // namespace

SmallVector<RescaledSum> FindRescaledSums(Job& job) {
  SmallVector<RescaledSum> found;
  if (job.kind != Job::Kind::kWhole) return found;
  for (int phase = 1; phase < job.phases(); ++phase) {
    SmallVector<RescaledSum> of_phase;
    bool vanishes = true;
    for (auto [i, reduction] : llvm::enumerate(job.reductions)) {
      if (reduction.phase != phase) continue;
      const size_t before = of_phase.size();
      for (size_t j = 0; j < i && of_phase.size() == before; ++j) {
        if (job.reductions[j].phase + 1 != phase) continue;
        if (SumsExponentialsBehind(reduction.op, job.reductions[j].op)) of_phase.push_back({i, j});
      }
      vanishes = vanishes && of_phase.size() > before;
    }
    const auto is_here = [phase](const auto& of_row) { return of_row.phase == phase; };
    vanishes = vanishes && !llvm::any_of(job.full_outputs, is_here);
    vanishes = vanishes && !llvm::any_of(job.column_reductions, is_here);
    if (vanishes) found.append(of_phase);
  }
  return found;
}

}  // namespace sinter::codegen
