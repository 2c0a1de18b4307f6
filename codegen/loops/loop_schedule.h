// Schedules a job's domain: which dimensions merge into one loop, the vector loop, and the unit of work.
//
// The schedule depends only on the job, never on the number of threads: threads may share the units in any
// way without changing the bits of the results. ir::IsChunked decides whether a reduction is cut into
// chunks (fusion uses the same answer); this file decides into how many.
#ifndef SINTER_CODEGEN_LOOPS_LOOP_SCHEDULE_H_
#define SINTER_CODEGEN_LOOPS_LOOP_SCHEDULE_H_

#include <vector>

#include "sinter/codegen/loops/fused_launches.h"

namespace sinter::codegen {

// `dim` is the domain dimension whose coordinate is the loop's; dimensions merged into it have coordinate 0.
// -1: none.
struct Loop {
  int64_t size;
  int dim;
};

// TripCount returns the number of iterations of nested loops, SizesOf their sizes.
int64_t TripCount(llvm::ArrayRef<Loop> loops);
llvm::SmallVector<int64_t> SizesOf(llvm::ArrayRef<Loop> loops);

// Loops over all dimensions. Neighbours that every access traverses as one are merged; sizes of 1 have no
// loop.
struct Loops {
  llvm::SmallVector<Loop> all, parallel, reduced;
  llvm::SmallVector<bool> is_reduced;
};
Loops MergeLoops(Job& job);
// True if a reduction's threads and vectors run along the reduced loops, because the last of them is the
// innermost; false if they run along the parallel loops.
bool ReducesRows(const Loops& loops);
// Returns the chunk size of the outermost reduced loop.
int64_t ChunkSize(const Loops& loops, int64_t chunks);

// A value kept for reuse: over the whole domain (expensive to recompute), over the parallel dimensions only
// (it does not change along the reduced ones), or, with kTiles, a transposed input (read along its rows, used
// along its columns).
struct KeptValue {
  mlir::Value tensor;
  llvm::SmallVector<int> dims;
  llvm::SmallVector<int64_t> constants;
  bool is_full = false;
  // Full values: the first phase that computes it. Other values: it is computed before this phase.
  int phase = 0;
  int64_t offset = 0;  // Offset in scratch; unused for parallel values of rows, which stay in registers.
};

struct LoopSchedule {
  enum class Mode {
    kFlat,    // One loop; a unit is `tile` elements.
    kMap,     // Outer loops in units of `tile` or, with cut_inner, the innermost loop in blocks of `tile`.
    kTiles,   // The loop `cross` and the innermost one in squares of `tile`, for transposed accesses.
    kRow,     // Reduced loops inside, the last one vectorised; a unit is `tile` rows.
    kColumn,  // The last parallel loop is vectorised; a unit is `tile` columns, with accumulators in scratch.
  };
  Mode mode = Mode::kFlat;
  llvm::SmallVector<Loop> parallel, reduced;  // Outermost first. kMap and kFlat have all loops in `parallel`.
  int64_t tile = 1;
  bool cut_inner = false;
  int cross = -1;
  int64_t chunk_size = 0;  // Size of a chunk of the outermost reduced loop; the whole size without chunks.
  int64_t units = 0;
  double unit_cost = 0;  // In simple scalar operations.
  std::vector<KeptValue> kept;
  llvm::SmallVector<llvm::SmallVector<int64_t>> accumulators;  // kColumn: scratch offsets for each reduction.
  llvm::SmallVector<int64_t> results;                          // kColumn: scratch offsets of the results.
  int64_t scratch_bytes = 0;
  bool prefetch_next_row =
      true;  // kRow: prefetches in the second pass; if false, streamed_slots.h's prefetches replace these.

  // kTiles: elements from a row of a kept tile to the next. One more than a row's length, so that a column's
  // elements are in different sets of the cache.
  int64_t tile_pitch() const { return tile + 1; }
};

// The smallest loops and strides of kTiles. A CPU's shorter loops do not fill a vector.
struct TileLimits {
  int64_t cross = 16, inner = 8;  // Sizes of the loop `cross` and of the innermost one.
  int64_t stride = 16;            // Stride along the innermost loop of a transposed access.
};

LoopSchedule MakeSchedule(Job& job, const TileLimits& limits = {});

// Returns the number of chunks of the outermost reduced loop, for a job that ir::IsChunked.
int64_t CountChunks(Job& job);

// Returns the types of a reduction's accumulator scalars.
llvm::SmallVector<mlir::Type> AccumulatorTypes(ir::ReductionInterface op);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_LOOP_SCHEDULE_H_
