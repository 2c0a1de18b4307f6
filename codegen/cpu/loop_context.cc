#include "sinter/codegen/cpu/loop_context.h"

#include <utility>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/loops/job_slots.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

LoopContext::LoopContext(ir::ScalarBuilder& s, Job& job, const LoopSchedule& schedule, PointerOf pointer_of,
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
}

// Loops and coordinates -----------------------------------------------------------------------------------

std::optional<int64_t> LoopContext::ConstantOf(Value value) {
  if (auto constant = value.getDefiningOp<mlir::arith::ConstantIndexOp>()) return constant.value();
  return std::nullopt;
}

Value LoopContext::Opaque(int64_t value) {
  Value constant = b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(value));
  Value hidden = b_.create<LLVM::InlineAsmOp>(s_.loc(), b_.getI64Type(), constant, "", "=r,0",
                                              /*has_side_effects=*/false, /*is_align_stack=*/false,
                                              LLVM::AsmDialectAttr(), mlir::ArrayAttr())
                     .getRes();
  return b_.create<mlir::arith::IndexCastOp>(s_.loc(), b_.getIndexType(), hidden);
}

void LoopContext::For(Value low, Value high, Body body) {
  auto first = ConstantOf(low), last = ConstantOf(high);
  if (first && last && *last <= *first) return;
  if (first && last && *last == *first + 1) return body(low);
  auto loop = b_.create<mlir::scf::ForOp>(s_.loc(), low, high, e_.index(1));
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void LoopContext::ForLoops(ArrayRef<Loop> loops, llvm::function_ref<void()> body) {
  if (loops.empty()) return body();
  For(e_.index(0), e_.index(loops.front().size), [&](Value i) {
    SetCoordinate(loops.front(), i);
    ForLoops(loops.drop_front(), body);
  });
}

void LoopContext::SetCoordinate(const Loop& loop, Value value) {
  if (loop.dim >= 0) coords_[loop.dim] = value;
  for (auto [i, reduced] : llvm::enumerate(schedule_.reduced)) {
    if (&reduced == &loop) reduced_at_[i] = value;
  }
}

void LoopContext::SetCoordinates(ArrayRef<Loop> loops, Value position) {
  SmallVector<Value> at = e_.delinearize(position, SizesOf(loops));
  for (auto [loop, value] : llvm::zip(loops, at)) SetCoordinate(loop, value);
}

SmallVector<Value> LoopContext::CoordsOf(const KeptValue& kept) {
  SmallVector<Value> at;
  for (auto [dim, constant] : llvm::zip(kept.dims, kept.constants)) {
    at.push_back(dim >= 0 ? coords_[dim] : e_.index(constant));
  }
  return at;
}

Coordinates LoopContext::KeyOf(ArrayRef<int> dims, ArrayRef<int64_t> constants) const {
  Coordinates key;
  for (auto [dim, constant] : llvm::zip(dims, constants)) {
    key.push_back(dim >= 0 ? Coordinate::Of(coords_[dim]) : Coordinate{Value(), constant});
  }
  return key;
}

SmallVector<Value> LoopContext::ParallelCoords() const {
  SmallVector<Value> at;
  for (size_t d = 0; d < job_.domain.size(); ++d) {
    if (!job_.reduced[d]) at.push_back(coords_[d]);
  }
  return at;
}

Coordinates LoopContext::ParallelKey() const {
  Coordinates key;
  for (Value coord : ParallelCoords()) key.push_back(Coordinate::Of(coord));
  return key;
}

Value LoopContext::ParallelPosition() { return e_.linearize(ParallelCoords(), job_.parallel_shape()); }

Value LoopContext::ReducedPosition() { return e_.linearize(reduced_at_, SizesOf(schedule_.reduced)); }

// Memory --------------------------------------------------------------------------------------------------

Value LoopContext::ScratchAt(int64_t offset) {
  return e_.Address(scratch_, b_.getI8Type(), e_.index(offset));
}

void LoopContext::UpdateCaches() {
  for (const KeptValue& kept : schedule_.kept) {
    KernelEmitter::Cache* cache = e_.FindCache(kept.tensor);
    if (!cache) continue;
    cache->coords = KeyOf(kept.dims, kept.constants);
    bool tiles = schedule_.mode == LoopSchedule::Mode::kTiles;
    cache->position = tiles ? tile_position_ : kept.is_full ? ReducedPosition() : column_;
  }
  if (schedule_.mode != LoopSchedule::Mode::kColumn) return;
  for (JobReduction& reduction : job_.reductions) {
    KernelEmitter::Cache* cache = e_.FindCache(reduction.result());
    if (!cache) continue;
    cache->coords = ParallelKey();
    cache->position = column_;
  }
}

void LoopContext::EmitElements(int phase) {
  ElementEmitter::Scope scope(e_);
  UpdateCaches();
  // Computes all values before any store, because an output may overwrite an input.
  SmallVector<std::pair<JobOutput*, Scalar>> values;
  for (JobOutput& output : job_.full_outputs) {
    if (output.phase == phase) values.emplace_back(&output, e_.element(output.value, coords_));
  }
  for (auto& [output, scalar] : values) {
    e_.Store(pointer_of_(output->slot), output->slot.type.getElementType(),
             PositionOf(e_, *output, coords_, job_.domain), scalar);
  }
}

void LoopContext::EmitReducedOutputs() {
  SmallVector<Value> at = ParallelCoords();
  SmallVector<Scalar> values;
  for (JobOutput& output : job_.reduced_outputs) values.push_back(e_.element(output.value, at));
  Value position = ParallelPosition();
  for (auto [output, scalar] : llvm::zip(job_.reduced_outputs, values)) {
    e_.Store(pointer_of_(output.slot), output.slot.type.getElementType(), position, scalar);
  }
}

}  // namespace sinter::codegen
