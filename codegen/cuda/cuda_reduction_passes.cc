#include "sinter/codegen/cuda/cuda_reduction_passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_printer.h"

namespace sinter::codegen {

namespace scf = mlir::scf;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

constexpr int64_t kUnroll = 4;  // Loads in flight in a reducing loop.

}  // namespace

ReductionPasses::ReductionPasses(CudaThread& t) : ThreadPart(t) {
  if (schedule_.mode == CudaSchedule::Mode::kRow && !schedule_.keeps_row) rescaled_ = FindRescaledSums(job_);
}

Value ReductionPasses::SplitChunk(Value block) {
  const Loop& loop = schedule_.reduced.front();
  chunk_low_ = e_.index(0);
  chunk_high_ = e_.index(loop.size);
  if (job_.kind != Job::Kind::kPartial) return block;
  Value blocks = e_.index(schedule_.blocks / job_.chunks);
  chunk_ = e_.div(block, blocks);
  Value size = e_.index(schedule_.chunk_size);
  chunk_low_ = e_.mul(chunk_, size);
  chunk_high_ = e_.min(e_.add(chunk_low_, size), e_.index(loop.size));
  return e_.rem(block, blocks);
}

// Returns the number of vectors (rows) or positions (columns) in the chunk.
Value ReductionPasses::ReducedVectors() {
  bool rows = schedule_.mode == CudaSchedule::Mode::kRow;
  Value count = e_.max(e_.index(0), e_.sub(chunk_high_, chunk_low_));
  for (const Loop& loop : ArrayRef(schedule_.reduced).drop_front())
    count = e_.mul(count, e_.index(loop.size));
  return rows ? e_.div(count, e_.index(schedule_.vector)) : count;
}

Lanes ReductionPasses::RowLanes(Value vector, Value exists) {
  SmallVector<int64_t> sizes = SizesOf(schedule_.reduced);
  sizes.back() /= schedule_.vector;
  SmallVector<Value> at;
  // The first loop may be a chunk: it takes the rest of the position, without a bound.
  if (sizes.size() == 1) {
    at = {vector};
  } else {
    at = e_.delinearize(vector, sizes);
  }
  Value low = chunk_low_;
  if (sizes.size() == 1) low = e_.div(low, e_.index(schedule_.vector));
  at.front() = e_.add(at.front(), low);
  SmallVector<Value> coords = coords_;
  for (auto [loop, value] : llvm::zip(schedule_.reduced, at)) {
    if (loop.dim >= 0) coords[loop.dim] = value;
  }
  Lanes lanes{{}, exists, Value()};
  int dim = schedule_.reduced.back().dim;
  Value first = e_.mul(at.back(), e_.index(schedule_.vector));
  lanes.index = first;
  for (int64_t j = 0; j < schedule_.vector; ++j) {
    if (dim >= 0) coords[dim] = e_.add(first, e_.index(j));
    lanes.coords.push_back(coords);
  }
  return lanes;
}

Lanes ReductionPasses::ColumnLanes(Value position) {
  SmallVector<Value> at = schedule_.reduced.size() == 1
                              ? SmallVector<Value>{position}
                              : e_.delinearize(position, SizesOf(schedule_.reduced));
  at.front() = e_.add(at.front(), chunk_low_);
  SmallVector<Value> coords = coords_;
  for (auto [loop, value] : llvm::zip(schedule_.reduced, at)) {
    if (loop.dim >= 0) coords[loop.dim] = value;
  }
  int dim = schedule_.parallel.back().dim;
  Value first = coords_[dim];
  Lanes lanes{{}, Value(), at.back()};
  for (int64_t j = 0; j < schedule_.vector; ++j) {
    coords[dim] = e_.add(first, e_.index(j));
    lanes.coords.push_back(coords);
  }
  return lanes;
}

Scalars ReductionPasses::Lift(JobReduction& reduction, ArrayRef<Value> coords, Value index) {
  if (job_.kind == Job::Kind::kCombine) {
    Value rows = e_.index(TripCount(schedule_.parallel));
    Value position = e_.add(e_.mul(index, rows), t_.ParallelPosition(coords));
    Scalars identity = reduction.op.emitIdentity(s_), scalars;
    for (auto [slot, like] : llvm::zip(reduction.partials, identity)) {
      scalars.push_back(e_.Load(t_.RegionOf(slot).pointer, like.type(), position));
      scalars.back().is_unsigned = like.is_unsigned;
    }
    return scalars;
  }
  ArrayRef<int64_t> dims = reduction.op.getReducedDims();
  Value at = dims.empty() ? e_.index(0) : coords[dims.front()];
  return reduction.op.emitLift(s_, e_.element(reduction.operand(), coords), at);
}

std::vector<Scalars> ReductionPasses::Identities(int phase) {
  // In columns each lane is a column with its own accumulators.
  int64_t lanes = schedule_.mode == CudaSchedule::Mode::kColumn ? schedule_.vector : 1;
  std::vector<Scalars> result;
  for (size_t i : ReductionsOf(phase)) {
    for (int64_t j = 0; j < lanes; ++j) result.push_back(job_.reductions[i].op.emitIdentity(s_));
  }
  return result;
}

void ReductionPasses::Accumulate(int phase, const Lanes& lanes, std::vector<Scalars>& accumulators) {
  t_.UseLanes(lanes);
  bool columns = schedule_.mode == CudaSchedule::Mode::kColumn;
  const std::vector<size_t> reductions = ReductionsOf(phase);
  const std::vector<Scalars> before = accumulators;
  size_t at = 0;
  for (size_t i : reductions) {
    if (const RescaledSum* const rescaled = RescaledSumOf(i); rescaled != nullptr) {
      const auto max = static_cast<size_t>(llvm::find(reductions, rescaled->max) - reductions.begin());
      Scalar& sum = accumulators[at++].front();
      Scalar next = AddExponentials(*rescaled, lanes, sum, before[max].front(), accumulators[max].front());
      sum.value = t_.Select(lanes.exists, next.value, sum.value);
      continue;
    }
    JobReduction& reduction = job_.reductions[i];
    for (size_t j = 0; j < lanes.coords.size(); ++j) {
      Scalars& sum = accumulators[columns ? at + j : at];
      Value index = lanes.index && !columns ? e_.add(lanes.index, e_.index(j)) : lanes.index;
      Scalars next = reduction.op.emitCombine(s_, sum, Lift(reduction, lanes.coords[j], index));
      for (auto [old, value] : llvm::zip(sum, next)) {
        value.value = lanes.exists ? t_.Select(lanes.exists, value.value, old.value) : value.value;
      }
      sum = next;
    }
    at += columns ? lanes.coords.size() : 1;
  }
}

std::vector<Scalars> ReductionPasses::ReduceInLoop(int phase, Value first, Value end,
                                                   llvm::function_ref<Lanes(Value)> lanes_at) {
  std::vector<Scalars> accumulators = Identities(phase);
  SmallVector<Value> initial;
  for (const Scalars& scalars : accumulators) {
    for (const Scalar& scalar : scalars) initial.push_back(scalar.value);
  }
  auto loop = b_.create<scf::ForOp>(s_.loc(), first, end, e_.index(schedule_.threads), initial);
  loop->setAttr(kUnrollAttr, b_.getI64IntegerAttr(kUnroll));
  auto spread = [](std::vector<Scalars>& to, mlir::ValueRange values) {
    size_t k = 0;
    for (Scalars& scalars : to) {
      for (Scalar& scalar : scalars) scalar.value = values[k++];
    }
  };
  std::vector<Scalars> results = accumulators;
  {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    if (!loop.getBody()->empty()) b_.setInsertionPoint(loop.getBody()->getTerminator());
    ElementEmitter::Scope scope(e_);
    spread(accumulators, loop.getRegionIterArgs());
    const Lanes lanes = lanes_at(loop.getInductionVar());
    Accumulate(phase, lanes, accumulators);
    t_.StoreFullOutputs(phase, lanes);
    if (!initial.empty()) {
      SmallVector<Value> yielded;
      for (const Scalars& scalars : accumulators) {
        for (const Scalar& scalar : scalars) yielded.push_back(scalar.value);
      }
      b_.create<scf::YieldOp>(s_.loc(), yielded);
    }
  }
  spread(results, loop.getResults());
  return results;
}

// Binds the totals of the phase's reductions as their results, or stores them as a chunk's partial results.
void ReductionPasses::FinishPhase(int phase, ArrayRef<Scalars> totals, ArrayRef<Value> coords, Value writes) {
  Coordinates key;
  for (Value coord : t_.ParallelCoords(coords)) key.push_back(Coordinate::Of(coord));
  for (auto [i, total] : llvm::zip(ReductionsOf(phase), totals)) {
    JobReduction& reduction = job_.reductions[i];
    if (job_.kind != Job::Kind::kPartial) {
      e_.Bind(reduction.result(), key, reduction.op.emitFinish(s_, total));
      continue;
    }
    t_.If(writes, [&, &total = total] {
      Value position =
          e_.add(e_.mul(chunk_, e_.index(TripCount(schedule_.parallel))), t_.ParallelPosition(coords));
      for (auto [slot, scalar] : llvm::zip(reduction.partials, total)) {
        e_.Store(t_.RegionOf(slot).pointer, scalar.type(), position, scalar);
      }
    });
  }
}

std::vector<size_t> ReductionPasses::ReductionsOf(int phase) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < job_.reductions.size(); ++i) {
    const RescaledSum* const rescaled = RescaledSumOf(i);
    if (job_.reductions[rescaled == nullptr ? i : rescaled->max].phase == phase) found.push_back(i);
  }
  return found;
}

const RescaledSum* ReductionPasses::RescaledSumOf(size_t reduction) const {
  const auto* found = llvm::find_if(rescaled_, [&](const RescaledSum& r) { return r.sum == reduction; });
  return found == rescaled_.end() ? nullptr : found;
}

Scalar ReductionPasses::AddExponentials(const RescaledSum& rescaled, const Lanes& lanes, Scalar sum,
                                        Scalar max_before, Scalar max) {
  // If all values are -inf so far, or one is NaN, a base of 0 is right: exp(x) is then 0 or NaN.
  Scalar base = s_.select(s_.gt(max, s_.lowest(max.type())), max, s_.zero(max));
  Scalar scaled = sum * s_.exp(max_before - base);
  ElementEmitter::Scope scope(e_);
  Coordinates row;
  for (Value coord : t_.ParallelCoords(coords_)) row.push_back(Coordinate::Of(coord));
  e_.Bind(job_.reductions[rescaled.max].result(), row, base);
  JobReduction& reduction = job_.reductions[rescaled.sum];
  Scalars total = {scaled};
  for (const auto& coords : lanes.coords) {
    total = reduction.op.emitCombine(s_, total, Lift(reduction, coords, Value()));
  }
  return total.front();
}

}  // namespace sinter::codegen
