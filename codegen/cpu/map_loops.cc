// Maps: loops over elements, or over squares of them for transposed accesses.
#include "sinter/codegen/cpu/job_loops.h"

namespace sinter::codegen {

using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

class TileLoops : private LoopPart {
 public:
  explicit TileLoops(LoopContext& t) : LoopPart(t) {}

  void EmitTiles(Value unit);

 private:
  void KeepTile(const KeptValue& kept);

  Value position_;  // Position of the current element in a kept tile.
};

void TileLoops::EmitTiles(Value unit) {
  const Loop& inner = schedule_.parallel.back();
  const Loop& cross = schedule_.parallel[schedule_.cross];
  SmallVector<Loop> others;
  for (const Loop& loop : schedule_.parallel) {
    if (&loop != &inner && &loop != &cross) others.push_back(loop);
  }
  auto squares = [&](const Loop& loop) {
    return e_.index((loop.size + schedule_.tile - 1) / schedule_.tile);
  };
  Value tile = e_.index(schedule_.tile);
  Value low_inner = e_.mul(e_.rem(unit, squares(inner)), tile);
  Value rest = e_.div(unit, squares(inner));
  Value low_cross = e_.mul(e_.rem(rest, squares(cross)), tile);
  t_.SetCoordinates(others, e_.div(rest, squares(cross)));
  // LLVM would unroll a loop of known length completely before it vectorises.
  Value length = t_.Opaque(schedule_.tile);
  Value high_inner = e_.min(e_.add(low_inner, length), e_.index(inner.size));
  Value high_cross = e_.min(e_.add(low_cross, length), e_.index(cross.size));
  auto pitch = e_.index(schedule_.tile_pitch());
  auto at = [&](Value i, Value j) {
    t_.SetCoordinate(cross, i);
    t_.SetCoordinate(inner, j);
    position_ = e_.add(e_.mul(e_.sub(j, low_inner), pitch), e_.sub(i, low_cross));
    t_.SetTilePosition(position_);
  };
  e_.ClearCaches();
  for (const KeptValue& kept : schedule_.kept) {
    t_.For(low_inner, high_inner, [&](Value j) {
      t_.For(low_cross, high_cross, [&](Value i) {
        at(i, j);
        KeepTile(kept);
      });
    });
  }
  for (const KeptValue& kept : schedule_.kept) {
    e_.SetCache(kept.tensor, {t_.ScratchAt(kept.offset), Value(), {}, true});
  }
  t_.For(low_cross, high_cross, [&](Value i) {
    t_.For(low_inner, high_inner, [&](Value j) {
      at(i, j);
      t_.EmitElements(0);
    });
  });
}

void TileLoops::KeepTile(const KeptValue& kept) {
  ElementEmitter::Scope scope(e_);
  Scalar scalar = e_.element(kept.tensor, t_.CoordsOf(kept));
  e_.Store(t_.ScratchAt(kept.offset), scalar.type(), position_, scalar);
}

}  // namespace

void EmitMapLoops(LoopContext& t, Value unit) {
  const LoopSchedule& schedule = t.schedule();
  KernelEmitter& e = t.e();
  ArrayRef<Loop> outer = ArrayRef(schedule.parallel).drop_back();
  const Loop& inner = schedule.parallel.back();
  Value tile = e.index(schedule.tile), size = e.index(inner.size);
  auto elements = [&](Value i) {
    t.SetCoordinate(inner, i);
    t.EmitElements(0);
  };
  if (schedule.cut_inner) {
    Value blocks = e.index((inner.size + schedule.tile - 1) / schedule.tile);
    t.SetCoordinates(outer, e.div(unit, blocks));
    Value low = e.mul(e.rem(unit, blocks), tile);
    t.For(low, e.min(e.add(low, tile), size), elements);
    return;
  }
  Value low = e.mul(unit, tile);
  t.For(low, e.min(e.add(low, tile), e.index(TripCount(outer))), [&](Value position) {
    t.SetCoordinates(outer, position);
    t.For(e.index(0), size, elements);
  });
}

void EmitTileLoops(LoopContext& t, Value unit) { TileLoops(t).EmitTiles(unit); }

}  // namespace sinter::codegen
