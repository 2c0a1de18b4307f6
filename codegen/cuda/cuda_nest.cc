#include "sinter/codegen/cuda/cuda_nest.h"

#include <algorithm>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_printer.h"

namespace sinter::codegen {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
namespace scf = mlir::scf;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

CudaNest::CudaNest(ir::ScalarBuilder& s, Job& job, const CudaSchedule& schedule, PlaceOfSlot place_of)
    : b_(s.builder()), s_(s), job_(job), schedule_(schedule), place_of_(std::move(place_of)), e_(s) {
  for (auto& [tensor, slot] : job_.reads) {
    Place place = place_of_(slot);
    e_.SetTensor(tensor, place.pointer, place.is_read_only, place.is_aligned);
  }
  coords_.assign(job_.domain.size(), e_.index(0));
  if (schedule_.mode == CudaSchedule::Mode::kRow && !schedule_.keeps_row) rescaled_ = FindRescaledSums(job_);
}

void CudaNest::Emit(Value block, Value thread, Value length) {
  ElementEmitter::Scope scope(e_);
  switch (schedule_.mode) {
    case CudaSchedule::Mode::kFlat:
      return EmitFlat(block, thread, length);
    case CudaSchedule::Mode::kMap:
      return EmitMap(block, thread);
    case CudaSchedule::Mode::kStrips:
      return EmitStrips(block, thread);
    case CudaSchedule::Mode::kTiles:
      return EmitTiles(block, thread);
    case CudaSchedule::Mode::kRow:
      return EmitRow(block, thread);
    case CudaSchedule::Mode::kColumn:
      return EmitColumn(block, thread);
  }
}

// Small pieces --------------------------------------------------------------------------------

void CudaNest::If(Value condition, Action action) {
  if (!condition) return action();
  auto branch = b_.create<scf::IfOp>(s_.loc(), condition, /*withElseRegion=*/false);
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  // Elements computed inside are not available outside.
  ElementEmitter::Scope scope(e_);
  action();
}

Value CudaNest::And(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  return b_.create<arith::AndIOp>(s_.loc(), a, b);
}

Value CudaNest::Select(Value condition, Value a, Value b) {
  return condition ? Value(b_.create<arith::SelectOp>(s_.loc(), condition, a, b)) : a;
}

void CudaNest::Barrier() { b_.create<mlir::func::CallOp>(s_.loc(), "sn_barrier", mlir::TypeRange()); }

Scalar CudaNest::ShuffleXor(Scalar x, int64_t mask) {
  Value bits = b_.create<arith::ConstantOp>(s_.loc(), b_.getI32IntegerAttr(mask));
  auto call =
      b_.create<mlir::func::CallOp>(s_.loc(), "sn_shuffle_xor", x.type(), mlir::ValueRange{x.value, bits});
  return s_.wrap(call.getResult(0), x.is_unsigned);
}

void CudaNest::SetParallel(ArrayRef<Loop> loops, Value position) {
  SmallVector<Value> at = e_.delinearize(position, SizesOf(loops));
  for (auto [loop, value] : llvm::zip(loops, at)) {
    if (loop.dim >= 0) coords_[loop.dim] = value;
  }
}

SmallVector<Value> CudaNest::ParallelCoords(ArrayRef<Value> coords) const {
  SmallVector<Value> at;
  for (size_t d = 0; d < job_.domain.size(); ++d) {
    if (!job_.reduced[d]) at.push_back(coords[d]);
  }
  return at;
}

Value CudaNest::ParallelPosition(ArrayRef<Value> coords) {
  return e_.linearize(ParallelCoords(coords), job_.parallel_shape());
}

std::vector<size_t> CudaNest::ReductionsOf(int phase) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < job_.reductions.size(); ++i) {
    const RescaledSum* const rescaled = RescaledSumOf(i);
    if (job_.reductions[rescaled == nullptr ? i : rescaled->max].phase == phase) found.push_back(i);
  }
  return found;
}

void CudaNest::UseLanes(const Lanes& lanes) {
  SmallVector<Value> moving;
  if (lanes.coords.size() > 1) {
    for (size_t d = 0; d < job_.domain.size(); ++d) {
      if (lanes.coords[0][d] == lanes.coords[1][d]) continue;
      for (const auto& coords : lanes.coords) moving.push_back(coords[d]);
      break;
    }
  }
  e_.SetLanes(moving);
}

// Outputs --------------------------------------------------------------------------------

void CudaNest::StoreLanes(const JobOutput& output, const Lanes& lanes, ArrayRef<Scalar> values) {
  Place place = place_of_(output.slot);
  mlir::Type element = output.slot.type.getElementType();
  // If the lanes are neighbours in the last dimension, they are stored in one access.
  size_t last = job_.domain.size() - 1;
  bool neighbours = values.size() > 1 && place.is_aligned && lanes.coords[0][last] != lanes.coords[1][last];
  int64_t stride = 1;
  for (size_t d = last; neighbours && d-- > 0;) {
    stride *= job_.domain[d + 1];
    Coordinate at = Coordinate::Of(lanes.coords[0][d]);
    neighbours = (at.value ? stride : at.constant * stride) % static_cast<int64_t>(values.size()) == 0;
  }
  if (!neighbours) {
    for (auto [coords, value] : llvm::zip(lanes.coords, values)) {
      e_.Store(place.pointer, element, e_.linearize(coords, job_.domain), value);
    }
    return;
  }
  StoreVector(place.pointer, element, e_.linearize(lanes.coords[0], job_.domain), values);
}

void CudaNest::StoreVector(Value pointer, mlir::Type element, Value position, ArrayRef<Scalar> values) {
  if (values.size() == 1) return e_.Store(pointer, element, position, values.front());
  mlir::Location loc = s_.loc();
  SmallVector<Value> narrow;
  for (Scalar value : values) narrow.push_back(e_.Narrow(value, element));
  auto array = LLVM::LLVMArrayType::get(narrow.front().getType(), narrow.size());
  Value vector = b_.create<LLVM::UndefOp>(loc, array);
  for (auto [i, value] : llvm::enumerate(narrow)) {
    vector = b_.create<LLVM::InsertValueOp>(loc, vector, value, ArrayRef<int64_t>{static_cast<int64_t>(i)});
  }
  auto store = b_.create<LLVM::StoreOp>(loc, vector, e_.Address(pointer, element, position));
  store.setNontemporal(stores_past_caches_);
}

void CudaNest::StoreFullOutputs(int phase, const Lanes& lanes) {
  StoreFullValues(ComputeFullOutputs(phase, lanes), lanes);
}

CudaNest::FullValues CudaNest::ComputeFullOutputs(int phase, const Lanes& lanes) {
  FullValues values;
  for (const JobOutput& output : job_.full_outputs) {
    if (output.phase != phase) continue;
    values.emplace_back(&output, Scalars());
    for (const auto& coords : lanes.coords) {
      values.back().second.push_back(e_.element(output.value, coords));
    }
  }
  return values;
}

void CudaNest::StoreFullValues(const FullValues& values, const Lanes& lanes) {
  if (values.empty()) return;
  If(lanes.exists, [&] {
    for (auto& [output, scalars] : values) StoreLanes(*output, lanes, scalars);
  });
}

bool CudaNest::OverwritesRowValue() {
  return llvm::any_of(job_.reduced_outputs, [&](const JobOutput& output) {
    Value pointer = place_of_(output.slot).pointer;
    return llvm::any_of(job_.reads, [&](auto& read) { return place_of_(read.second).pointer == pointer; });
  });
}

void CudaNest::EmitReducedOutputs(ArrayRef<Value> coords, Value writes) {
  SmallVector<Value> at = ParallelCoords(coords);
  Scalars values;
  for (JobOutput& output : job_.reduced_outputs) values.push_back(e_.element(output.value, at));
  if (values.empty()) return;
  // Another thread may still read the row value that this output overwrites.
  if (OverwritesRowValue()) Barrier();
  If(writes, [&] {
    Value position = ParallelPosition(coords);
    for (auto [output, scalar] : llvm::zip(job_.reduced_outputs, values)) {
      e_.Store(place_of_(output.slot).pointer, output.slot.type.getElementType(), position, scalar);
    }
  });
}

// Maps --------------------------------------------------------------------------------

void CudaNest::EmitFlat(Value block, Value thread, Value length) {
  int64_t lanes = schedule_.vector;
  int dim = schedule_.parallel.back().dim;
  Value unit = e_.add(e_.mul(block, e_.index(schedule_.block)), thread);
  auto at = [&](Value i) {
    SmallVector<Value> coords = coords_;
    if (dim >= 0) coords[dim] = i;
    return coords;
  };
  auto one = [&](Value i) {
    ElementEmitter::Scope scope(e_);
    Lanes single{{at(i)}, Value(), Value()};
    UseLanes(single);
    StoreFullOutputs(0, single);
  };
  Value low = e_.mul(unit, e_.index(lanes));
  if (lanes == 1) {
    If(e_.lt(low, length), [&] { one(low); });
    return;
  }
  Value high = e_.add(low, e_.index(lanes));
  If(e_.ge(length, high), [&] {
    Lanes whole;
    for (int64_t j = 0; j < lanes; ++j) whole.coords.push_back(at(e_.add(low, e_.index(j))));
    UseLanes(whole);
    StoreFullOutputs(0, whole);
  });
  If(e_.lt(length, high), [&] {
    auto loop = b_.create<scf::ForOp>(s_.loc(), low, length, e_.index(1));
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(loop.getBody()->getTerminator());
    one(loop.getInductionVar());
  });
}

void CudaNest::EmitMap(Value block, Value thread) {
  const Loop& inner = schedule_.parallel.back();
  SmallVector<int64_t> sizes = SizesOf(schedule_.parallel);
  sizes.back() /= schedule_.vector;
  int64_t units = 1;
  for (int64_t size : sizes) units *= size;
  int64_t width = schedule_.block * schedule_.unroll;
  for (int64_t k = 0; k < schedule_.unroll; ++k) {
    ElementEmitter::Scope scope(e_);
    Value unit = e_.add(e_.mul(block, e_.index(width)), e_.add(thread, e_.index(k * schedule_.block)));
    If(units % width == 0 ? Value() : e_.lt(unit, e_.index(units)), [&] {
      SmallVector<Value> at = e_.delinearize(unit, sizes);
      for (auto [loop, value] : llvm::zip(schedule_.parallel, at)) {
        if (loop.dim >= 0) coords_[loop.dim] = value;
      }
      Value first = e_.mul(at.back(), e_.index(schedule_.vector));
      Lanes lanes;
      for (int64_t j = 0; j < schedule_.vector; ++j) {
        lanes.coords.push_back(coords_);
        lanes.coords.back()[inner.dim] = e_.add(first, e_.index(j));
      }
      UseLanes(lanes);
      StoreFullOutputs(0, lanes);
    });
  }
}

}  // namespace sinter::codegen
