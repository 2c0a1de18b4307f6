// Columns: threads lie along the last parallel loop, several of them along the reduced loops.
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/cuda_nests.h"
#include "sinter/codegen/cuda/cuda_reduction_passes.h"
#include "sinter/codegen/cuda/cuda_thread_reducer.h"

namespace sinter::codegen {

using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

void EmitColumns(CudaThread& t, Value block, Value thread) {
  const CudaSchedule& schedule = t.schedule();
  LaneEmitter& e = t.e();
  SmallVector<Value>& coords = t.coords();
  ReductionPasses passes(t);
  ThreadReducer reducer(t);
  block = passes.SplitChunk(block);
  const Loop& inner = schedule.parallel.back();
  Value column = e.rem(thread, e.index(schedule.width)), row = e.div(thread, e.index(schedule.width));
  int64_t vectors = inner.size / schedule.vector, tiles = llvm::divideCeilSigned(vectors, schedule.width);
  t.SetParallel(ArrayRef(schedule.parallel).drop_back(), e.div(block, e.index(tiles)));
  Value vector = e.add(e.mul(e.rem(block, e.index(tiles)), e.index(schedule.width)), column), exists;
  if (vectors % schedule.width != 0) {
    exists = e.lt(vector, e.index(vectors));
    vector = e.min(vector, e.index(vectors - 1));
  }
  Value first = e.mul(vector, e.index(schedule.vector));
  coords[inner.dim] = first;
  // The columns' coordinates, lane by lane: they do not depend on the reduced position.
  std::vector<SmallVector<Value>> columns;
  for (int64_t j = 0; j < schedule.vector; ++j) {
    columns.push_back(coords);
    columns.back()[inner.dim] = e.add(first, e.index(j));
  }
  Value writes = t.And(exists, e.lt(row, e.index(1)));
  for (int phase = 0; phase < t.job().phases(); ++phase) {
    auto lanes_at = [&](Value position) {
      Lanes lanes = passes.ColumnLanes(position);
      for (auto [at, own] : llvm::zip(lanes.coords, columns)) at[inner.dim] = own[inner.dim];
      lanes.exists = exists;
      return lanes;
    };
    std::vector<Scalars> sums = passes.ReduceInLoop(phase, row, passes.ReducedVectors(), lanes_at);
    std::vector<std::vector<Scalars>> totals(schedule.vector);
    size_t k = 0;
    for (size_t i : passes.ReductionsOf(phase)) {
      for (int64_t j = 0; j < schedule.vector; ++j) {
        totals[j].push_back(reducer.ReduceColumn(t.job().reductions[i], sums[k++], row, column,
                                                 schedule.threads, schedule.width));
      }
    }
    for (auto [total, at] : llvm::zip(totals, columns)) passes.FinishPhase(phase, total, at, writes);
  }
  if (t.job().kind == Job::Kind::kPartial) return;
  for (const auto& at : columns) t.EmitReducedOutputs(at, writes);
}

}  // namespace sinter::codegen
