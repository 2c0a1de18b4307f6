// Maps: every thread computes neighbours of one loop, or of the innermost of several.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nests.h"

namespace sinter::codegen {

namespace scf = mlir::scf;
using llvm::SmallVector;
using mlir::Value;

void EmitFlat(CudaThread& t, Value block, Value thread, Value length) {
  const CudaSchedule& schedule = t.schedule();
  LaneEmitter& e = t.e();
  mlir::OpBuilder& b = t.b();
  int64_t lanes = schedule.vector;
  int dim = schedule.parallel.back().dim;
  Value unit = e.add(e.mul(block, e.index(schedule.block)), thread);
  auto at = [&](Value i) {
    SmallVector<Value> coords = t.coords();
    if (dim >= 0) coords[dim] = i;
    return coords;
  };
  auto one = [&](Value i) {
    ElementEmitter::Scope scope(e);
    Lanes single{{at(i)}, Value(), Value()};
    t.UseLanes(single);
    t.StoreFullOutputs(0, single);
  };
  Value low = e.mul(unit, e.index(lanes));
  if (lanes == 1) {
    t.If(e.lt(low, length), [&] { one(low); });
    return;
  }
  Value high = e.add(low, e.index(lanes));
  t.If(e.ge(length, high), [&] {
    Lanes whole;
    for (int64_t j = 0; j < lanes; ++j) whole.coords.push_back(at(e.add(low, e.index(j))));
    t.UseLanes(whole);
    t.StoreFullOutputs(0, whole);
  });
  t.If(e.lt(length, high), [&] {
    auto loop = b.create<scf::ForOp>(t.s().loc(), low, length, e.index(1));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    one(loop.getInductionVar());
  });
}

namespace {

// Emits the vector number `unit` of all.
void EmitMapVector(CudaThread& t, Value unit) {
  const CudaSchedule& schedule = t.schedule();
  LaneEmitter& e = t.e();
  const Loop& inner = schedule.parallel.back();
  SmallVector<int64_t> sizes = SizesOf(schedule.parallel);
  sizes.back() /= schedule.vector;
  SmallVector<Value> at = e.delinearize(unit, sizes);
  for (auto [loop, value] : llvm::zip(schedule.parallel, at)) {
    if (loop.dim >= 0) t.coords()[loop.dim] = value;
  }
  Value first = e.mul(at.back(), e.index(schedule.vector));
  Lanes lanes;
  for (int64_t j = 0; j < schedule.vector; ++j) {
    lanes.coords.push_back(t.coords());
    lanes.coords.back()[inner.dim] = e.add(first, e.index(j));
  }
  t.UseLanes(lanes);
  t.StoreFullOutputs(0, lanes);
}

}  // namespace

void EmitMap(CudaThread& t, Value block, Value thread) {
  const CudaSchedule& schedule = t.schedule();
  LaneEmitter& e = t.e();
  const int64_t units = TripCount(schedule.parallel) / schedule.vector;
  const int64_t width = schedule.block * schedule.unroll;
  Value first = e.add(e.mul(block, e.index(width)), thread);
  auto emit = [&](bool is_guarded) {
    for (int64_t k = 0; k < schedule.unroll; ++k) {
      ElementEmitter::Scope scope(e);
      Value unit = e.add(first, e.index(k * schedule.block));
      t.If(is_guarded ? e.lt(unit, e.index(units)) : Value(), [&] { EmitMapVector(t, unit); });
    }
  };
  if (units % width == 0 || schedule.unroll == 1) return emit(units % width != 0);
  // Only the last block has fewer vectors. A condition around each vector would keep its loads behind the
  // stores of the vector before.
  Value end = e.mul(e.add(block, e.index(1)), e.index(width));
  t.If(e.ge(e.index(units), end), [&] { emit(false); });
  t.If(e.lt(e.index(units), end), [&] { emit(true); });
}

}  // namespace sinter::codegen
