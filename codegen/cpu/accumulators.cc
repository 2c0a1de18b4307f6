#include "sinter/codegen/cpu/accumulators.h"

#include <algorithm>
#include <utility>

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

// Partial results that the vector loop computes in parallel: four vectors of sixteen, which hide an
// addition's latency.
constexpr int64_t kLanes = 64;

}  // namespace

Accumulators::Accumulators(LoopContext& t) : LoopPart(t) {
  bool columns = schedule_.mode == LoopSchedule::Mode::kColumn;
  int64_t count = schedule_.reduced.size() == 1 ? schedule_.chunk_size : schedule_.reduced.back().size;
  if (!columns)
    lanes_ = std::min<int64_t>(kLanes, llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, count))));
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    arrays_.emplace_back(), is_unsigned_.emplace_back(), types_.emplace_back();
    for (auto [k, scalar] : llvm::enumerate(reduction.op.emitIdentity(s_))) {
      types_.back().push_back(scalar.type());
      is_unsigned_.back().push_back(scalar.is_unsigned);
      if (columns) arrays_.back().push_back(t_.ScratchAt(schedule_.accumulators[i][k]));
    }
  }
  if (columns) return;
  arrays_ = AllocateLanes(lanes_);
  for (int64_t half = lanes_ / 2; half > 0; half /= 2) halves_.push_back(AllocateLanes(half));
}

Accumulators::Arrays Accumulators::AllocateLanes(int64_t lanes) {
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

void Accumulators::SplitChunk(Value& unit) {
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

void Accumulators::Init(int phase, Value lane) {
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase == phase) Store(arrays_, i, reduction.op.emitIdentity(s_), lane);
  }
}

SmallVector<Scalar> Accumulators::Load(const Arrays& arrays, size_t reduction, Value lane) {
  SmallVector<Scalar> scalars;
  for (auto [array, type, is_unsigned] :
       llvm::zip(arrays[reduction], types_[reduction], is_unsigned_[reduction])) {
    scalars.push_back(e_.Load(array, type, lane));
    scalars.back().is_unsigned = is_unsigned;
  }
  return scalars;
}

void Accumulators::Store(const Arrays& arrays, size_t reduction, ArrayRef<Scalar> scalars, Value lane) {
  for (auto [array, scalar] : llvm::zip(arrays[reduction], scalars))
    e_.Store(array, scalar.type(), lane, scalar);
}

SmallVector<size_t> Accumulators::ReductionsOf(int phase) const {
  SmallVector<size_t> numbers;
  for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
    if (reduction.phase == phase) numbers.push_back(i);
  }
  return numbers;
}

SmallVector<Scalar> Accumulators::Combined(int phase, Value lane) {
  ElementEmitter::Scope scope(e_);
  t_.UpdateCaches();
  SmallVector<Scalar> sums;
  for (size_t i : ReductionsOf(phase)) {
    SmallVector<Scalar> element = Lift(job_.reductions[i]);
    sums.append(job_.reductions[i].op.emitCombine(s_, Load(arrays_, i, lane), element));
  }
  t_.EmitElements(phase);
  return sums;
}

void Accumulators::Accumulate(int phase, Value lane) {
  const SmallVector<Scalar> sums = Combined(phase, lane);
  ArrayRef<Scalar> rest = sums;
  for (size_t i : ReductionsOf(phase)) {
    Store(arrays_, i, rest.take_front(types_[i].size()), lane);
    rest = rest.drop_front(types_[i].size());
  }
}

void Accumulators::AccumulateIf(Value condition, int phase, Value lane) {
  SmallVector<mlir::Type> types;
  for (size_t i : ReductionsOf(phase)) types.append(types_[i].begin(), types_[i].end());
  auto branch = b_.create<mlir::scf::IfOp>(s_.loc(), types, condition, /*withElseRegion=*/true);
  auto fill = [&](mlir::Block* block, llvm::function_ref<SmallVector<Scalar>()> scalars) {
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(block);
    SmallVector<Value> values;
    for (const Scalar& scalar : scalars()) values.push_back(scalar.value);
    b_.create<mlir::scf::YieldOp>(s_.loc(), values);
  };
  fill(branch.thenBlock(), [&] { return Combined(phase, lane); });
  fill(branch.elseBlock(), [&] {
    SmallVector<Scalar> kept;
    for (size_t i : ReductionsOf(phase)) kept.append(Load(arrays_, i, lane));
    return kept;
  });
  size_t result = 0;
  for (size_t i : ReductionsOf(phase)) {
    SmallVector<Scalar> scalars;
    for (bool is_unsigned : is_unsigned_[i])
      scalars.push_back(s_.wrap(branch.getResult(result++), is_unsigned));
    Store(arrays_, i, scalars, lane);
  }
}

SmallVector<Scalar> Accumulators::Lift(JobReduction& reduction) {
  if (job_.kind == Job::Kind::kCombine) {
    Value stride = e_.index(TripCount(schedule_.parallel));
    Value position = e_.add(e_.mul(t_.reduced_at()[0], stride), t_.ParallelPosition());
    SmallVector<Scalar> scalars;
    size_t index = &reduction - job_.reductions.data();
    for (auto [k, slot] : llvm::enumerate(reduction.partials)) {
      scalars.push_back(e_.Load(t_.PointerTo(slot), types_[index][k], position));
      scalars.back().is_unsigned = is_unsigned_[index][k];
    }
    return scalars;
  }
  ArrayRef<int64_t> dims = reduction.op.getReducedDims();
  Value index = dims.empty() ? e_.index(0) : t_.coords()[dims.front()];
  return reduction.op.emitLift(s_, e_.element(reduction.operand(), t_.coords()), index);
}

void Accumulators::StorePartials(JobReduction& reduction, ArrayRef<Scalar> scalars) {
  Value position = e_.add(e_.mul(chunk_, e_.index(TripCount(schedule_.parallel))), t_.ParallelPosition());
  for (auto [slot, scalar] : llvm::zip(reduction.partials, scalars)) {
    e_.Store(t_.PointerTo(slot), scalar.type(), position, scalar);
  }
}

Accumulators::Arrays Accumulators::CombineLanes(int phase) {
  Arrays from = arrays_;
  int64_t half = lanes_;
  for (const Arrays& to : halves_) {
    half /= 2;
    t_.For(e_.index(0), e_.index(half), [&](Value lane) {
      for (auto [i, reduction] : llvm::enumerate(job_.reductions)) {
        if (reduction.phase != phase) continue;
        SmallVector<Scalar> a = Load(from, i, lane), b = Load(from, i, e_.add(lane, e_.index(half)));
        Store(to, i, reduction.op.emitCombine(s_, a, b), lane);
      }
    });
    from = to;
  }
  return from;
}

}  // namespace sinter::codegen
