// Columns: the last parallel loop is the vector's, inside the reduced loops; its accumulators are in scratch
// memory.
#include "sinter/codegen/cpu/job_loops.h"

namespace sinter::codegen {

using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

class ColumnLoops : private LoopPart {
 public:
  ColumnLoops(LoopContext& t, Accumulators& sums) : LoopPart(t), sums_(sums) {}

  void EmitColumns(Value unit);

 private:
  // Emits one pass over the tile's columns.
  void ForColumns(LoopContext::Body body);
  void EmitColumnPhase(int phase);

  Accumulators& sums_;
  Value column_low_, columns_;  // First column of the tile, and number of columns.
};

void ColumnLoops::EmitColumns(Value unit) {
  sums_.SplitChunk(unit);
  const Loop& loop = schedule_.parallel.back();
  int64_t tile = schedule_.tile;
  Value tiles = e_.index((loop.size + tile - 1) / tile);
  t_.SetCoordinates(ArrayRef(schedule_.parallel).drop_back(), e_.div(unit, tiles));
  Value low = e_.mul(e_.rem(unit, tiles), e_.index(tile));
  columns_ =
      loop.size % tile == 0 ? e_.index(tile) : e_.min(e_.index(tile), e_.sub(e_.index(loop.size), low));
  column_low_ = low;
  e_.ClearCaches();
  for (int phase = 0; phase < job_.phases(); ++phase) EmitColumnPhase(phase);
  if (job_.kind != Job::Kind::kPartial) ForColumns([&](Value) { t_.EmitReducedOutputs(); });
}

void ColumnLoops::ForColumns(LoopContext::Body body) {
  t_.For(e_.index(0), columns_, [&](Value t) {
    ElementEmitter::Scope scope(e_);
    t_.SetCoordinate(schedule_.parallel.back(), e_.add(column_low_, t));
    t_.SetColumn(t);
    t_.UpdateCaches();
    body(t);
  });
}

void ColumnLoops::EmitColumnPhase(int phase) {
  for (const KeptValue& kept : schedule_.kept) {
    if (kept.is_full || kept.phase != phase) continue;
    e_.SetCache(kept.tensor, {t_.ScratchAt(kept.offset), Value(), {}, false});
    ForColumns([&](Value) { e_.element(kept.tensor, t_.CoordsOf(kept)); });
    e_.FindCache(kept.tensor)->is_written = true;
  }
  ForColumns([&](Value t) { sums_.Init(phase, t); });
  t_.For(sums_.chunk_low(), sums_.chunk_high(), [&](Value i) {
    t_.SetCoordinate(schedule_.reduced.front(), i);
    t_.ForLoops(ArrayRef(schedule_.reduced).drop_front(),
                [&] { ForColumns([&](Value t) { sums_.Accumulate(phase, t); }); });
  });
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase != phase) continue;
    Value results = t_.ScratchAt(schedule_.results[i]);
    ForColumns([&](Value t) {
      SmallVector<Scalar> scalars = sums_.Load(sums_.arrays(), i, t);
      if (job_.kind == Job::Kind::kPartial) return sums_.StorePartials(reduction, scalars);
      Scalar result = reduction.op.emitFinish(s_, scalars);
      e_.Store(results, result.type(), t, result);
    });
    e_.SetCache(reduction.result(), {results, Value(), {}, true});
  }
}

}  // namespace

void EmitColumnLoops(LoopContext& t, Accumulators& sums, Value unit) {
  ColumnLoops(t, sums).EmitColumns(unit);
}

}  // namespace sinter::codegen
