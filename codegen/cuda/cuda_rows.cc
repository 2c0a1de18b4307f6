// Rows: the threads of a row, up to a whole block, share its reduced elements.
//
// With column reductions a block processes several rows, one after the other. While it computes a row, it
// prefetches the next row to L2, because no registers are left to load that row into.
#include <optional>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_column_sums.h"
#include "sinter/codegen/cuda/cuda_nests.h"
#include "sinter/codegen/cuda/gpu_units.h"

namespace sinter::codegen {

namespace scf = mlir::scf;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

class RowNest : private ThreadPart {
 public:
  explicit RowNest(CudaThread& t) : ThreadPart(t), passes_(t), reducer_(t) {}

  void EmitRow(Value block, Value thread);

 private:
  struct RowInput {
    Value pointer;
    Access access;
  };

  // Sets the coordinates of row `row`; returns the condition under which it exists (null: always).
  Value SetRow(Value row);
  void EmitRowPhases(Value lane, Value row_exists);
  // Rows with column reductions: the block's rows one after the other, then their partial results.
  void EmitRowGroup(Value block, Value lane, Value in_block);
  // Combines a phase's reductions over all threads of a row.
  std::vector<Scalars> CombineRows(int phase, const std::vector<Scalars>& sums, Value lane);
  std::vector<RowInput> RowInputs();
  // Prefetches to L2 the thread's part of the inputs that the phases will read of row `row`.
  void PrefetchRow(Value lane, Value row);

  ReductionPasses passes_;
  ThreadReducer reducer_;
  std::optional<ColumnSums> columns_;  // Only with column reductions.
};

void RowNest::EmitRow(Value block, Value thread) {
  block = passes_.SplitChunk(block);
  const int64_t rows_per_block = schedule_.block / schedule_.threads;
  Value lane = thread, in_block = e_.index(0);
  if (rows_per_block > 1) {
    lane = e_.rem(thread, e_.index(schedule_.threads));
    in_block = e_.div(thread, e_.index(schedule_.threads));
  }
  if (!job_.column_reductions.empty()) return EmitRowGroup(block, lane, in_block);
  Value exists = SetRow(e_.add(e_.mul(block, e_.index(rows_per_block)), in_block));
  EmitRowPhases(lane, exists);
}

Value RowNest::SetRow(Value row) {
  const int64_t rows = TripCount(schedule_.parallel);
  Value exists;
  if (rows % (schedule_.block / schedule_.threads) != 0) {
    // All threads of a warp take part in shuffles, so surplus threads compute the last row again without
    // storing it.
    exists = e_.lt(row, e_.index(rows));
    row = e_.min(row, e_.index(rows - 1));
  }
  t_.SetParallel(schedule_.parallel, row);
  return exists;
}

std::vector<Scalars> RowNest::CombineRows(int phase, const std::vector<Scalars>& sums, Value lane) {
  const std::vector<size_t> reductions = passes_.ReductionsOf(phase);
  std::vector<Scalars> totals;
  for (auto [i, sum] : llvm::zip(reductions, sums)) {
    Scalars own = sum;
    if (const RescaledSum* const rescaled = passes_.RescaledSumOf(i); rescaled != nullptr) {
      // NaN if the maximum is -inf, as for x - max(x).
      const auto max = static_cast<size_t>(llvm::find(reductions, rescaled->max) - reductions.begin());
      own.front() = own.front() * s_.exp(sums[max].front() - totals[max].front());
    }
    totals.push_back(reducer_.ReduceRow(job_.reductions[i], own, lane));
  }
  return totals;
}

void RowNest::EmitRowPhases(Value lane, Value row_exists) {
  int64_t vectors = TripCount(schedule_.reduced) / schedule_.vector;
  std::vector<Lanes> kept;
  if (schedule_.keeps_row) {
    for (int64_t k = 0; k < llvm::divideCeilSigned(vectors, schedule_.threads); ++k) {
      Value vector = e_.add(lane, e_.index(k * schedule_.threads)), exists;
      if ((k + 1) * schedule_.threads > vectors) {
        exists = e_.lt(vector, e_.index(vectors));
        vector = e_.min(vector, e_.index(vectors - 1));
      }
      kept.push_back(passes_.RowLanes(vector, exists));
      kept.back().number = k;
    }
  }
  Value writes = t_.And(row_exists, schedule_.threads == 1 ? Value() : e_.lt(lane, e_.index(1)));
  for (int phase = 0; phase < job_.phases(); ++phase) {
    const bool is_rescaled = llvm::any_of(
        passes_.rescaled(), [&](const RescaledSum& r) { return job_.reductions[r.sum].phase == phase; });
    if (is_rescaled) continue;
    std::vector<Scalars> sums;
    if (schedule_.keeps_row) {
      sums = passes_.Identities(phase);
      for (const Lanes& lanes : kept) {
        // The row's existence matters only for stores.
        Lanes stored = lanes;
        stored.exists = t_.And(lanes.exists, row_exists);
        passes_.Accumulate(phase, stored, sums);
        if (columns_) columns_->Accumulate(phase, stored);
        t_.StoreFullOutputs(phase, stored);
      }
    } else {
      // Rows that are read again should stay in the caches until then.
      const bool is_last = phase > 0 && phase + 1 == job_.phases();
      e_.SetLastReads(is_last);
      t_.SetStreamingStores(is_last);
      sums = passes_.ReduceInLoop(phase, lane, passes_.ReducedVectors(),
                                  [&](Value vector) { return passes_.RowLanes(vector, row_exists); });
      e_.SetLastReads(false);
      t_.SetStreamingStores(false);
    }
    passes_.FinishPhase(phase, CombineRows(phase, sums, lane), coords_, writes);
  }
  if (job_.kind != Job::Kind::kPartial) t_.EmitReducedOutputs(coords_, writes);
}

void RowNest::EmitRowGroup(Value block, Value lane, Value in_block) {
  const int64_t rows_per_block = schedule_.block / schedule_.threads;
  columns_.emplace(t_, passes_, reducer_);
  auto loop = b_.create<scf::ForOp>(s_.loc(), e_.mul(block, e_.index(rows_per_block)),
                                    e_.index(TripCount(schedule_.parallel)),
                                    e_.index(schedule_.blocks * rows_per_block), columns_->Values());
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    ElementEmitter::Scope scope(e_);
    columns_->SetValues(loop.getRegionIterArgs());
    Value row = e_.add(loop.getInductionVar(), in_block);
    Value next = e_.add(row, e_.index(schedule_.blocks * rows_per_block));
    t_.If(e_.lt(next, e_.index(TripCount(schedule_.parallel))), [&] { PrefetchRow(lane, next); });
    Value exists = SetRow(row);
    EmitRowPhases(lane, exists);
    // With a single reduction, the next row's result would overwrite shared memory that slower warps may
    // still read.
    if (schedule_.threads > kWarp && job_.reductions.size() == 1) t_.Barrier();
    b_.create<scf::YieldOp>(s_.loc(), columns_->Values());
  }
  columns_->SetValues(loop.getResults());
  columns_->Store(block, lane, in_block);
}

std::vector<RowNest::RowInput> RowNest::RowInputs() {
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
    if (read != job_.reads.end()) found.push_back({t_.RegionOf(read->second).pointer, access});
  }
  return found;
}

void RowNest::PrefetchRow(Value lane, Value row) {
  const SmallVector<Value> here = coords_;
  t_.SetParallel(schedule_.parallel, row);
  const int64_t vectors = TripCount(schedule_.reduced) / schedule_.vector;
  const std::vector<RowInput> inputs = RowInputs();
  for (int64_t k = 0; k < llvm::divideCeilSigned(vectors, schedule_.threads); ++k) {
    Value vector = e_.add(lane, e_.index(k * schedule_.threads));
    if ((k + 1) * schedule_.threads > vectors) vector = e_.min(vector, e_.index(vectors - 1));
    const Lanes lanes = passes_.RowLanes(vector, Value());
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

}  // namespace

void EmitRows(CudaThread& t, Value block, Value thread) { RowNest(t).EmitRow(block, thread); }

}  // namespace sinter::codegen
