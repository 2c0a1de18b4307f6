#include "sinter/codegen/cuda/cuda_rescaled_sums.h"

#include "sinter/codegen/cuda/cuda_nest.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

using ir::Scalar;
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

const RescaledSum* CudaNest::RescaledSumOf(size_t reduction) const {
  const auto* found = llvm::find_if(rescaled_, [&](const RescaledSum& r) { return r.sum == reduction; });
  return found == rescaled_.end() ? nullptr : found;
}

Scalar CudaNest::AddExponentials(const RescaledSum& rescaled, const Lanes& lanes, Scalar sum,
                                 Scalar max_before, Scalar max) {
  // If all values are -inf so far, or one is NaN, a base of 0 is right: exp(x) is then 0 or NaN.
  Scalar base = s_.select(s_.gt(max, s_.lowest(max.type())), max, s_.zero(max));
  Scalar scaled = sum * s_.exp(max_before - base);
  ElementEmitter::Scope scope(e_);
  Coordinates row;
  for (Value coord : ParallelCoords(coords_)) row.push_back(Coordinate::Of(coord));
  e_.Bind(job_.reductions[rescaled.max].result(), row, base);
  JobReduction& reduction = job_.reductions[rescaled.sum];
  Scalars total = {scaled};
  for (const auto& coords : lanes.coords) {
    total = reduction.op.emitCombine(s_, total, Lift(reduction, coords, Value()));
  }
  return total.front();
}

}  // namespace sinter::codegen
