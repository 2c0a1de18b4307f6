// The loops of reductions: rows, columns, and the accumulators that both use.
#include "llvm/ADT/bit.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "sinter/codegen/cpu/loop_nest.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

// Partial results that the vector loop computes in parallel: four vectors of sixteen, which hide an
// addition's latency.
constexpr int64_t kLanes = 64;
constexpr int64_t kCacheLine = 64;  // Bytes.

}  // namespace

// Rows --------------------------------------------------------------------------------------------------

void NestEmitter::SplitChunk(Value& unit) {
  const Loop& loop = schedule_.reduced.front();
  chunk_low_ = e_.index(0);
  chunk_high_ = e_.index(loop.size);
  if (job_.kind != Job::Kind::kPartial) return;
  Value units = e_.index(schedule_.units / job_.chunks);
  chunk_ = e_.div(unit, units);
  unit = e_.rem(unit, units);
  Value size = e_.index(schedule_.chunk_size);
  chunk_low_ = e_.mul(chunk_, size);
  chunk_high_ = e_.add(chunk_low_, size);
  if (loop.size % schedule_.chunk_size != 0) chunk_high_ = e_.min(chunk_high_, e_.index(loop.size));
}

void NestEmitter::EmitRows(Value unit) {
  SplitChunk(unit);
  int64_t rows = TripCount(schedule_.parallel);
  if (schedule_.tile == 1) {
    SetCoordinates(schedule_.parallel, unit);
    return EmitRow();
  }
  Value low = e_.mul(unit, e_.index(schedule_.tile));
  Value high = e_.add(low, e_.index(schedule_.tile));
  if (rows % schedule_.tile != 0) high = e_.min(high, e_.index(rows));
  For(low, high, [&](Value row) {
    SetCoordinates(schedule_.parallel, row);
    EmitRow();
  });
}

void NestEmitter::EmitRow() {
  ElementEmitter::Scope row(e_);
  e_.ClearCaches();
  for (const KeptValue& kept : schedule_.kept) {
    if (kept.is_full) e_.SetCache(kept.tensor, {ScratchAt(kept.offset), Value(), {}, false});
  }
  for (int phase = 0; phase < job_.phases(); ++phase) {
    for (const KeptValue& kept : schedule_.kept) {
      if (kept.is_full || kept.phase != phase) continue;
      e_.element(kept.tensor, CoordsOf(kept));
    }
    EmitRowPhase(phase);
    for (const KeptValue& kept : schedule_.kept) {
      if (kept.is_full && kept.phase == phase) e_.FindCache(kept.tensor)->is_written = true;
    }
  }
  if (job_.kind != Job::Kind::kPartial) EmitReducedOutputs();
}

void NestEmitter::EmitRowPhase(int phase) {
  bool reduces = llvm::any_of(job_.reductions, [&](auto& r) { return r.phase == phase; });
  Value lanes = e_.index(lanes_);
  if (reduces) For(e_.index(0), lanes, [&](Value lane) { InitAccumulators(phase, lane); });
  ArrayRef<Loop> loops = schedule_.reduced;
  auto innermost = [&](Value low, Value high) {
    if (reduces) return EmitLanes(phase, low, high);
    For(low, high, [&](Value i) {
      SetCoordinate(loops.back(), i);
      EmitElements(phase);
    });
  };
  if (loops.size() == 1) {
    innermost(chunk_low_, chunk_high_);
  } else {
    For(chunk_low_, chunk_high_, [&](Value i) {
      SetCoordinate(loops.front(), i);
      ForLoops(loops.drop_front().drop_back(), [&] { innermost(e_.index(0), e_.index(loops.back().size)); });
    });
  }
  if (!reduces) return;
  Arrays combined = CombineLanes(phase);
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase != phase) continue;
    SmallVector<Scalar> scalars = LoadAccumulators(combined, i, e_.index(0));
    if (job_.kind == Job::Kind::kPartial) {
      StorePartials(reduction, scalars);
    } else {
      e_.Bind(reduction.result(), ParallelKey(), reduction.op.emitFinish(s_, scalars));
    }
  }
}

void NestEmitter::EmitLanes(int phase, Value low, Value high) {
  const Loop& loop = schedule_.reduced.back();
  Value lanes = e_.index(lanes_), count = e_.sub(high, low);
  // With several reduced loops the innermost has static bounds; a single, chunked loop's may not fold.
  Value blocks = e_.div(count, lanes);
  auto pass = [&](Value first, Value lane) {
    SetCoordinate(loop, e_.add(first, lane));
    Accumulate(phase, lane);
  };
  For(e_.index(0), blocks, [&](Value block) {
    Value first = e_.add(low, e_.mul(block, lanes));
    For(e_.index(0), lanes, [&](Value lane) { pass(first, lane); });
    SetCoordinate(loop, first);
    if (phase == 1 && schedule_.prefetch_next_row) PrefetchNextRow();
  });
  Value first = e_.add(low, e_.mul(blocks, lanes));
  For(e_.index(0), e_.rem(count, lanes), [&](Value lane) { pass(first, lane); });
}

void NestEmitter::PrefetchNextRow() {
  if (schedule_.parallel.empty() || job_.reductions.empty()) return;
  int row = schedule_.parallel.back().dim, column = schedule_.reduced.back().dim;
  llvm::SmallDenseSet<Value> seen;
  for (const Access& access : job_.reductions.front().trace.accesses) {
    bool streams = llvm::isa_and_nonnull<mlir::BlockArgument>(access.tensor) && access.is_affine &&
                   access.strides[column] == 1 && access.strides[row] != 0;
    if (!streams || !seen.insert(access.tensor).second) continue;
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(access.tensor.getType()).getElementType();
    Value position = e_.index(access.constant + access.strides[row]);
    for (auto [stride, coord] : llvm::zip(access.strides, coords_)) {
      position = e_.add(position, e_.mul(coord, e_.index(stride)));
    }
    Value pointer = e_.MemoryOf(access.tensor);
    int64_t line = kCacheLine / std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
    for (int64_t lane = 0; lane < lanes_; lane += line) {
      Value address = e_.Address(pointer, element, e_.add(position, e_.index(lane)));
      b_.create<LLVM::Prefetch>(s_.loc(), address, /*rw=*/0, /*hint=*/2, /*cache=*/1);
    }
  }
}

NestEmitter::Arrays NestEmitter::CombineLanes(int phase) {
  Arrays from = accumulators_;
  int64_t half = lanes_;
  for (const Arrays& to : halves_) {
    half /= 2;
    For(e_.index(0), e_.index(half), [&](Value lane) {
      for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
        if (reduction.phase != phase) continue;
        SmallVector<Scalar> a = LoadAccumulators(from, i, lane),
                            b = LoadAccumulators(from, i, e_.add(lane, e_.index(half)));
        StoreAccumulators(to, i, reduction.op.emitCombine(s_, a, b), lane);
      }
    });
    from = to;
  }
  return from;
}

// Columns -----------------------------------------------------------------------------------------------

void NestEmitter::EmitColumns(Value unit) {
  SplitChunk(unit);
  const Loop& loop = schedule_.parallel.back();
  int64_t tile = schedule_.tile;
  Value tiles = e_.index((loop.size + tile - 1) / tile);
  SetCoordinates(ArrayRef(schedule_.parallel).drop_back(), e_.div(unit, tiles));
  Value low = e_.mul(e_.rem(unit, tiles), e_.index(tile));
  columns_ =
      loop.size % tile == 0 ? e_.index(tile) : e_.min(e_.index(tile), e_.sub(e_.index(loop.size), low));
  column_low_ = low;
  e_.ClearCaches();
  for (int phase = 0; phase < job_.phases(); ++phase) EmitColumnPhase(phase);
  if (job_.kind != Job::Kind::kPartial) ForColumns([&](Value) { EmitReducedOutputs(); });
}

void NestEmitter::ForColumns(Body body) {
  For(e_.index(0), columns_, [&](Value t) {
    ElementEmitter::Scope scope(e_);
    SetCoordinate(schedule_.parallel.back(), e_.add(column_low_, t));
    column_ = t;
    UpdateCaches();
    body(t);
  });
}

void NestEmitter::EmitColumnPhase(int phase) {
  for (const KeptValue& kept : schedule_.kept) {
    if (kept.is_full || kept.phase != phase) continue;
    e_.SetCache(kept.tensor, {ScratchAt(kept.offset), Value(), {}, false});
    ForColumns([&](Value) { e_.element(kept.tensor, CoordsOf(kept)); });
    e_.FindCache(kept.tensor)->is_written = true;
  }
  ForColumns([&](Value t) { InitAccumulators(phase, t); });
  For(chunk_low_, chunk_high_, [&](Value i) {
    SetCoordinate(schedule_.reduced.front(), i);
    ForLoops(ArrayRef(schedule_.reduced).drop_front(),
             [&] { ForColumns([&](Value t) { Accumulate(phase, t); }); });
  });
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase != phase) continue;
    Value results = ScratchAt(schedule_.results[i]);
    ForColumns([&](Value t) {
      SmallVector<Scalar> scalars = LoadAccumulators(accumulators_, i, t);
      if (job_.kind == Job::Kind::kPartial) return StorePartials(reduction, scalars);
      Scalar result = reduction.op.emitFinish(s_, scalars);
      e_.Store(results, result.type(), t, result);
    });
    e_.SetCache(reduction.result(), {results, Value(), {}, true});
  }
}

// Both --------------------------------------------------------------------------------------------------

void NestEmitter::EmitReducedOutputs() {
  SmallVector<Value> at = ParallelCoords();
  SmallVector<Scalar> values;
  for (JobOutput& output : job_.reduced_outputs) values.push_back(e_.element(output.value, at));
  Value position = ParallelPosition();
  for (auto [output, scalar] : llvm::zip(job_.reduced_outputs, values)) {
    e_.Store(pointer_of_(output.slot), output.slot.type.getElementType(), position, scalar);
  }
}

void NestEmitter::Accumulate(int phase, Value lane) {
  ElementEmitter::Scope scope(e_);
  UpdateCaches();
  SmallVector<std::pair<size_t, SmallVector<Scalar>>> sums;
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase != phase) continue;
    SmallVector<Scalar> element = Lift(reduction);
    sums.emplace_back(i, reduction.op.emitCombine(s_, LoadAccumulators(accumulators_, i, lane), element));
  }
  EmitElements(phase);
  for (auto& [i, scalars] : sums) StoreAccumulators(accumulators_, i, scalars, lane);
}

SmallVector<Scalar> NestEmitter::Lift(JobReduction& reduction) {
  if (job_.kind == Job::Kind::kCombine) {
    Value stride = e_.index(TripCount(schedule_.parallel));
    Value position = e_.add(e_.mul(reduced_at_[0], stride), ParallelPosition());
    SmallVector<Scalar> scalars;
    size_t index = &reduction - job_.reductions.data();
    for (auto [k, slot] : llvm::enumerate(reduction.partials)) {
      scalars.push_back(e_.Load(pointer_of_(slot), types_[index][k], position));
      scalars.back().is_unsigned = is_unsigned_[index][k];
    }
    return scalars;
  }
  ArrayRef<int64_t> dims = reduction.op.getReducedDims();
  Value index = dims.empty() ? e_.index(0) : coords_[dims.front()];
  return reduction.op.emitLift(s_, e_.element(reduction.operand(), coords_), index);
}

void NestEmitter::StorePartials(JobReduction& reduction, ArrayRef<Scalar> scalars) {
  Value position = e_.add(e_.mul(chunk_, e_.index(TripCount(schedule_.parallel))), ParallelPosition());
  for (auto [slot, scalar] : llvm::zip(reduction.partials, scalars)) {
    e_.Store(pointer_of_(slot), scalar.type(), position, scalar);
  }
}

void NestEmitter::AllocateAccumulators() {
  bool columns = schedule_.mode == Schedule::Mode::kColumn;
  int64_t count = schedule_.reduced.size() == 1 ? schedule_.chunk_size : schedule_.reduced.back().size;
  if (!columns)
    lanes_ = std::min<int64_t>(kLanes, llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, count))));
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    accumulators_.emplace_back(), is_unsigned_.emplace_back(), types_.emplace_back();
    for (auto [k, scalar] : llvm::enumerate(reduction.op.emitIdentity(s_))) {
      types_.back().push_back(scalar.type());
      is_unsigned_.back().push_back(scalar.is_unsigned);
      if (columns) accumulators_.back().push_back(ScratchAt(schedule_.accumulators[i][k]));
    }
  }
  if (columns) return;
  accumulators_ = AllocateLanes(lanes_);
  for (int64_t half = lanes_ / 2; half > 0; half /= 2) halves_.push_back(AllocateLanes(half));
}

NestEmitter::Arrays NestEmitter::AllocateLanes(int64_t lanes) {
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext());
  Value count = b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(lanes));
  Arrays arrays;
  for (ArrayRef<mlir::Type> types : types_) {
    arrays.emplace_back();
    for (mlir::Type type : types) {
      mlir::Type stored = type.isInteger(1) ? b_.getI8Type() : type;
      arrays.back().push_back(b_.create<LLVM::AllocaOp>(s_.loc(), pointer, stored, count, /*alignment=*/64));
    }
  }
  return arrays;
}

void NestEmitter::InitAccumulators(int phase, Value lane) {
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase == phase) StoreAccumulators(accumulators_, i, reduction.op.emitIdentity(s_), lane);
  }
}

SmallVector<Scalar> NestEmitter::LoadAccumulators(const Arrays& arrays, size_t reduction, Value lane) {
  SmallVector<Scalar> scalars;
  for (auto [array, type, is_unsigned] :
       llvm::zip(arrays[reduction], types_[reduction], is_unsigned_[reduction])) {
    scalars.push_back(e_.Load(array, type, lane));
    scalars.back().is_unsigned = is_unsigned;
  }
  return scalars;
}

void NestEmitter::StoreAccumulators(const Arrays& arrays, size_t reduction, ArrayRef<Scalar> scalars,
                                    Value lane) {
  for (auto [array, scalar] : llvm::zip(arrays[reduction], scalars))
    e_.Store(array, scalar.type(), lane, scalar);
}

}  // namespace sinter::codegen
