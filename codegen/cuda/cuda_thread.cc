#include "sinter/codegen/cuda/cuda_thread.h"

#include <utility>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/loops/job_slots.h"

namespace sinter::codegen {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
namespace scf = mlir::scf;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

CudaThread::CudaThread(ir::ScalarBuilder& s, Job& job, const CudaSchedule& schedule, PlaceOfSlot place_of)
    : b_(s.builder()), s_(s), job_(job), schedule_(schedule), place_of_(std::move(place_of)), e_(s) {
  for (auto& [tensor, slot] : job_.reads) {
    Place place = place_of_(slot);
    e_.SetTensor(tensor, place.pointer, place.is_read_only, place.is_aligned);
  }
  coords_.assign(job_.domain.size(), e_.index(0));
}

// Control flow and threads --------------------------------------------------------------------------------

void CudaThread::If(Value condition, Action action) {
  if (!condition) return action();
  auto branch = b_.create<scf::IfOp>(s_.loc(), condition, /*withElseRegion=*/false);
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  // Elements computed inside are not available outside.
  ElementEmitter::Scope scope(e_);
  action();
}

Value CudaThread::And(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  return b_.create<arith::AndIOp>(s_.loc(), a, b);
}

Value CudaThread::Select(Value condition, Value a, Value b) {
  return condition ? Value(b_.create<arith::SelectOp>(s_.loc(), condition, a, b)) : a;
}

void CudaThread::Barrier() { b_.create<mlir::func::CallOp>(s_.loc(), "sn_barrier", mlir::TypeRange()); }

Scalar CudaThread::ShuffleXor(Scalar x, int64_t mask) {
  Value bits = b_.create<arith::ConstantOp>(s_.loc(), b_.getI32IntegerAttr(mask));
  auto call =
      b_.create<mlir::func::CallOp>(s_.loc(), "sn_shuffle_xor", x.type(), mlir::ValueRange{x.value, bits});
  return s_.wrap(call.getResult(0), x.is_unsigned);
}

// Coordinates --------------------------------------------------------------------------------

void CudaThread::SetParallel(ArrayRef<Loop> loops, Value position) {
  SmallVector<Value> at = e_.delinearize(position, SizesOf(loops));
  for (auto [loop, value] : llvm::zip(loops, at)) {
    if (loop.dim >= 0) coords_[loop.dim] = value;
  }
}

SmallVector<Value> CudaThread::ParallelCoords(ArrayRef<Value> coords) const {
  SmallVector<Value> at;
  for (size_t d = 0; d < job_.domain.size(); ++d) {
    if (!job_.reduced[d]) at.push_back(coords[d]);
  }
  return at;
}

Value CudaThread::ParallelPosition(ArrayRef<Value> coords) {
  return e_.linearize(ParallelCoords(coords), job_.parallel_shape());
}

void CudaThread::UseLanes(const Lanes& lanes) {
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

void CudaThread::StoreLanes(const JobOutput& output, const Lanes& lanes, ArrayRef<Scalar> values) {
  Place place = place_of_(output.slot);
  mlir::Type element = output.slot.type.getElementType();
  // If the lanes are neighbours in the last dimension, they are stored in one access.
  size_t last = job_.domain.size() - 1;
  const auto count = static_cast<int64_t>(values.size());
  const SmallVector<int64_t> strides = output.strides(job_.domain);
  bool neighbours = count > 1 && place.is_aligned && output.offset() % count == 0 &&
                    lanes.coords[0][last] != lanes.coords[1][last];
  for (size_t d = last; neighbours && d-- > 0;) {
    Coordinate at = Coordinate::Of(lanes.coords[0][d]);
    neighbours = (at.value ? strides[d] : at.constant * strides[d]) % count == 0;
  }
  if (!neighbours) {
    for (auto [coords, value] : llvm::zip(lanes.coords, values)) {
      e_.Store(place.pointer, element, PositionOf(e_, output, coords, job_.domain), value);
    }
    return;
  }
  StoreVector(place.pointer, element, PositionOf(e_, output, lanes.coords[0], job_.domain), values);
}

void CudaThread::StoreVector(Value pointer, mlir::Type element, Value position, ArrayRef<Scalar> values) {
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
  store.setNontemporal(streams_stores_);
}

void CudaThread::StoreFullOutputs(int phase, const Lanes& lanes) {
  StoreFullValues(ComputeFullOutputs(phase, lanes), lanes);
}

CudaThread::FullValues CudaThread::ComputeFullOutputs(int phase, const Lanes& lanes) {
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

void CudaThread::StoreFullValues(const FullValues& values, const Lanes& lanes) {
  if (values.empty()) return;
  If(lanes.exists, [&] {
    for (auto& [output, scalars] : values) StoreLanes(*output, lanes, scalars);
  });
}

bool CudaThread::OverwritesRowValue() {
  return llvm::any_of(job_.reduced_outputs, [&](const JobOutput& output) {
    Value pointer = place_of_(output.slot).pointer;
    return llvm::any_of(job_.reads, [&](auto& read) { return place_of_(read.second).pointer == pointer; });
  });
}

void CudaThread::EmitReducedOutputs(ArrayRef<Value> coords, Value writes) {
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

}  // namespace sinter::codegen
