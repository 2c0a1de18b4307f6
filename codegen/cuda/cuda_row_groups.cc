// Rows whose columns are summed in the same pass.
// A block processes several rows and keeps a sum for each of its columns in registers. While it computes a
// row, it prefetches the next row to L2, because no registers are left to load that row into. A separate
// launch (kCombine) combines the blocks' sums, in the order of the blocks.
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nest.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace scf = mlir::scf;
using ir::Scalar;
using llvm::SmallVector;
using mlir::Value;

void CudaNest::EmitRowGroup(Value block, Value lane, Value in_block) {
  SINTER_CHECK(schedule_.keeps_row) << "columns are summed where they are kept";
  const int64_t a_block = schedule_.block / schedule_.threads;
  const int64_t vectors =
      llvm::divideCeilSigned(TripCount(schedule_.reduced) / schedule_.vector, schedule_.threads);
  column_sums_.assign(vectors, {});
  for (auto& of_vector : column_sums_) {
    for (JobReduction& reduction : job_.column_reductions) {
      auto& lanes = of_vector.emplace_back();
      for (int64_t j = 0; j < schedule_.vector; ++j) lanes.push_back(reduction.op.emitIdentity(s_));
    }
  }
  auto each = [&](llvm::function_ref<void(Scalar&)> action) {
    for (auto& of_vector : column_sums_) {
      for (auto& lanes : of_vector) {
        for (Scalars& scalars : lanes) llvm::for_each(scalars, action);
      }
    }
  };
  auto set = [&](mlir::ValueRange values) {
    size_t k = 0;
    each([&](Scalar& scalar) { scalar.value = values[k++]; });
  };
  auto get = [&] {
    SmallVector<Value> values;
    each([&](Scalar& scalar) { values.push_back(scalar.value); });
    return values;
  };
  auto loop = b_.create<scf::ForOp>(s_.loc(), e_.mul(block, e_.index(a_block)),
                                    e_.index(TripCount(schedule_.parallel)),
                                    e_.index(schedule_.blocks * a_block), get());
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    ElementEmitter::Scope scope(e_);
    set(loop.getRegionIterArgs());
    Value row = e_.add(loop.getInductionVar(), in_block);
    Value next = e_.add(row, e_.index(schedule_.blocks * a_block));
    If(e_.lt(next, e_.index(TripCount(schedule_.parallel))), [&] { PrefetchRow(lane, next); });
    Value exists = SetRow(row);
    EmitRowPhases(lane, exists);
    // With a single reduction, the next row's result would overwrite shared memory that slower warps may
    // still read.
    if (schedule_.threads > kWarp && job_.reductions.size() == 1) Barrier();
    b_.create<scf::YieldOp>(s_.loc(), get());
  }
  set(loop.getResults());
  StoreColumnSums(block, lane, in_block);
}

std::vector<CudaNest::RowInput> CudaNest::RowInputs() {
  SmallVector<const Trace*> traces;
  for (JobReduction& reduction : job_.reductions) traces.push_back(&reduction.trace);
  for (JobReduction& reduction : job_.column_reductions) traces.push_back(&reduction.trace);
  for (JobOutput& output : job_.full_outputs) traces.push_back(&output.trace);
  const int along = schedule_.reduced.back().dim;
  std::vector<RowInput> found;
  for (const Access& access : DistinctAccesses(traces)) {
    const bool moves = llvm::any_of(schedule_.parallel, [&](const Loop& loop) {
      return access.is_affine && loop.dim >= 0 && access.strides[loop.dim] != 0;
    });
    if (!moves || along < 0 || access.strides[along] != 1) continue;
    const auto* read = llvm::find_if(job_.reads, [&](const auto& r) { return r.first == access.tensor; });
    if (read != job_.reads.end()) found.push_back({place_of_(read->second).pointer, access});
  }
  return found;
}

void CudaNest::PrefetchRow(Value lane, Value row) {
  const SmallVector<Value> here = coords_;
  SetParallel(schedule_.parallel, row);
  const int64_t vectors = TripCount(schedule_.reduced) / schedule_.vector;
  const std::vector<RowInput> inputs = RowInputs();
  for (int64_t k = 0; k < llvm::divideCeilSigned(vectors, schedule_.threads); ++k) {
    Value vector = e_.add(lane, e_.index(k * schedule_.threads));
    if ((k + 1) * schedule_.threads > vectors) vector = e_.min(vector, e_.index(vectors - 1));
    const Lanes lanes = RowLanes(vector, Value());
    for (const auto& [pointer, access] : inputs) {
      Value position = e_.index(access.constant);
      for (auto [coord, stride] : llvm::zip(lanes.coords.front(), access.strides)) {
        if (stride != 0) position = e_.add(position, e_.mul(coord, e_.index(stride)));
      }
      mlir::Type element = llvm::cast<mlir::RankedTensorType>(access.tensor.getType()).getElementType();
      b_.create<mlir::func::CallOp>(s_.loc(), "sn_prefetch", mlir::TypeRange(),
                                    mlir::ValueRange{e_.Address(pointer, element, position)});
    }
  }
  coords_ = here;
}

void CudaNest::StoreColumnSums(Value block, Value lane, Value in_block) {
  const int64_t a_block = schedule_.block / schedule_.threads, columns = TripCount(schedule_.reduced);
  const int64_t vectors = columns / schedule_.vector;
  for (auto [k, of_vector] : llvm::enumerate(column_sums_)) {
    Value vector = e_.add(lane, e_.index(k * schedule_.threads));
    Value writes = a_block > 1 ? e_.lt(in_block, e_.index(1)) : Value();
    if (static_cast<int64_t>(k + 1) * schedule_.threads > vectors)
      writes = And(writes, e_.lt(vector, e_.index(vectors)));
    Value position = e_.add(e_.mul(block, e_.index(columns)), e_.mul(vector, e_.index(schedule_.vector)));
    for (auto [reduction, lanes] : llvm::zip(job_.column_reductions, of_vector)) {
      for (Scalars& sum : lanes) {
        sum = CombineColumn(reduction, sum, in_block, lane, a_block, schedule_.threads);
      }
      If(writes, [&, &reduction = reduction, &lanes = lanes] {
        for (auto [i, slot] : llvm::enumerate(reduction.partials)) {
          Scalars values;
          for (const Scalars& sum : lanes) values.push_back(sum[i]);
          StoreVector(place_of_(slot).pointer, values.front().type(), position, values);
        }
      });
    }
  }
}

void CudaNest::AccumulateColumns(int phase, const Lanes& lanes) {
  for (auto [i, reduction] : llvm::enumerate(job_.column_reductions)) {
    if (reduction.phase != phase) continue;
    for (auto [sum, coords] : llvm::zip(column_sums_[lanes.number][i], lanes.coords)) {
      Scalars next = reduction.op.emitCombine(s_, sum, Lift(reduction, coords, Value()));
      for (auto [old, value] : llvm::zip(sum, next))
        value.value = Select(lanes.exists, value.value, old.value);
      sum = next;
    }
  }
}

}  // namespace sinter::codegen
