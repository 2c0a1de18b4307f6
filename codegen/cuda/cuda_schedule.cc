#include "sinter/codegen/cuda/cuda_schedule.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/codegen/loops/job_drafts.h"
#include "sinter/ir/dialect/tensor_types.h"

#include <algorithm>
#include <map>

namespace sinter::codegen {

namespace {

constexpr int64_t kMaxBlock = ir::kPlannedGpu.block_threads;
constexpr int64_t kMaxKept = 32;  // The most elements of a row that a thread keeps in registers.
constexpr int64_t kGoodKept = 8;  // Fewer leave threads idle at barriers; more lengthen the dependency chain.
// The same for rows that more than 256 threads would share otherwise: such threads wait for each other and
// delay loads.
constexpr int64_t kGoodKeptOfMany = 16;
// Tiles: the side of a square; the most inputs that go through shared memory, 8.4 KB each in f64, and of them
// the most of 16 bits whose squares are four times as large. Shorter loops and strides than the limits read
// most of each sector that they touch anyway.
constexpr int64_t kTile = 32;
constexpr size_t kMostCrossing = 4, kMostNarrowCrossing = 2;
constexpr TileLimits kTileLimits = {.cross = 4, .inner = 4, .stride = 4};
// For rows with column reductions: row elements in the registers of a multiprocessor's threads (64 registers
// for every 8 elements), and the most resident blocks.
constexpr int64_t kResidentElements = ir::kPlannedGpu.registers / 64 * 8, kMostResident = 8;
// Threads for a row that no block keeps. Two such blocks a multiprocessor leave a thread 40 registers; two
// blocks of 1,024 threads would leave 32. Three blocks would reread more of their rows than the L1 cache
// holds.
constexpr int64_t kLongRowThreads = 768;
// Chunks: two blocks of a row for each multiprocessor, or four of columns, which are a quarter as large,
// unless the chunks would be shorter than kShortestRow. Combining chunks costs a launch, with a time
// proportional to their number.
constexpr int64_t kRowChunkBlocks = 2 * ir::kPlannedGpu.multiprocessors;
constexpr int64_t kColumnChunkBlocks = 4 * ir::kPlannedGpu.multiprocessors;
constexpr int64_t kShortestRow = 8 * kMaxBlock;
constexpr int64_t kFewestOfThread = 4;  // In columns: fewest elements of a thread.
// Chunks of columns: all four blocks of a multiprocessor at once, which leaves a thread 64 registers. Its
// columns may use 44 of them: for sums, for values that vary only along the columns, and for the rows in
// flight.
constexpr int64_t kColumnResident = 4, kColumnRegisters = 44, kRowsUnderWay = 4;
constexpr int64_t kFewestColumns = 2;
constexpr int64_t kMaxVector = 8;

int64_t PowerOfTwoAtLeast(int64_t x) {
  int64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

// Returns the most elements of an access whose position the coordinates move by `strides` from `offset`.
int64_t AlignedWidth(int64_t offset, llvm::ArrayRef<int64_t> strides) {
  int64_t width = kMaxVector;
  for (int64_t moves : llvm::concat<const int64_t>(llvm::ArrayRef(offset), strides)) {
    while (moves % width != 0) width /= 2;
  }
  return width;
}

// Bytes that a job reads and writes of neighbours along the dimension `dim`, one of those of its loops.
class Neighbours {
 public:
  Neighbours(Job& job, const CudaSchedule& s, int dim) : dim_(dim), is_loop_(job.domain.size()) {
    for (const Loop& loop : llvm::concat<const Loop>(s.parallel, s.reduced)) {
      if (loop.dim >= 0) is_loop_.set(loop.dim);
    }
    for (JobReduction& r : job.reductions) AddReads(job, r.trace, false);
    for (JobReduction& r : job.column_reductions) AddReads(job, r.trace, false);
    for (JobOutput& o : job.full_outputs) {
      AddReads(job, o.trace, false);
      if (dim != static_cast<int>(job.domain.size()) - 1) continue;
      Add(o.value, AlignedWidth(o.offset(), OfOtherLoops(o.strides(job.domain), Space(job, false))));
    }
    for (JobOutput& o : job.reduced_outputs) AddReads(job, o.trace, true);
  }

  bool empty() const { return by_size_.empty(); }
  // Returns the size of the elements with the most bytes.
  int64_t MostSize() const {
    return std::max_element(by_size_.begin(), by_size_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
  // True if accesses of `width` elements carry at least half of all bytes.
  bool MostFit(int64_t width) const {
    double fitting = 0, all = 0;
    for (const auto& [most, bytes] : by_width_) {
      all += bytes;
      if (most >= width) fitting += bytes;
    }
    return 2 * fitting >= all;
  }

 private:
  // Returns the strides, of the dimensions `dims`, along the loops other than that of dim_.
  llvm::SmallVector<int64_t> OfOtherLoops(llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int> dims) const {
    llvm::SmallVector<int64_t> found;
    for (auto [dim, stride] : llvm::zip_equal(dims, strides)) {
      if (dim != dim_ && is_loop_[dim]) found.push_back(stride);
    }
    return found;
  }

  void AddReads(Job& job, const Trace& trace, bool reduced) {
    const llvm::SmallVector<int> dims = Space(job, reduced);
    const auto* along = llvm::find(dims, dim_);
    if (along == dims.end()) return;
    for (const Access& access : trace.accesses) {
      if (!access.tensor || !access.is_affine || access.strides[along - dims.begin()] != 1) continue;
      Add(access.tensor, AlignedWidth(access.constant, OfOtherLoops(access.strides, dims)));
    }
  }

  void Add(mlir::Value tensor, int64_t width) {
    if (!seen_.insert({tensor.getAsOpaquePointer(), width}).second) return;
    by_size_[StoredBytes(tensor)] += static_cast<double>(ir::NumBytes(tensor));
    by_width_[width] += static_cast<double>(ir::NumBytes(tensor));
  }

  int dim_;
  llvm::SmallBitVector is_loop_;                  // Dimensions whose coordinates move.
  std::map<int64_t, double> by_size_, by_width_;  // Keyed by the bytes of an element, by AlignedWidth.
  llvm::SmallDenseSet<std::pair<void*, int64_t>> seen_;
};

// Returns the vector width along `dim` that fills an access for the element size with the most bytes read and
// written there. Narrower elements then have narrower accesses, which are contiguous too. Wider elements have
// two accesses a thread, with gaps between the threads' accesses, and storing them takes twice as many
// sectors. The same holds for accesses that are not aligned to the width: each element is one of its own.
int64_t VectorWidth(Job& job, const CudaSchedule& s, int dim, int64_t size) {
  const Neighbours neighbours(job, s, dim);
  if (neighbours.empty()) return 1;
  int64_t width = std::min<int64_t>(kAccessBytes / neighbours.MostSize(), kMaxVector);
  while (width > 1 && (size % width != 0 || !neighbours.MostFit(width))) width /= 2;
  return width;
}

// Sets the sizes of tiles: squares, unless one of the loops is shorter than a square's side. Numbers of 16
// bits have squares of twice the side, so that a block has as many bytes on the way.
void SizeTiles(int64_t cross, int64_t inner, CudaSchedule& s) {
  const bool are_narrow = s.crossing.size() <= kMostNarrowCrossing &&
                          llvm::all_of(s.crossing, [](auto& kept) { return StoredBytes(kept.tensor) <= 2; });
  const int64_t side = are_narrow ? 2 * kTile : kTile, elements = side * side;
  const auto size = [&](int64_t loop, int64_t most) {
    return std::min({PowerOfTwoAtLeast(loop), most, s.block});
  };
  s.tile_cross = size(cross, side);
  s.tile_inner = size(inner, elements / s.tile_cross);
  s.tile_cross = size(cross, elements / s.tile_inner);
}

// Schedules tiles and returns true if there are transposed inputs.
bool ScheduleTiles(Job& job, CudaSchedule& s) {
  LoopSchedule found = MakeSchedule(job, kTileLimits);
  if (found.mode != LoopSchedule::Mode::kTiles || found.kept.empty()) return false;
  const int64_t width = s.parallel[found.cross].size, length = s.parallel.back().size;
  // Smaller matrices stay in the L1 cache.
  if (width * length < s.block) return false;
  s.mode = CudaSchedule::Mode::kTiles;
  s.cross = found.cross;
  s.crossing = std::move(found.kept);
  if (s.crossing.size() > kMostCrossing) s.crossing.resize(kMostCrossing);
  SizeTiles(width, length, s);
  s.blocks = TripCount(s.parallel) / (width * length) * llvm::divideCeilSigned(width, s.tile_cross) *
             llvm::divideCeilSigned(length, s.tile_inner);
  return true;
}

void ScheduleMap(Job& job, bool alone, CudaSchedule& s) {
  if (s.parallel.empty()) s.parallel.push_back({1, -1});
  // Jobs that share a launch would add up their shared memory.
  if (alone && s.parallel.size() > 1 && ScheduleTiles(job, s)) return;
  const Loop& inner = s.parallel.back();
  if (s.parallel.size() == 1) {
    s.mode = CudaSchedule::Mode::kFlat;
    // For any length: the last elements have a separate loop.
    s.vector = inner.size < kWarp ? 1 : VectorWidth(job, s, inner.dim, kMaxVector);
    s.blocks = llvm::divideCeilSigned(inner.size, s.vector * s.block);
    return;
  }
  s.mode = CudaSchedule::Mode::kMap;
  s.vector = VectorWidth(job, s, inner.dim, inner.size);
  if (ScheduleCudaStrips(job, s)) return;
  int64_t units = TripCount(s.parallel) / s.vector;
  for (int64_t unroll : {4, 2}) {
    if (units / (unroll * s.block) < kManyCudaBlocks) continue;
    s.unroll = unroll;
    break;
  }
  s.blocks = llvm::divideCeilSigned(units, s.unroll * s.block);
}

void ScheduleRow(Job& job, bool alone, CudaSchedule& s) {
  s.mode = CudaSchedule::Mode::kRow;
  int64_t rows = TripCount(s.parallel);
  bool whole = job.kind == Job::Kind::kWhole;
  const Loop& inner = s.reduced.back();
  // A chunk of the innermost loop may begin anywhere.
  bool aligned = whole || s.reduced.size() > 1 || s.chunk_size % 8 == 0;
  if (job.kind != Job::Kind::kCombine && aligned) s.vector = VectorWidth(job, s, inner.dim, inner.size);
  if (ScheduleCudaVectorRows(job, s)) return;
  int64_t length = TripCount(s.reduced);
  if (!whole) length = length / std::max<int64_t>(1, s.reduced.front().size) * s.chunk_size;
  int64_t vectors = llvm::divideCeilSigned(length, s.vector);
  int64_t most = alone ? kMaxBlock : kCudaBlock;
  const bool is_shared_by_many = whole && alone && rows >= kManyCudaBlocks && length > kCudaBlock * kGoodKept;
  int64_t kept =
      std::max<int64_t>(1, (is_shared_by_many ? kGoodKeptOfMany : kGoodKept) / s.vector) * s.vector;
  int64_t wanted = llvm::divideCeilSigned(length, kept);
  // With many rows each gets one warp, if the warp's registers can hold the row: a GPU starts a block only
  // every 1.3 ns. Column reductions need registers too.
  const bool sums_columns = !job.column_reductions.empty();
  if (rows > kManyCudaBlocks * (sums_columns ? 4 : 1) &&
      length <= kWarp * kMaxKept / (sums_columns ? 2 : 1)) {
    wanted = std::min(wanted, kWarp);
  }
  s.threads = wanted <= kWarp ? PowerOfTwoAtLeast(wanted)
                              : std::min(most, llvm::divideCeilSigned(wanted, kWarp) * kWarp);
  if (length > kMaxBlock * kMaxKept) s.threads = std::min(s.threads, kLongRowThreads);
  // Prefers a nearby number of threads that leaves none idle.
  if (s.threads > kWarp) {
    for (int64_t t = s.threads; t > kWarp && t > s.threads / 2; t -= kWarp) {
      if (vectors % t != 0) continue;
      s.threads = t;
      break;
    }
  }
  s.keeps_row = whole && llvm::divideCeilSigned(vectors, s.threads) * s.vector <= kMaxKept;
  s.block = s.threads > kWarp ? s.threads : kCudaBlock;
  if (!alone) s.block = kCudaBlock;
  // Blocks of one row have no more threads than the row.
  if (!alone && s.threads > kWarp) s.threads = kCudaBlock;
  if (!alone) s.keeps_row = whole && llvm::divideCeilSigned(vectors, s.threads) * s.vector <= kMaxKept;
  int64_t rows_a_block = s.block / s.threads;
  while (alone && s.block > kWarp && s.block > s.threads &&
         llvm::divideCeilSigned(rows, s.block / s.threads) < kManyCudaBlocks) {
    s.block /= 2;
    rows_a_block = s.block / s.threads;
  }
  s.blocks = llvm::divideCeilSigned(rows, rows_a_block);
  if (job.column_reductions.empty()) return;
  const int64_t elements = llvm::divideCeilSigned(vectors, s.threads) * s.vector * s.block;
  if (alone) s.resident = std::clamp(kResidentElements / elements, int64_t{1}, kMostResident);
  s.blocks =
      job.row_groups > 0 ? job.row_groups : std::min(s.blocks, s.resident * ir::kPlannedGpu.multiprocessors);
}

// Returns the registers that a thread of a chunk needs for each of its columns, which run along `dim`.
int64_t RegistersOfColumn(Job& job, int dim) {
  int64_t registers = 0, bytes = 0;
  llvm::SmallVector<const Trace*> traces;
  for (JobReduction& reduction : job.reductions) {
    traces.push_back(&reduction.trace);
    registers += AccumulatorTypes(reduction.op).size();
  }
  for (JobOutput& output : job.full_outputs) traces.push_back(&output.trace);
  for (const Access& access : DistinctAccesses(traces)) {
    bool is_of_row = !access.is_affine;
    for (auto [d, stride] : llvm::enumerate(access.strides)) is_of_row |= job.reduced[d] && stride != 0;
    if (is_of_row) bytes += StoredBytes(access.tensor);
    if (!is_of_row && access.strides[dim] != 0) ++registers;
  }
  return registers + llvm::divideCeilSigned(kRowsUnderWay * bytes, 4);
}

// Returns the columns of a thread of a chunk.
int64_t ColumnVector(Job& job, const CudaSchedule& s, const Loop& inner) {
  int64_t vector = VectorWidth(job, s, inner.dim, inner.size);
  const int64_t registers = RegistersOfColumn(job, inner.dim);
  while (vector > kFewestColumns && vector * registers > kColumnRegisters) vector /= 2;
  return vector;
}

// Returns the threads along the columns.
int64_t ColumnWidth(int64_t vectors) { return std::min(kWarp, PowerOfTwoAtLeast(vectors)); }

void ScheduleColumn(Job& job, bool alone, CudaSchedule& s) {
  s.mode = CudaSchedule::Mode::kColumn;
  const Loop& inner = s.parallel.back();
  int64_t outer = TripCount(s.parallel) / std::max<int64_t>(1, inner.size);
  if (job.kind == Job::Kind::kWhole) s.vector = VectorWidth(job, s, inner.dim, inner.size);
  if (job.kind == Job::Kind::kPartial) s.vector = ColumnVector(job, s, inner);
  if (job.kind == Job::Kind::kPartial && alone) s.resident = kColumnResident;
  // Uses narrower vectors if there would be too few blocks. Chunks keep full vectors: CountCudaChunks counts
  // on them.
  auto blocks = [&] { return outer * llvm::divideCeilSigned(inner.size, s.vector * kWarp); };
  while (job.kind != Job::Kind::kPartial && s.vector > 1 && blocks() < kManyCudaBlocks / 4) s.vector /= 2;
  s.width = ColumnWidth(llvm::divideCeilSigned(inner.size, s.vector));
  // Few rows need few threads along them.
  if (job.kind == Job::Kind::kWhole && alone) {
    const int64_t deep = PowerOfTwoAtLeast(llvm::divideCeilSigned(TripCount(s.reduced), kFewestOfThread));
    s.block = std::clamp(deep * s.width, kWarp, kCudaBlock);
  }
  // Partial results are few bytes; the time goes into a thread's sequential reads, so blocks are deeper.
  if (job.kind == Job::Kind::kCombine && alone) {
    const int64_t deep = PowerOfTwoAtLeast(job.chunks / kFewestOfThread);
    s.block = std::clamp(deep * s.width, kCudaBlock, kMaxBlock);
  }
  s.threads = s.block / s.width;
  s.blocks = outer * llvm::divideCeilSigned(inner.size, s.vector * s.width);
}

// True if threads run along the reduced loops. If the innermost loop is reduced, parallel neighbours are not
// adjacent in memory; a CPU needs a long innermost loop.
bool ReducesCudaRows(const Loops& loops) {
  return (!loops.is_reduced.empty() && loops.is_reduced.back()) || ReducesRows(loops);
}

}  // namespace

llvm::SmallVector<Access> DistinctAccesses(llvm::ArrayRef<const Trace*> traces) {
  llvm::SmallVector<Access> found;
  for (const Trace* trace : traces) {
    for (const Access& access : trace->accesses) {
      const bool is_known = llvm::any_of(found, [&](const Access& other) {
        return other.tensor == access.tensor && other.strides == access.strides &&
               other.constant == access.constant;
      });
      if (access.tensor && !is_known) found.push_back(access);
    }
  }
  return found;
}

int64_t StoredBytes(mlir::Value tensor) { return ir::ElementBytes(ir::TypeOf(tensor).getElementType()); }

namespace {

// Chunks of the outermost reduced loop.
int64_t CountCudaChunks(Job& job) {
  Loops loops = MergeLoops(job);
  int64_t rows = TripCount(loops.parallel), length = TripCount(loops.reduced), units = rows;
  int64_t shortest = kShortestRow, most = llvm::divideCeilSigned(kRowChunkBlocks, units);
  if (!ReducesCudaRows(loops) && !loops.parallel.empty()) {
    const Loop& inner = loops.parallel.back();
    CudaSchedule s;
    s.parallel = loops.parallel;
    s.reduced = loops.reduced;
    int64_t vectors = inner.size / ColumnVector(job, s, inner);
    int64_t width = ColumnWidth(vectors);
    units = rows / inner.size * llvm::divideCeilSigned(vectors, width);
    shortest = kFewestOfThread * kCudaBlock / width;
    // A few more blocks than fit at once would take as long as twice as many blocks.
    most = kColumnChunkBlocks / units;
  }
  int64_t wanted = std::min(most, length / shortest);
  return llvm::divideCeilSigned(loops.reduced.front().size, ChunkSize(loops, std::max<int64_t>(2, wanted)));
}

}  // namespace

const LoopTarget& CudaLoopTarget() {
  class Target : public LoopTarget {
   public:
    const ir::TargetModel& model() const override { return ir::TargetModel::Of(ir::DeviceKind::gpu); }
    int64_t CountChunks(Job& job) const override { return CountCudaChunks(job); }
    int64_t CountRowGroups(Job& job) const override { return MakeCudaSchedule(job, /*alone=*/true).blocks; }
  };
  static const Target target;
  return target;
}

CudaSchedule MakeCudaSchedule(Job& job, bool alone) {
  Loops loops = MergeLoops(job);
  CudaSchedule s;
  s.parallel = loops.parallel;
  s.reduced = loops.reduced;
  if (job.reductions.empty()) {
    ScheduleMap(job, alone, s);
    return s;
  }
  bool row = ReducesCudaRows(loops);
  s.chunk_size = ChunkSize(loops, job.chunks);
  if (job.kind == Job::Kind::kCombine) {
    s.reduced = {{job.chunks, -1}};
    s.chunk_size = job.chunks;
    row = s.parallel.empty() || s.parallel.back().size < kWarp;
  }
  if (s.reduced.empty()) {
    s.reduced.push_back({1, -1});
    s.chunk_size = 1;
  }
  if (row || s.parallel.empty()) {
    ScheduleRow(job, alone, s);
  } else {
    ScheduleColumn(job, alone, s);
  }
  if (job.kind == Job::Kind::kPartial) s.blocks *= job.chunks;
  return s;
}

}  // namespace sinter::codegen
