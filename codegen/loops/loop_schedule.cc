#include "sinter/codegen/loops/loop_schedule.h"

#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"

namespace sinter::codegen {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

// Elements a unit, about: 16 KB of f32, which fit in cache with their operands.
constexpr int64_t kBlock = 4096;
constexpr int64_t kShortLoop = 16;  // Shorter loops do not fill a vector.
constexpr int64_t kShortRow = 8;    // Shorter rows leave more than half a vector empty.
constexpr int64_t kChunkElements = 32768, kMaxChunks = 64;
constexpr int64_t kMaxColumns = 1024;
constexpr int64_t kMaxKeptElements = 32768;  // A longer row would not stay in cache.
constexpr double kWorthKeeping = 8, kWorthHoisting = 4;
constexpr int64_t kSquare = 32;

// Builds an op's accumulator scalars on trial and passes them to `visit`.
template <typename Visit>
void TryReduction(ir::ReductionInterface op, Visit visit) {
  mlir::Block block;
  mlir::OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block);
  ir::ScalarBuilder s(builder, op.getLoc());
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getElementType();
  mlir::Value x = block.addArgument(ir::ScalarBuilder::ComputeType(element), op.getLoc());
  mlir::Value index = block.addArgument(builder.getIndexType(), op.getLoc());
  op.emitLift(s, s.wrap(x, ir::ScalarBuilder::IsUnsigned(element)), index);
  visit(op.emitIdentity(s), !index.use_empty());
}

bool UsesIndex(ir::ReductionInterface op) {
  bool uses = false;
  TryReduction(op, [&](ArrayRef<ir::Scalar>, bool index_used) { uses = index_used; });
  return uses;
}

// The strides of every access in the domain's coordinates.
struct Footprint {
  SmallVector<SmallVector<int64_t>> strides;
  llvm::SmallBitVector pinned;
};

// Returns the strides of a tensor of the dimensions that are not skipped.
SmallVector<int64_t> RowMajor(ArrayRef<int64_t> domain, const llvm::SmallBitVector& skipped) {
  SmallVector<int64_t> strides(domain.size(), 0);
  int64_t stride = 1;
  for (size_t d = domain.size(); d-- > 0;) {
    if (skipped[d]) continue;
    strides[d] = stride;
    stride *= domain[d];
  }
  return strides;
}

Footprint MakeFootprint(Job& job) {
  size_t rank = job.domain.size();
  Footprint footprint;
  footprint.pinned.resize(rank);
  auto add = [&](const Trace& trace, bool reduced) {
    SmallVector<int> space;
    for (size_t d = 0; d < rank; ++d) {
      if (!reduced || !job.reduced[d]) space.push_back(d);
    }
    for (const Access& access : trace.accesses) {
      SmallVector<int64_t> strides(rank, 0);
      for (auto [k, stride] : llvm::enumerate(access.strides)) strides[space[k]] = stride;
      footprint.strides.push_back(std::move(strides));
    }
    for (unsigned k : trace.pinned.set_bits()) footprint.pinned.set(space[k]);
  };
  for (JobReduction& r : job.reductions) {
    add(r.trace, false);
    if (UsesIndex(r.op)) footprint.pinned |= job.reduced;
  }
  for (JobReduction& r : job.column_reductions) {
    add(r.trace, false);
    if (UsesIndex(r.op)) footprint.pinned |= ~job.reduced;
  }
  for (JobOutput& o : job.full_outputs) add(o.trace, false);
  for (JobOutput& o : job.reduced_outputs) add(o.trace, true);
  for (JobOutput& o : job.full_outputs) footprint.strides.push_back(o.strides(job.domain));
  if (!job.reductions.empty()) footprint.strides.push_back(RowMajor(job.domain, job.reduced));
  if (!job.column_reductions.empty()) {
    llvm::SmallBitVector parallel = ~job.reduced;
    footprint.strides.push_back(RowMajor(job.domain, parallel));
  }
  return footprint;
}

Loops LoopsOf(const Job& job, const Footprint& footprint) {
  Loops loops;
  int last = -1;
  for (size_t d = 0; d < job.domain.size(); ++d) {
    int64_t size = job.domain[d];
    if (size == 1) continue;
    bool merges = last >= 0 && job.reduced[last] == job.reduced[d] && !footprint.pinned[last] &&
                  !footprint.pinned[d] &&
                  llvm::all_of(footprint.strides, [&](auto& s) { return s[last] == size * s[d]; });
    if (merges) {
      loops.all.back() = {loops.all.back().size * size, static_cast<int>(d)};
    } else {
      loops.all.push_back({size, static_cast<int>(d)});
      loops.is_reduced.push_back(job.reduced[d]);
    }
    last = d;
  }
  for (auto [loop, is_reduced] : llvm::zip(loops.all, loops.is_reduced)) {
    (is_reduced ? loops.reduced : loops.parallel).push_back(loop);
  }
  return loops;
}

// Returns the cost of one element of the domain.
double ElementCost(Job& job) {
  double cost = 1;
  for (JobReduction& r : job.reductions) cost += 2 + r.trace.cost + r.trace.accesses.size();
  for (JobOutput& o : job.full_outputs) cost += 1 + o.trace.cost + o.trace.accesses.size();
  return cost;
}

// Returns the parallel loop along which most transposed accesses are contiguous, or -1.
int FindCross(const Footprint& footprint, ArrayRef<Loop> loops, const TileLimits& limits) {
  const Loop& inner = loops.back();
  SmallVector<int> votes(loops.size(), 0);
  int against = 0;
  for (const auto& strides : footprint.strides) {
    if (std::abs(strides[inner.dim]) <= 1) ++against;
    for (size_t i = 0; i + 1 < loops.size(); ++i) {
      if (std::abs(strides[loops[i].dim]) == 1 && std::abs(strides[inner.dim]) >= limits.stride) ++votes[i];
    }
  }
  int best = std::max_element(votes.begin(), votes.end()) - votes.begin();
  bool fills_tiles = loops[best].size >= limits.cross && inner.size >= limits.inner;
  return votes[best] > 0 && fills_tiles && against > 0 ? best : -1;
}

// True if the tensor is kept already; a tensor is kept at one position only.
bool IsKept(const std::vector<KeptValue>& kept, mlir::Value tensor) {
  return llvm::any_of(kept, [&](const KeptValue& k) { return k.tensor == tensor; });
}

int64_t BytesOfElement(mlir::Value tensor) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
  return ir::ElementBytes(ir::ScalarBuilder::ComputeType(element));
}

// Keeps tiles of the inputs that are contiguous along the cross loop.
void KeepTiles(Job& job, const TileLimits& limits, LoopSchedule& s) {
  int inner = s.parallel.back().dim, cross = s.parallel[s.cross].dim;
  for (JobOutput& output : job.full_outputs) {
    for (const Request& request : output.trace.requests) {
      bool plain = llvm::none_of(request.dims, [](int dim) { return dim == Request::kComputed; });
      if (!llvm::isa<mlir::BlockArgument>(request.tensor) || !plain) continue;
      ArrayRef<int64_t> shape = llvm::cast<mlir::RankedTensorType>(request.tensor.getType()).getShape();
      int64_t stride = 1, along_inner = 0, along_cross = 0;
      for (size_t k = shape.size(); k-- > 0; stride *= shape[k]) {
        if (request.dims[k] == inner) along_inner += stride;
        if (request.dims[k] == cross) along_cross += stride;
      }
      if (along_cross != 1 || along_inner < limits.stride || IsKept(s.kept, request.tensor)) continue;
      s.kept.push_back({request.tensor, request.dims, request.constants, true, 0, s.scratch_bytes});
      s.scratch_bytes += ir::RoundUp(s.tile * s.tile_pitch() * BytesOfElement(request.tensor), 64);
    }
  }
}

void ScheduleMap(Job& job, const Footprint& footprint, double cost, const TileLimits& limits,
                 LoopSchedule& s) {
  if (s.parallel.empty()) s.parallel.push_back({1, -1});
  int64_t inner = s.parallel.back().size;
  int64_t outer = TripCount(ArrayRef(s.parallel).drop_back());
  if (s.parallel.size() == 1) {
    s.mode = LoopSchedule::Mode::kFlat;
    s.tile = kBlock;
    s.units = llvm::divideCeilSigned(inner, s.tile);
  } else if (int cross = FindCross(footprint, s.parallel, limits); cross >= 0) {
    s.mode = LoopSchedule::Mode::kTiles;
    s.cross = cross;
    s.tile = kSquare;
    int64_t width = s.parallel[cross].size;
    s.units = outer / width * llvm::divideCeilSigned(width, kSquare) * llvm::divideCeilSigned(inner, kSquare);
    s.unit_cost = cost * kSquare * kSquare;
    KeepTiles(job, limits, s);
    return;
  } else {
    s.mode = LoopSchedule::Mode::kMap;
    s.cut_inner = inner >= 2 * kBlock;
    s.tile = s.cut_inner ? kBlock : std::max<int64_t>(1, kBlock / std::max<int64_t>(1, inner));
    s.units = inner == 0    ? 0
              : s.cut_inner ? outer * llvm::divideCeilSigned(inner, s.tile)
                            : llvm::divideCeilSigned(outer, s.tile);
  }
  s.unit_cost = cost * kBlock;
}

// Returns the mode of a reduction: rows if the reduced loop is innermost and fills vectors.
LoopSchedule::Mode ReductionMode(const Loops& loops) {
  if (loops.parallel.empty()) return LoopSchedule::Mode::kRow;
  bool reduced_last = !loops.is_reduced.empty() && loops.is_reduced.back();
  if (loops.reduced.empty()) return LoopSchedule::Mode::kColumn;
  if (reduced_last) {
    bool is_short = loops.reduced.back().size < kShortRow && loops.parallel.back().size >= kShortLoop;
    return is_short ? LoopSchedule::Mode::kColumn : LoopSchedule::Mode::kRow;
  }
  bool narrow = loops.parallel.back().size < kShortLoop / 2 && loops.reduced.back().size >= kShortLoop;
  return narrow ? LoopSchedule::Mode::kRow : LoopSchedule::Mode::kColumn;
}

template <typename Function>
void ForEachFullTrace(Job& job, Function function) {
  for (JobReduction& r : job.reductions) function(r.trace, r.phase);
  for (JobOutput& o : job.full_outputs) function(o.trace, o.phase);
}

KeptValue* Find(std::vector<KeptValue>& kept, const Request& request) {
  for (KeptValue& k : kept) {
    if (k.tensor == request.tensor && k.dims == request.dims && k.constants == request.constants) return &k;
  }
  return nullptr;
}

bool IsComputed(mlir::Value tensor) {
  return tensor.getDefiningOp() && !llvm::isa<ir::ReductionInterface>(tensor.getDefiningOp());
}

// Keeps expensive values of the whole domain that several phases use.
void KeepFullValues(Job& job, LoopSchedule& s) {
  std::vector<KeptValue> candidates;
  ForEachFullTrace(job, [&](const Trace& trace, int phase) {
    for (const Request& request : trace.requests) {
      if (!IsComputed(request.tensor) || request.own_cost < kWorthKeeping ||
          request.dims.size() != job.domain.size()) {
        continue;
      }
      bool identity = true;
      for (auto [d, dim] : llvm::enumerate(request.dims)) {
        identity &= dim == static_cast<int>(d) || (dim == Request::kConstant && job.domain[d] == 1);
      }
      if (!identity) continue;
      KeptValue* known = Find(candidates, request);
      if (!known) {
        candidates.push_back({request.tensor, request.dims, request.constants, true, phase});
      } else if (known->phase != phase && !IsKept(s.kept, request.tensor)) {
        known->phase = std::min(known->phase, phase);
        s.kept.push_back(*known);
      }
    }
  });
}

// Keeps values that do not change along the reduced loops.
void KeepParallelValues(Job& job, LoopSchedule& s) {
  ForEachFullTrace(job, [&](const Trace& trace, int phase) {
    auto is_parallel = [&](const Request& request) {
      return llvm::all_of(request.dims, [&](int dim) {
        return dim == Request::kConstant || (dim >= 0 && !job.reduced[dim]);
      });
    };
    for (const Request& request : trace.requests) {
      if (!IsComputed(request.tensor) || request.total_cost < kWorthHoisting || !is_parallel(request))
        continue;
      if (request.parent >= 0 && is_parallel(trace.requests[request.parent])) continue;
      if (KeptValue* known = Find(s.kept, request)) {
        known->phase = std::min(known->phase, phase);
      } else if (!IsKept(s.kept, request.tensor)) {
        s.kept.push_back({request.tensor, request.dims, request.constants, false, phase});
      }
    }
  });
}

void LayOutScratch(Job& job, LoopSchedule& s) {
  auto take = [&](int64_t bytes) {
    int64_t offset = s.scratch_bytes;
    s.scratch_bytes += ir::RoundUp(bytes, 64);
    return offset;
  };
  bool columns = s.mode == LoopSchedule::Mode::kColumn;
  for (KeptValue& k : s.kept) {
    if (k.is_full) k.offset = take(TripCount(s.reduced) * BytesOfElement(k.tensor));
    if (!k.is_full && columns) k.offset = take(s.tile * BytesOfElement(k.tensor));
  }
  if (!columns) return;
  for (JobReduction& r : job.reductions) {
    s.accumulators.emplace_back();
    for (mlir::Type type : AccumulatorTypes(r.op))
      s.accumulators.back().push_back(take(s.tile * ir::ElementBytes(type)));
    s.results.push_back(take(s.tile * BytesOfElement(r.result())));
  }
}

void ScheduleReduction(Job& job, const Loops& loops, double cost, LoopSchedule& s) {
  s.mode = ReductionMode(loops);
  s.chunk_size = ChunkSize(loops, job.chunks);
  if (job.kind == Job::Kind::kCombine) {
    s.reduced = {{job.chunks, -1}};
    s.chunk_size = job.chunks;
    bool wide = !loops.parallel.empty() && loops.parallel.back().size >= kShortLoop;
    s.mode = wide ? LoopSchedule::Mode::kColumn : LoopSchedule::Mode::kRow;
  }
  if (s.reduced.empty()) {
    s.reduced.push_back({1, -1});
    s.chunk_size = 1;
  }
  int64_t per_parallel = TripCount(s.reduced) / std::max<int64_t>(1, s.reduced.front().size) * s.chunk_size;
  if (s.mode == LoopSchedule::Mode::kRow) {
    int64_t rows = TripCount(s.parallel);
    s.tile = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, per_parallel));
    s.units = llvm::divideCeilSigned(rows, s.tile);
    if (TripCount(s.reduced) <= kMaxKeptElements) KeepFullValues(job, s);
  } else {
    int64_t columns = s.parallel.back().size;
    s.tile = std::clamp(ir::RoundUp(llvm::divideCeilSigned(columns, ir::kFewestUnits), 16),
                        ir::kFewestColumns, kMaxColumns);
    s.units = TripCount(ArrayRef(s.parallel).drop_back()) * llvm::divideCeilSigned(columns, s.tile);
  }
  if (job.kind == Job::Kind::kPartial) s.units *= job.chunks;
  if (job.kind != Job::Kind::kCombine) KeepParallelValues(job, s);
  s.unit_cost = cost * s.tile * per_parallel;
  LayOutScratch(job, s);
}

}  // namespace

Loops MergeLoops(Job& job) { return LoopsOf(job, MakeFootprint(job)); }

bool ReducesRows(const Loops& loops) { return ReductionMode(loops) == LoopSchedule::Mode::kRow; }

int64_t ChunkSize(const Loops& loops, int64_t chunks) {
  if (loops.reduced.empty()) return 1;
  int64_t size = llvm::divideCeilSigned(loops.reduced.front().size, chunks);
  // Whole vectors if the chunked loop is the vector loop.
  if (ReducesRows(loops) && loops.reduced.size() == 1) size = ir::RoundUp(size, 64);
  return size;
}

int64_t TripCount(ArrayRef<Loop> loops) {
  int64_t count = 1;
  for (const Loop& loop : loops) count *= loop.size;
  return count;
}

SmallVector<int64_t> SizesOf(ArrayRef<Loop> loops) {
  SmallVector<int64_t> sizes;
  for (const Loop& loop : loops) sizes.push_back(loop.size);
  return sizes;
}

SmallVector<mlir::Type> AccumulatorTypes(ir::ReductionInterface op) {
  SmallVector<mlir::Type> types;
  TryReduction(op, [&](ArrayRef<ir::Scalar> identity, bool) {
    for (const ir::Scalar& scalar : identity) types.push_back(scalar.type());
  });
  return types;
}

int64_t CountChunks(Job& job) {
  Loops loops = MergeLoops(job);
  int64_t elements = TripCount(loops.all);
  int64_t wanted = std::clamp<int64_t>(elements / kChunkElements, 2, kMaxChunks);
  int64_t size = ChunkSize(loops, wanted);
  return llvm::divideCeilSigned(loops.reduced.front().size, size);
}

LoopSchedule MakeSchedule(Job& job, const TileLimits& limits) {
  Footprint footprint = MakeFootprint(job);
  Loops loops = LoopsOf(job, footprint);
  LoopSchedule s;
  s.parallel = loops.parallel;
  s.reduced = loops.reduced;
  if (job.reductions.empty()) {
    ScheduleMap(job, footprint, ElementCost(job), limits, s);
  } else {
    ScheduleReduction(job, loops, ElementCost(job), s);
  }
  return s;
}

}  // namespace sinter::codegen
