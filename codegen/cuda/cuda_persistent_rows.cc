// Maps that read much memory that varies only along their innermost loop.
// An example is a batch norm in nhwc, which reads the mean, deviation, scale and offset of each channel. With
// a vector of one row, a thread would read 32 bytes of each of these for every 16 bytes of a large operand,
// and the L1 cache would be the bottleneck. A thread therefore keeps its vector position and iterates over
// rows: values that vary only along the innermost loop are read and computed once.
#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/cuda_schedule.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::codegen {

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
// Two leave it 128.
constexpr int64_t kMostKeptBytesOfTwo = 104 * 4;
constexpr int64_t kFewestLanes = 4;

int64_t ComputeBytes(Value tensor) {
  return ir::ElementBytes(ir::ScalarBuilder::ComputeType(ir::TypeOf(tensor).getElementType()));
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

bool ScheduleCudaVectorRows(Job& job, CudaSchedule& s) {
  if (job.kind != Job::Kind::kWhole || !job.column_reductions.empty() || job.phases() != 1) return false;
  if (s.parallel.size() < 2 || s.reduced.size() != 1) return false;
  const Loop& row = s.reduced.back();
  const auto dims = static_cast<int>(job.domain.size());
  if (row.dim != dims - 1 || s.parallel.back().dim != dims - 2 || s.vector != row.size) return false;
  return ScheduleCudaStrips(job, s);
}

bool ScheduleCudaStrips(Job& job, CudaSchedule& s) {
  const Loop& loop = s.parallel.back();
  const bool reduces = !s.reduced.empty();
  const int64_t length = loop.size * TripCount(s.reduced);
  // The dimensions merged into the innermost loop, and the reduced one behind it.
  llvm::SmallBitVector inner(job.domain.size());
  inner.set(s.parallel[s.parallel.size() - 2].dim + 1, (reduces ? s.reduced.back().dim : loop.dim) + 1);
  const Traffic traffic = TrafficOf(job, inner);
  if (traffic.along <= traffic.read + traffic.written) return false;
  std::vector<KeptValue> values = ValuesAlong(job, inner);
  if (values.empty()) return false;

  const int64_t rows = TripCount(s.parallel) / loop.size;
  auto blocks = [&](int64_t vector, int64_t rows_of_thread) {
    return llvm::divideCeilSigned(llvm::divideCeilSigned(rows, rows_of_thread) * (length / vector), s.block);
  };
  int64_t unroll = 4;
  if (blocks(s.vector, unroll) < kManyCudaBlocks) unroll = 2;
  if (blocks(s.vector, unroll) < kManyCudaBlocks) return false;
  int64_t along = 0;
  for (const KeptValue& value : values) along += ComputeBytes(value.tensor);
  int64_t vector = s.vector, most = kMostKeptBytes;
  if (reduces) {
    // A thread needs the whole vector: it has more registers or fewer rows instead.
    if (vector * (unroll * traffic.read + along) > most) unroll = 2, most = kMostKeptBytesOfTwo;
  } else {
    while (vector > kFewestLanes && vector * (unroll * traffic.read + along) > most) vector /= 2;
  }
  if (vector * (unroll * traffic.read + along) > most) return false;
  s.vector = vector;
  s.mode = CudaSchedule::Mode::kPersistentRows;
  s.unroll = unroll;
  s.resident = most == kMostKeptBytes ? kResident : 2;
  s.along = std::move(values);
  while (s.passes < kMostPasses && blocks(s.vector, 2 * s.passes * unroll) >= kBlocksOfLoops) s.passes *= 2;
  const int64_t vectors = length / s.vector;
  s.side_by_side = std::max<int64_t>(1, s.block / vectors);
  const int64_t groups = llvm::divideCeilSigned(rows, s.side_by_side * s.unroll * s.passes);
  s.blocks = llvm::divideCeilSigned(groups * s.side_by_side * vectors, s.block);
  return true;
}

}  // namespace sinter::codegen
