// Rows: the reduced loops are inside, and the last of them is the vector's.
#include <algorithm>
#include <optional>

#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "sinter/codegen/cpu/job_loops.h"
#include "sinter/codegen/cpu/short_loops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

constexpr int64_t kCacheLine = 64;  // Bytes.

class RowLoops : private LoopPart {
 public:
  RowLoops(LoopContext& t, Accumulators& sums) : LoopPart(t), sums_(sums) {}

  void EmitRows(Value unit);

 private:
  void EmitRow();
  void EmitRowPhase(int phase);
  void EmitLanes(int phase, Value low, Value high);
  // Emits the elements that do not fill all lanes: if their number is known, as whole vectors with a mask.
  void EmitLastLanes(int phase, Value first, Value count);
  // Prefetches elements of the next row while this row is computed from cache.
  void PrefetchNextRow();

  Accumulators& sums_;
};

void RowLoops::EmitRows(Value unit) {
  sums_.SplitChunk(unit);
  int64_t rows = TripCount(schedule_.parallel);
  if (schedule_.tile == 1) {
    t_.SetCoordinates(schedule_.parallel, unit);
    return EmitRow();
  }
  Value low = e_.mul(unit, e_.index(schedule_.tile));
  Value high = e_.add(low, e_.index(schedule_.tile));
  if (rows % schedule_.tile != 0) high = e_.min(high, e_.index(rows));
  t_.For(low, high, [&](Value row) {
    t_.SetCoordinates(schedule_.parallel, row);
    EmitRow();
  });
}

void RowLoops::EmitRow() {
  ElementEmitter::Scope row(e_);
  e_.ClearCaches();
  for (const KeptValue& kept : schedule_.kept) {
    if (kept.is_full) e_.SetCache(kept.tensor, {t_.ScratchAt(kept.offset), Value(), {}, false});
  }
  for (int phase = 0; phase < job_.phases(); ++phase) {
    for (const KeptValue& kept : schedule_.kept) {
      if (kept.is_full || kept.phase != phase) continue;
      e_.element(kept.tensor, t_.CoordsOf(kept));
    }
    EmitRowPhase(phase);
    for (const KeptValue& kept : schedule_.kept) {
      if (kept.is_full && kept.phase == phase) e_.FindCache(kept.tensor)->is_written = true;
    }
  }
  if (job_.kind != Job::Kind::kPartial) t_.EmitReducedOutputs();
}

void RowLoops::EmitRowPhase(int phase) {
  bool reduces = llvm::any_of(job_.reductions, [&](auto& r) { return r.phase == phase; });
  Value lanes = e_.index(sums_.lanes());
  if (reduces) t_.For(e_.index(0), lanes, [&](Value lane) { sums_.Init(phase, lane); });
  ArrayRef<Loop> loops = schedule_.reduced;
  auto innermost = [&](Value low, Value high) {
    if (reduces) return EmitLanes(phase, low, high);
    t_.For(low, high, [&](Value i) {
      t_.SetCoordinate(loops.back(), i);
      t_.EmitElements(phase);
    });
  };
  if (loops.size() == 1) {
    innermost(sums_.chunk_low(), sums_.chunk_high());
  } else {
    t_.For(sums_.chunk_low(), sums_.chunk_high(), [&](Value i) {
      t_.SetCoordinate(loops.front(), i);
      t_.ForLoops(loops.drop_front().drop_back(),
                  [&] { innermost(e_.index(0), e_.index(loops.back().size)); });
    });
  }
  if (!reduces) return;
  Accumulators::Arrays combined = sums_.CombineLanes(phase);
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase != phase) continue;
    SmallVector<Scalar> scalars = sums_.Load(combined, i, e_.index(0));
    if (job_.kind == Job::Kind::kPartial) {
      sums_.StorePartials(reduction, scalars);
    } else {
      e_.Bind(reduction.result(), t_.ParallelKey(), reduction.op.emitFinish(s_, scalars));
    }
  }
}

void RowLoops::EmitLanes(int phase, Value low, Value high) {
  const Loop& loop = schedule_.reduced.back();
  Value lanes = e_.index(sums_.lanes()), count = e_.sub(high, low);
  // With several reduced loops the innermost has static bounds; a single, chunked loop's may not fold.
  Value blocks = e_.div(count, lanes);
  auto pass = [&](Value first, Value lane) {
    t_.SetCoordinate(loop, e_.add(first, lane));
    sums_.Accumulate(phase, lane);
  };
  t_.For(e_.index(0), blocks, [&](Value block) {
    Value first = e_.add(low, e_.mul(block, lanes));
    t_.For(e_.index(0), lanes, [&](Value lane) { pass(first, lane); });
    t_.SetCoordinate(loop, first);
    if (phase == 1 && schedule_.prefetch_next_row) PrefetchNextRow();
  });
  EmitLastLanes(phase, e_.add(low, e_.mul(blocks, lanes)), e_.rem(count, lanes));
}

void RowLoops::EmitLastLanes(int phase, Value first, Value count) {
  auto at = [&](Value lane) { t_.SetCoordinate(schedule_.reduced.back(), e_.add(first, lane)); };
  std::optional<int64_t> known = LoopContext::ConstantOf(count);
  int64_t whole = known ? std::min(ir::RoundUp(*known, kVectorFloats), sums_.lanes()) : 0;
  if (!known || *known == whole || schedule_.reduced.back().size > kLongestMaskedRow) {
    t_.For(e_.index(0), count, [&](Value lane) {
      at(lane);
      sums_.Accumulate(phase, lane);
    });
    return;
  }
  // If the last iteration alone is outside, LLVM would end the loop before it, and whole vectors with it.
  if (*known == whole - 1) count = t_.Opaque(*known);
  t_.For(e_.index(0), e_.index(whole), [&](Value lane) {
    at(lane);
    Value is_inside = b_.create<mlir::arith::CmpIOp>(s_.loc(), mlir::arith::CmpIPredicate::ult, lane, count);
    sums_.AccumulateIf(is_inside, phase, lane);
  });
}

void RowLoops::PrefetchNextRow() {
  if (schedule_.parallel.empty() || job_.reductions.empty()) return;
  int row = schedule_.parallel.back().dim, column = schedule_.reduced.back().dim;
  llvm::SmallDenseSet<Value> seen;
  for (const Access& access : job_.reductions.front().trace.accesses) {
    bool streams = llvm::isa_and_nonnull<mlir::BlockArgument>(access.tensor) && access.is_affine &&
                   access.strides[column] == 1 && access.strides[row] != 0;
    if (!streams || !seen.insert(access.tensor).second) continue;
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(access.tensor.getType()).getElementType();
    Value position = e_.index(access.constant + access.strides[row]);
    for (auto [stride, coord] : llvm::zip(access.strides, t_.coords())) {
      position = e_.add(position, e_.mul(coord, e_.index(stride)));
    }
    Value pointer = e_.MemoryOf(access.tensor);
    int64_t line = kCacheLine / ir::ElementBytes(element);
    for (int64_t lane = 0; lane < sums_.lanes(); lane += line) {
      Value address = e_.Address(pointer, element, e_.add(position, e_.index(lane)));
      b_.create<LLVM::Prefetch>(s_.loc(), address, /*rw=*/0, /*hint=*/2, /*cache=*/1);
    }
  }
}

}  // namespace

void EmitRowLoops(LoopContext& t, Accumulators& sums, Value unit) { RowLoops(t, sums).EmitRows(unit); }

}  // namespace sinter::codegen
