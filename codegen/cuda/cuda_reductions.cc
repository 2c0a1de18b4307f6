// Rows and columns: how a block's threads share reductions.
#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nest.h"
#include "sinter/codegen/cuda/cuda_printer.h"
#include "sinter/codegen/cuda/gpu_units.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
namespace scf = mlir::scf;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

constexpr int64_t kUnroll = 4;  // Loads in flight in a reducing loop.

}  // namespace

Value CudaNest::SplitChunk(Value block) {
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
Value CudaNest::ReducedVectors() {
  bool rows = schedule_.mode == CudaSchedule::Mode::kRow;
  Value count = e_.max(e_.index(0), e_.sub(chunk_high_, chunk_low_));
  for (const Loop& loop : ArrayRef(schedule_.reduced).drop_front())
    count = e_.mul(count, e_.index(loop.size));
  return rows ? e_.div(count, e_.index(schedule_.vector)) : count;
}

CudaNest::Lanes CudaNest::RowLanes(Value vector, Value exists) {
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

CudaNest::Lanes CudaNest::ColumnLanes(Value position) {
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

CudaNest::Scalars CudaNest::Lift(JobReduction& reduction, ArrayRef<Value> coords, Value index) {
  if (job_.kind == Job::Kind::kCombine) {
    Value rows = e_.index(TripCount(schedule_.parallel));
    Value position = e_.add(e_.mul(index, rows), ParallelPosition(coords));
    Scalars identity = reduction.op.emitIdentity(s_), scalars;
    for (auto [slot, like] : llvm::zip(reduction.partials, identity)) {
      scalars.push_back(e_.Load(place_of_(slot).pointer, like.type(), position));
      scalars.back().is_unsigned = like.is_unsigned;
    }
    return scalars;
  }
  ArrayRef<int64_t> dims = reduction.op.getReducedDims();
  Value at = dims.empty() ? e_.index(0) : coords[dims.front()];
  return reduction.op.emitLift(s_, e_.element(reduction.operand(), coords), at);
}

std::vector<CudaNest::Scalars> CudaNest::Identities(int phase) {
  // In columns each lane is a column with its own accumulators.
  int64_t lanes = schedule_.mode == CudaSchedule::Mode::kColumn ? schedule_.vector : 1;
  std::vector<Scalars> result;
  for (size_t i : ReductionsOf(phase)) {
    for (int64_t j = 0; j < lanes; ++j) result.push_back(job_.reductions[i].op.emitIdentity(s_));
  }
  return result;
}

void CudaNest::Accumulate(int phase, const Lanes& lanes, std::vector<Scalars>& accumulators) {
  UseLanes(lanes);
  bool columns = schedule_.mode == CudaSchedule::Mode::kColumn;
  const std::vector<size_t> reductions = ReductionsOf(phase);
  const std::vector<Scalars> before = accumulators;
  size_t at = 0;
  for (size_t i : reductions) {
    if (const RescaledSum* const rescaled = RescaledSumOf(i); rescaled != nullptr) {
      const auto max = static_cast<size_t>(llvm::find(reductions, rescaled->max) - reductions.begin());
      Scalar& sum = accumulators[at++].front();
      Scalar next = AddExponentials(*rescaled, lanes, sum, before[max].front(), accumulators[max].front());
      sum.value = Select(lanes.exists, next.value, sum.value);
      continue;
    }
    JobReduction& reduction = job_.reductions[i];
    for (size_t j = 0; j < lanes.coords.size(); ++j) {
      Scalars& sum = accumulators[columns ? at + j : at];
      Value index = lanes.index && !columns ? e_.add(lanes.index, e_.index(j)) : lanes.index;
      Scalars next = reduction.op.emitCombine(s_, sum, Lift(reduction, lanes.coords[j], index));
      for (auto [old, value] : llvm::zip(sum, next)) {
        value.value = lanes.exists ? Select(lanes.exists, value.value, old.value) : value.value;
      }
      sum = next;
    }
    at += columns ? lanes.coords.size() : 1;
  }
  AccumulateColumns(phase, lanes);
  StoreFullOutputs(phase, lanes);
}

std::vector<CudaNest::Scalars> CudaNest::ReduceInLoop(int phase, Value first, Value end,
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
    Accumulate(phase, lanes_at(loop.getInductionVar()), accumulators);
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
void CudaNest::FinishPhase(int phase, ArrayRef<Scalars> totals, ArrayRef<Value> coords, Value writes) {
  Coordinates key;
  for (Value coord : ParallelCoords(coords)) key.push_back(Coordinate::Of(coord));
  for (auto [i, total] : llvm::zip(ReductionsOf(phase), totals)) {
    JobReduction& reduction = job_.reductions[i];
    if (job_.kind != Job::Kind::kPartial) {
      e_.Bind(reduction.result(), key, reduction.op.emitFinish(s_, total));
      continue;
    }
    If(writes, [&, &total = total] {
      Value position =
          e_.add(e_.mul(chunk_, e_.index(TripCount(schedule_.parallel))), ParallelPosition(coords));
      for (auto [slot, scalar] : llvm::zip(reduction.partials, total)) {
        e_.Store(place_of_(slot).pointer, scalar.type(), position, scalar);
      }
    });
  }
}

// Across threads --------------------------------------------------------------------------------

SmallVector<Value> CudaNest::SharedArrays(ArrayRef<Scalar> like, int64_t size) {
  SmallVector<Value> arrays;
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext(), kSharedSpace);
  Value count = b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(size));
  for (const Scalar& scalar : like) {
    mlir::Type stored = e_.StoredType(scalar.type());
    arrays.push_back(b_.create<LLVM::AllocaOp>(s_.loc(), pointer, stored, count));
  }
  return arrays;
}

CudaNest::Scalars CudaNest::CombineWarp(JobReduction& reduction, Scalars scalars, int64_t width, Value lane) {
  for (int64_t mask = width / 2; mask > 0; mask /= 2) {
    Scalars other;
    for (Scalar x : scalars) other.push_back(ShuffleXor(x, mask));
    if (scalars.size() > 1) {
      // The lower lane's value comes first, so that all lanes compute the same bits.
      Value bit = e_.rem(e_.div(lane, e_.index(mask)), e_.index(2));
      Value is_upper = e_.ge(bit, e_.index(1));
      for (auto [x, y] : llvm::zip(scalars, other)) {
        Value mine = x.value;
        x.value = Select(is_upper, y.value, mine);
        y.value = Select(is_upper, mine, y.value);
      }
    }
    scalars = reduction.op.emitCombine(s_, scalars, other);
  }
  return scalars;
}

CudaNest::Scalars CudaNest::CombineRow(JobReduction& reduction, Scalars scalars, Value lane) {
  int64_t threads = schedule_.threads;
  if (threads <= kWarp) return CombineWarp(reduction, std::move(scalars), threads, lane);
  Value in_warp = e_.rem(lane, e_.index(kWarp)), warp = e_.div(lane, e_.index(kWarp));
  scalars = CombineWarp(reduction, std::move(scalars), kWarp, in_warp);
  int64_t warps = threads / kWarp;
  SmallVector<Value> arrays = SharedArrays(scalars, warps);
  Value is_first = e_.lt(in_warp, e_.index(1));
  If(is_first, [&] {
    for (auto [array, scalar] : llvm::zip(arrays, scalars)) e_.Store(array, scalar.type(), warp, scalar);
  });
  Barrier();
  // Every warp combines the results of all warps, in the same way.
  Value from = warps == kWarp ? in_warp : e_.min(in_warp, e_.index(warps - 1));
  Value exists = warps == kWarp ? Value() : e_.lt(in_warp, e_.index(warps));
  Scalars identity = reduction.op.emitIdentity(s_), loaded;
  for (auto [array, like] : llvm::zip(arrays, identity)) {
    Scalar x = e_.Load(array, like.type(), from);
    loaded.push_back(s_.wrap(exists ? Select(exists, x.value, like.value) : x.value, like.is_unsigned));
  }
  int64_t width = 1;
  while (width < warps) width *= 2;
  loaded = CombineWarp(reduction, loaded, width, in_warp);
  // Lanes from `width` on have combined only identities, so all lanes take lane 0's result.
  if (width == kWarp) return loaded;
  Scalars first;
  for (Scalar x : loaded) {
    auto call =
        b_.create<mlir::func::CallOp>(s_.loc(), "sn_shuffle_first", x.type(), mlir::ValueRange{x.value});
    first.push_back(s_.wrap(call.getResult(0), x.is_unsigned));
  }
  return first;
}

SmallVector<Value> CudaNest::ColumnArrays(ArrayRef<Scalar> like) {
  SmallVector<Value> arrays;
  bool in_use = false;
  for (const Scalar& scalar : like) {
    const mlir::Type stored = e_.StoredType(scalar.type());
    auto* found = llvm::find_if(column_arrays_, [&](const auto& array) {
      return array.first == stored && !llvm::is_contained(arrays, array.second);
    });
    in_use |= found != column_arrays_.end();
    if (found == column_arrays_.end()) {
      column_arrays_.push_back({stored, SharedArrays(scalar, schedule_.block).front()});
      found = column_arrays_.end() - 1;
    }
    arrays.push_back(found->second);
  }
  // Other threads may still read the previous contents.
  if (in_use) Barrier();
  return arrays;
}

CudaNest::Scalars CudaNest::CombineColumn(JobReduction& reduction, Scalars scalars, Value row, Value column,
                                          int64_t deep, int64_t width) {
  if (deep == 1) return scalars;
  SmallVector<Value> arrays = ColumnArrays(scalars);
  Value place = e_.add(e_.mul(row, e_.index(width)), column);
  for (auto [array, scalar] : llvm::zip(arrays, scalars)) e_.Store(array, scalar.type(), place, scalar);
  Barrier();
  Scalars total;
  for (int64_t t = 0; t < deep; ++t) {
    Scalars loaded;
    Value at = e_.add(e_.index(t * width), column);
    for (auto [array, like] : llvm::zip(arrays, scalars)) {
      Scalar x = e_.Load(array, like.type(), at);
      loaded.push_back(s_.wrap(x.value, like.is_unsigned));
    }
    total = t == 0 ? loaded : reduction.op.emitCombine(s_, total, loaded);
  }
  return total;
}

// Rows --------------------------------------------------------------------------------

void CudaNest::EmitRow(Value block, Value thread) {
  block = SplitChunk(block);
  const int64_t a_block = schedule_.block / schedule_.threads;
  Value lane = thread, in_block = e_.index(0);
  if (a_block > 1) {
    lane = e_.rem(thread, e_.index(schedule_.threads));
    in_block = e_.div(thread, e_.index(schedule_.threads));
  }
  if (!job_.column_reductions.empty()) return EmitRowGroup(block, lane, in_block);
  Value exists = SetRow(e_.add(e_.mul(block, e_.index(a_block)), in_block));
  EmitRowPhases(lane, exists);
}

Value CudaNest::SetRow(Value row) {
  const int64_t rows = TripCount(schedule_.parallel);
  Value exists;
  if (rows % (schedule_.block / schedule_.threads) != 0) {
    // All threads of a warp take part in shuffles, so surplus threads compute the last row again without
    // storing it.
    exists = e_.lt(row, e_.index(rows));
    row = e_.min(row, e_.index(rows - 1));
  }
  SetParallel(schedule_.parallel, row);
  return exists;
}

std::vector<CudaNest::Scalars> CudaNest::CombineRows(int phase, const std::vector<Scalars>& sums,
                                                     Value lane) {
  const std::vector<size_t> reductions = ReductionsOf(phase);
  std::vector<Scalars> totals;
  for (auto [i, sum] : llvm::zip(reductions, sums)) {
    Scalars own = sum;
    if (const RescaledSum* const rescaled = RescaledSumOf(i); rescaled != nullptr) {
      // NaN if the maximum is -inf, as for x - max(x).
      const auto max = static_cast<size_t>(llvm::find(reductions, rescaled->max) - reductions.begin());
      own.front() = own.front() * s_.exp(sums[max].front() - totals[max].front());
    }
    totals.push_back(CombineRow(job_.reductions[i], own, lane));
  }
  return totals;
}

void CudaNest::EmitRowPhases(Value lane, Value row_exists) {
  int64_t vectors = TripCount(schedule_.reduced) / schedule_.vector;
  std::vector<Lanes> kept;
  if (schedule_.keeps_row) {
    for (int64_t k = 0; k < llvm::divideCeilSigned(vectors, schedule_.threads); ++k) {
      Value vector = e_.add(lane, e_.index(k * schedule_.threads)), exists;
      if ((k + 1) * schedule_.threads > vectors) {
        exists = e_.lt(vector, e_.index(vectors));
        vector = e_.min(vector, e_.index(vectors - 1));
      }
      kept.push_back(RowLanes(vector, exists));
      kept.back().number = k;
    }
  }
  Value writes = And(row_exists, schedule_.threads == 1 ? Value() : e_.lt(lane, e_.index(1)));
  for (int phase = 0; phase < job_.phases(); ++phase) {
    const bool is_rescaled =
        llvm::any_of(rescaled_, [&](const RescaledSum& r) { return job_.reductions[r.sum].phase == phase; });
    if (is_rescaled) continue;
    std::vector<Scalars> sums;
    if (schedule_.keeps_row) {
      sums = Identities(phase);
      for (const Lanes& lanes : kept) {
        // The row's existence matters only for stores.
        Lanes stored = lanes;
        stored.exists = And(lanes.exists, row_exists);
        Accumulate(phase, stored, sums);
      }
    } else {
      // Rows that are read again should stay in the caches until then.
      const bool is_last = phase > 0 && phase + 1 == job_.phases();
      e_.SetLastReads(is_last);
      stores_past_caches_ = is_last;
      sums = ReduceInLoop(phase, lane, ReducedVectors(),
                          [&](Value vector) { return RowLanes(vector, row_exists); });
      e_.SetLastReads(false);
      stores_past_caches_ = false;
    }
    FinishPhase(phase, CombineRows(phase, sums, lane), coords_, writes);
  }
  if (job_.kind != Job::Kind::kPartial) EmitReducedOutputs(coords_, writes);
}

// Columns --------------------------------------------------------------------------------

void CudaNest::EmitColumn(Value block, Value thread) {
  block = SplitChunk(block);
  const Loop& inner = schedule_.parallel.back();
  Value column = e_.rem(thread, e_.index(schedule_.width)), row = e_.div(thread, e_.index(schedule_.width));
  int64_t vectors = inner.size / schedule_.vector, tiles = llvm::divideCeilSigned(vectors, schedule_.width);
  SetParallel(ArrayRef(schedule_.parallel).drop_back(), e_.div(block, e_.index(tiles)));
  Value vector = e_.add(e_.mul(e_.rem(block, e_.index(tiles)), e_.index(schedule_.width)), column), exists;
  if (vectors % schedule_.width != 0) {
    exists = e_.lt(vector, e_.index(vectors));
    vector = e_.min(vector, e_.index(vectors - 1));
  }
  Value first = e_.mul(vector, e_.index(schedule_.vector));
  coords_[inner.dim] = first;
  // The columns' coordinates, lane by lane: they do not depend on the reduced position.
  std::vector<SmallVector<Value>> columns;
  for (int64_t j = 0; j < schedule_.vector; ++j) {
    columns.push_back(coords_);
    columns.back()[inner.dim] = e_.add(first, e_.index(j));
  }
  Value writes = And(exists, e_.lt(row, e_.index(1)));
  for (int phase = 0; phase < job_.phases(); ++phase) {
    auto lanes_at = [&](Value position) {
      Lanes lanes = ColumnLanes(position);
      for (auto [coords, own] : llvm::zip(lanes.coords, columns)) coords[inner.dim] = own[inner.dim];
      lanes.exists = exists;
      return lanes;
    };
    std::vector<Scalars> sums = ReduceInLoop(phase, row, ReducedVectors(), lanes_at);
    std::vector<std::vector<Scalars>> totals(schedule_.vector);
    size_t k = 0;
    for (size_t i : ReductionsOf(phase)) {
      for (int64_t j = 0; j < schedule_.vector; ++j) {
        totals[j].push_back(
            CombineColumn(job_.reductions[i], sums[k++], row, column, schedule_.threads, schedule_.width));
      }
    }
    for (auto [total, coords] : llvm::zip(totals, columns)) FinishPhase(phase, total, coords, writes);
  }
  if (job_.kind == Job::Kind::kPartial) return;
  for (const auto& coords : columns) EmitReducedOutputs(coords, writes);
}

}  // namespace sinter::codegen
