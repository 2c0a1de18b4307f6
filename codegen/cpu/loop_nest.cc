#include "sinter/codegen/cpu/loop_nest.h"

#include "llvm/ADT/bit.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

std::optional<int64_t> ConstantOf(Value value) {
  if (auto constant = value.getDefiningOp<mlir::arith::ConstantIndexOp>()) return constant.value();
  return std::nullopt;
}

}  // namespace

NestEmitter::NestEmitter(ir::ScalarBuilder& s, Job& job, const Schedule& schedule, PointerOf pointer_of,
                         Value scratch)
    : b_(s.builder()),
      s_(s),
      job_(job),
      schedule_(schedule),
      pointer_of_(std::move(pointer_of)),
      scratch_(scratch),
      e_(s) {
  for (auto& [tensor, slot] : job_.reads) e_.SetMemory(tensor, pointer_of_(slot));
  coords_.assign(job_.domain.size(), e_.index(0));
  reduced_at_.assign(schedule_.reduced.size(), e_.index(0));
  if (!job_.reductions.empty()) AllocateAccumulators();
}

void NestEmitter::Emit(Value begin, Value end) {
  For(begin, end, [&](Value unit) {
    switch (schedule_.mode) {
      case Schedule::Mode::kFlat:
        SetCoordinate(schedule_.parallel[0], unit);
        return EmitElements(0);
      case Schedule::Mode::kMap:
        return EmitMap(unit);
      case Schedule::Mode::kTiles:
        return EmitTiles(unit);
      case Schedule::Mode::kRow:
        return EmitRows(unit);
      case Schedule::Mode::kColumn:
        return EmitColumns(unit);
    }
  });
}

void NestEmitter::For(Value low, Value high, Body body) {
  auto first = ConstantOf(low), last = ConstantOf(high);
  if (first && last && *last <= *first) return;
  if (first && last && *last == *first + 1) return body(low);
  auto loop = b_.create<mlir::scf::ForOp>(s_.loc(), low, high, e_.index(1));
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void NestEmitter::ForLoops(ArrayRef<Loop> loops, llvm::function_ref<void()> body) {
  if (loops.empty()) return body();
  For(e_.index(0), e_.index(loops.front().size), [&](Value i) {
    SetCoordinate(loops.front(), i);
    ForLoops(loops.drop_front(), body);
  });
}

void NestEmitter::SetCoordinate(const Loop& loop, Value value) {
  if (loop.dim >= 0) coords_[loop.dim] = value;
  for (auto [i, reduced] : llvm::enumerate(schedule_.reduced)) {
    if (&reduced == &loop) reduced_at_[i] = value;
  }
}

void NestEmitter::SetCoordinates(ArrayRef<Loop> loops, Value position) {
  SmallVector<Value> at = e_.delinearize(position, SizesOf(loops));
  for (auto [loop, value] : llvm::zip(loops, at)) SetCoordinate(loop, value);
}

Value NestEmitter::ScratchAt(int64_t offset) {
  return e_.Address(scratch_, b_.getI8Type(), e_.index(offset));
}

// Maps --------------------------------------------------------------------------------------------------

void NestEmitter::EmitElements(int phase) {
  ElementEmitter::Scope scope(e_);
  UpdateCaches();
  // Computes all values before any store, because an output may overwrite an input.
  SmallVector<std::pair<JobOutput*, Scalar>> values;
  for (JobOutput& output : job_.full_outputs) {
    if (output.phase == phase) values.emplace_back(&output, e_.element(output.value, coords_));
  }
  for (auto& [output, scalar] : values) {
    e_.Store(pointer_of_(output->slot), output->slot.type.getElementType(),
             e_.linearize(coords_, job_.domain), scalar);
  }
}

void NestEmitter::EmitMap(Value unit) {
  ArrayRef<Loop> outer = ArrayRef(schedule_.parallel).drop_back();
  const Loop& inner = schedule_.parallel.back();
  Value tile = e_.index(schedule_.tile), size = e_.index(inner.size);
  auto elements = [&](Value i) {
    SetCoordinate(inner, i);
    EmitElements(0);
  };
  if (schedule_.cut_inner) {
    Value blocks = e_.index((inner.size + schedule_.tile - 1) / schedule_.tile);
    SetCoordinates(outer, e_.div(unit, blocks));
    Value low = e_.mul(e_.rem(unit, blocks), tile);
    For(low, e_.min(e_.add(low, tile), size), elements);
    return;
  }
  Value low = e_.mul(unit, tile);
  For(low, e_.min(e_.add(low, tile), e_.index(TripCount(outer))), [&](Value position) {
    SetCoordinates(outer, position);
    For(e_.index(0), size, elements);
  });
}

void NestEmitter::EmitTiles(Value unit) {
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
  SetCoordinates(others, e_.div(rest, squares(cross)));
  Value length = Opaque(schedule_.tile);
  Value high_inner = e_.min(e_.add(low_inner, length), e_.index(inner.size));
  Value high_cross = e_.min(e_.add(low_cross, length), e_.index(cross.size));
  auto pitch = e_.index(schedule_.tile_pitch());
  auto at = [&](Value i, Value j) {
    SetCoordinate(cross, i);
    SetCoordinate(inner, j);
    tile_position_ = e_.add(e_.mul(e_.sub(j, low_inner), pitch), e_.sub(i, low_cross));
  };
  e_.ClearCaches();
  for (const KeptValue& kept : schedule_.kept) {
    For(low_inner, high_inner, [&](Value j) {
      For(low_cross, high_cross, [&](Value i) {
        at(i, j);
        KeepTile(kept);
      });
    });
  }
  for (const KeptValue& kept : schedule_.kept) {
    e_.SetCache(kept.tensor, {ScratchAt(kept.offset), Value(), {}, true});
  }
  For(low_cross, high_cross, [&](Value i) {
    For(low_inner, high_inner, [&](Value j) {
      at(i, j);
      EmitElements(0);
    });
  });
}

Value NestEmitter::Opaque(int64_t value) {
  Value constant = b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(value));
  Value hidden = b_.create<LLVM::InlineAsmOp>(s_.loc(), b_.getI64Type(), constant, "", "=r,0",
                                              /*has_side_effects=*/false, /*is_align_stack=*/false,
                                              LLVM::AsmDialectAttr(), mlir::ArrayAttr())
                     .getRes();
  return b_.create<mlir::arith::IndexCastOp>(s_.loc(), b_.getIndexType(), hidden);
}

void NestEmitter::KeepTile(const KeptValue& kept) {
  ElementEmitter::Scope scope(e_);
  Scalar scalar = e_.element(kept.tensor, CoordsOf(kept));
  e_.Store(ScratchAt(kept.offset), scalar.type(), tile_position_, scalar);
}

void NestEmitter::UpdateCaches() {
  for (const KeptValue& kept : schedule_.kept) {
    KernelEmitter::Cache* cache = e_.FindCache(kept.tensor);
    if (!cache) continue;
    cache->coords = KeyOf(kept.dims, kept.constants);
    bool tiles = schedule_.mode == Schedule::Mode::kTiles;
    cache->position = tiles ? tile_position_ : kept.is_full ? ReducedPosition() : column_;
  }
  if (schedule_.mode != Schedule::Mode::kColumn) return;
  for (JobReduction& reduction : job_.reductions) {
    KernelEmitter::Cache* cache = e_.FindCache(reduction.result());
    if (!cache) continue;
    cache->coords = ParallelKey();
    cache->position = column_;
  }
}

SmallVector<Value> NestEmitter::CoordsOf(const KeptValue& kept) {
  SmallVector<Value> at;
  for (auto [dim, constant] : llvm::zip(kept.dims, kept.constants)) {
    at.push_back(dim >= 0 ? coords_[dim] : e_.index(constant));
  }
  return at;
}

Coordinates NestEmitter::KeyOf(ArrayRef<int> dims, ArrayRef<int64_t> constants) const {
  Coordinates key;
  for (auto [dim, constant] : llvm::zip(dims, constants)) {
    key.push_back(dim >= 0 ? Coordinate::Of(coords_[dim]) : Coordinate{Value(), constant});
  }
  return key;
}

SmallVector<Value> NestEmitter::ParallelCoords() const {
  SmallVector<Value> at;
  for (size_t d = 0; d < job_.domain.size(); ++d) {
    if (!job_.reduced[d]) at.push_back(coords_[d]);
  }
  return at;
}

Coordinates NestEmitter::ParallelKey() const {
  Coordinates key;
  for (Value coord : ParallelCoords()) key.push_back(Coordinate::Of(coord));
  return key;
}

Value NestEmitter::ParallelPosition() { return e_.linearize(ParallelCoords(), job_.parallel_shape()); }

Value NestEmitter::ReducedPosition() { return e_.linearize(reduced_at_, SizesOf(schedule_.reduced)); }

}  // namespace sinter::codegen
