#include "sinter/codegen/cuda/cuda_column_sums.h"

#include "llvm/Support/MathExtras.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using ir::Scalar;
using llvm::SmallVector;
using mlir::Value;

ColumnSums::ColumnSums(CudaThread& t, ReductionPasses& passes, ThreadReducer& reducer)
    : ThreadPart(t), passes_(passes), reducer_(reducer) {
  SINTER_CHECK(schedule_.keeps_row) << "columns are summed where they are kept";
  const int64_t vectors =
      llvm::divideCeilSigned(TripCount(schedule_.reduced) / schedule_.vector, schedule_.threads);
  column_sums_.assign(vectors, {});
  for (auto& of_vector : column_sums_) {
    for (JobReduction& reduction : job_.column_reductions) {
      auto& lanes = of_vector.emplace_back();
      for (int64_t j = 0; j < schedule_.vector; ++j) lanes.push_back(reduction.op.emitIdentity(s_));
    }
  }
}

void ColumnSums::ForEach(llvm::function_ref<void(Scalar&)> action) {
  for (auto& of_vector : column_sums_) {
    for (auto& lanes : of_vector) {
      for (Scalars& scalars : lanes) llvm::for_each(scalars, action);
    }
  }
}

SmallVector<Value> ColumnSums::Values() {
  SmallVector<Value> values;
  ForEach([&](Scalar& scalar) { values.push_back(scalar.value); });
  return values;
}

void ColumnSums::SetValues(mlir::ValueRange values) {
  size_t k = 0;
  ForEach([&](Scalar& scalar) { scalar.value = values[k++]; });
}

void ColumnSums::Accumulate(int phase, const Lanes& lanes) {
  for (auto [i, reduction] : llvm::enumerate(job_.column_reductions)) {
    if (reduction.phase != phase) continue;
    for (auto [sum, coords] : llvm::zip(column_sums_[lanes.number][i], lanes.coords)) {
      Scalars next = reduction.op.emitCombine(s_, sum, passes_.Lift(reduction, coords, Value()));
      for (auto [old, value] : llvm::zip(sum, next))
        value.value = t_.Select(lanes.exists, value.value, old.value);
      sum = next;
    }
  }
}

void ColumnSums::Store(Value block, Value lane, Value in_block) {
  const int64_t a_block = schedule_.block / schedule_.threads, columns = TripCount(schedule_.reduced);
  const int64_t vectors = columns / schedule_.vector;
  for (auto [k, of_vector] : llvm::enumerate(column_sums_)) {
    Value vector = e_.add(lane, e_.index(k * schedule_.threads));
    Value writes = a_block > 1 ? e_.lt(in_block, e_.index(1)) : Value();
    if (static_cast<int64_t>(k + 1) * schedule_.threads > vectors)
      writes = t_.And(writes, e_.lt(vector, e_.index(vectors)));
    Value position = e_.add(e_.mul(block, e_.index(columns)), e_.mul(vector, e_.index(schedule_.vector)));
    for (auto [reduction, lanes] : llvm::zip(job_.column_reductions, of_vector)) {
      for (Scalars& sum : lanes) {
        sum = reducer_.ReduceColumn(reduction, sum, in_block, lane, a_block, schedule_.threads);
      }
      t_.If(writes, [&, &reduction = reduction, &lanes = lanes] {
        for (auto [i, slot] : llvm::enumerate(reduction.partials)) {
          Scalars values;
          for (const Scalars& sum : lanes) values.push_back(sum[i]);
          t_.StoreVector(t_.RegionOf(slot).pointer, values.front().type(), position, values);
        }
      });
    }
  }
}

}  // namespace sinter::codegen
