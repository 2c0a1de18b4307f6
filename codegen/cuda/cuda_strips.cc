// Maps that read much memory that varies only along their innermost loop.
// An example is a batch norm in nhwc, which reads the mean, deviation, scale and offset of each channel. With
// a vector of one row, a thread would read 32 bytes of each of these for every 16 bytes of a large operand,
// and the L1 cache would be the bottleneck. A thread therefore keeps its vector position and iterates over
// rows: values that vary only along the innermost loop are read and computed once.
#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nest.h"

namespace sinter::codegen {

namespace scf = mlir::scf;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

// Loops over more rows only if enough blocks for many waves remain, so that the last wave is a small part of
// them.
constexpr int64_t kBlocksOfLoops = 4 * kManyCudaBlocks;
constexpr int64_t kMostPasses = 8;
// Three resident blocks leave a thread 80 registers. Kept values and rows in flight may use 64 of them,
// because addresses and results reuse the same registers. If fewer resident blocks are requested, ptxas saves
// registers and reads the rows one by one.
constexpr int64_t kResident = 3, kMostKeptBytes = 64 * 4;
constexpr int64_t kFewestLanes = 4;

int64_t ComputeBytes(Value tensor) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
  return std::max<int64_t>(1, ir::ScalarBuilder::ComputeType(element).getIntOrFloatBitWidth() / 8);
}

// Bytes of one position of a map: of operands that vary only along the innermost loop, and of all others.
struct Traffic {
  int64_t along = 0, read = 0, written = 0;
};

Traffic TrafficOf(Job& job, const llvm::SmallBitVector& inner) {
  Traffic traffic;
  SmallVector<const Trace*> traces;
  for (const JobOutput& output : job.full_outputs) {
    traffic.written += StoredBytes(output.value);
    traces.push_back(&output.trace);
  }
  for (const Access& access : DistinctAccesses(traces)) {
    bool along = false, across = !access.is_affine;
    for (auto [d, stride] : llvm::enumerate(access.strides)) (inner[d] ? along : across) |= stride != 0;
    if (across || along) (across ? traffic.read : traffic.along) += StoredBytes(access.tensor);
  }
  return traffic;
}

// Returns the values that vary only along the dimensions `inner`, except those that only other such values
// use.
std::vector<KeptValue> ValuesAlong(Job& job, const llvm::SmallBitVector& inner) {
  auto is_along = [&](const Request& request) {
    bool moves = false;
    for (int dim : request.dims) {
      if (dim != Request::kConstant && (dim < 0 || !inner[dim])) return false;
      moves |= dim != Request::kConstant;
    }
    return moves;
  };
  std::vector<KeptValue> values;
  for (const JobOutput& output : job.full_outputs) {
    for (const Request& request : output.trace.requests) {
      if (!is_along(request)) continue;
      if (request.parent >= 0 && is_along(output.trace.requests[request.parent])) continue;
      bool known = llvm::any_of(values, [&](const KeptValue& value) {
        return value.tensor == request.tensor && value.dims == request.dims &&
               value.constants == request.constants;
      });
      if (!known) values.push_back({request.tensor, request.dims, request.constants});
    }
  }
  return values;
}

}  // namespace

bool ScheduleCudaStrips(Job& job, CudaSchedule& s) {
  const Loop& loop = s.parallel.back();
  // The dimensions merged into the innermost loop.
  llvm::SmallBitVector inner(job.domain.size());
  inner.set(s.parallel[s.parallel.size() - 2].dim + 1, loop.dim + 1);
  const Traffic traffic = TrafficOf(job, inner);
  if (traffic.along <= traffic.read + traffic.written) return false;
  std::vector<KeptValue> values = ValuesAlong(job, inner);
  if (values.empty()) return false;

  const int64_t rows = TripCount(s.parallel) / loop.size;
  auto blocks = [&](int64_t vector, int64_t rows_of_thread) {
    return llvm::divideCeilSigned(llvm::divideCeilSigned(rows, rows_of_thread) * (loop.size / vector),
                                  s.block);
  };
  int64_t unroll = 4;
  if (blocks(s.vector, unroll) < kManyCudaBlocks) unroll = 2;
  if (blocks(s.vector, unroll) < kManyCudaBlocks) return false;
  int64_t kept = unroll * traffic.read;
  for (const KeptValue& value : values) kept += ComputeBytes(value.tensor);
  int64_t vector = s.vector;
  while (vector > kFewestLanes && vector * kept > kMostKeptBytes) vector /= 2;
  if (vector * kept > kMostKeptBytes) return false;
  s.vector = vector;
  s.mode = CudaSchedule::Mode::kStrips;
  s.unroll = unroll;
  s.resident = kResident;
  s.along = std::move(values);
  while (s.passes < kMostPasses && blocks(s.vector, 2 * s.passes * unroll) >= kBlocksOfLoops) s.passes *= 2;
  const int64_t vectors = loop.size / s.vector;
  s.side_by_side = std::max<int64_t>(1, s.block / vectors);
  const int64_t groups = llvm::divideCeilSigned(rows, s.side_by_side * s.unroll * s.passes);
  s.blocks = llvm::divideCeilSigned(groups * s.side_by_side * vectors, s.block);
  return true;
}

void CudaNest::EmitStrips(Value block, Value thread) {
  const Loop& inner = schedule_.parallel.back();
  const int64_t vectors = inner.size / schedule_.vector, rows = TripCount(schedule_.parallel) / inner.size;
  const int64_t step = schedule_.side_by_side, group = step * schedule_.unroll * schedule_.passes;
  const int64_t groups = llvm::divideCeilSigned(rows, group), threads = groups * step * vectors;
  Value position = e_.add(e_.mul(block, e_.index(schedule_.block)), thread);
  If(threads % schedule_.block == 0 ? Value() : e_.lt(position, e_.index(threads)), [&] {
    SmallVector<Value> at = e_.delinearize(position, {groups, step, vectors});
    Value first = e_.mul(at[2], e_.index(schedule_.vector)),
          row = e_.add(e_.mul(at[0], e_.index(group)), at[1]);
    SmallVector<Value> columns;
    for (int64_t j = 0; j < schedule_.vector; ++j) columns.push_back(e_.add(first, e_.index(j)));
    UseLanes(StripLanes(columns));
    for (const KeptValue& kept : schedule_.along) {
      for (Value column : columns) {
        coords_[inner.dim] = column;
        e_.element(kept.tensor, CoordsOf(kept));
      }
    }
    if (schedule_.passes == 1) return EmitStripRows(columns, row);
    auto loop = b_.create<scf::ForOp>(s_.loc(), e_.index(0), e_.index(schedule_.passes), e_.index(1));
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(loop.getBody()->getTerminator());
    ElementEmitter::Scope scope(e_);
    EmitStripRows(columns, e_.add(row, e_.mul(loop.getInductionVar(), e_.index(step * schedule_.unroll))));
  });
}

CudaNest::Lanes CudaNest::StripLanes(ArrayRef<Value> columns) {
  Lanes lanes;
  for (Value column : columns) {
    lanes.coords.push_back(coords_);
    lanes.coords.back()[schedule_.parallel.back().dim] = column;
  }
  return lanes;
}

void CudaNest::EmitStripRows(ArrayRef<Value> columns, Value first) {
  ArrayRef<Loop> outer = ArrayRef(schedule_.parallel).drop_back();
  const int64_t rows = TripCount(outer), step = schedule_.side_by_side;
  std::vector<Lanes> lanes;
  std::vector<FullValues> values;
  for (int64_t k = 0; k < schedule_.unroll; ++k) {
    Value row = e_.add(first, e_.index(k * step)), exists;
    if (rows % (step * schedule_.unroll * schedule_.passes) != 0) {
      // Computes the last row again without storing it: a branch would keep rows from being read together.
      exists = e_.lt(row, e_.index(rows));
      row = e_.min(row, e_.index(rows - 1));
    }
    SetParallel(outer, row);
    lanes.push_back(StripLanes(columns));
    lanes.back().exists = exists;
    UseLanes(lanes.back());
    values.push_back(ComputeFullOutputs(0, lanes.back()));
  }
  for (auto [row_lanes, row_values] : llvm::zip(lanes, values)) StoreFullValues(row_values, row_lanes);
}

}  // namespace sinter::codegen
