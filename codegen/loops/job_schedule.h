// How a job's domain is walked: which dimensions merge into one loop, which loop is the vector's, what a unit of work is.
//
// Decided by the job alone, never by the number of threads: units may be shared among threads in any way and the bits of
// the results stay. That a reduction is cut in chunks says ir/fusion/fusion_domain.h, which fusion asks as well; how many there
// are is decided here.
#ifndef SINTER_CODEGEN_LOOPS_JOB_SCHEDULE_H_
#define SINTER_CODEGEN_LOOPS_JOB_SCHEDULE_H_

#include <vector>

#include "sinter/codegen/loops/fused_stages.h"

namespace sinter::codegen {

// `dim` is the domain dimension whose coordinate is the loop's; those merged into it have coordinate 0. -1: none.
struct Loop {
  int64_t size;
  int dim;
};

// How often the body of nested loops runs; their sizes.
int64_t TripCount(llvm::ArrayRef<Loop> loops);
llvm::SmallVector<int64_t> SizesOf(llvm::ArrayRef<Loop> loops);

// Loops over all dimensions: neighbours that every access walks as one are merged. Sizes of 1 have none.
struct Loops {
  llvm::SmallVector<Loop> all, parallel, reduced;
  llvm::SmallVector<bool> is_reduced;
};
Loops MergeLoops(Job& job);
// Whether a reduction's threads and vectors lie along the reduced loops, because the last of them is the innermost, or
// along the parallel ones.
bool ReducesRows(const Loops& loops);
// Of the outermost reduced loop.
int64_t ChunkSize(const Loops& loops, int64_t chunks);

// A value kept for later: of the whole domain (recomputing it would cost much), of the parallel dimensions only (it does
// not change along the reduced ones), or, in tiles, an input that lies across (read along its rows, used along columns).
struct KeptValue {
  mlir::Value tensor;
  llvm::SmallVector<int> dims;
  llvm::SmallVector<int64_t> constants;
  bool is_full = false;
  int phase = 0;       // In (full) or before which it is first computed.
  int64_t offset = 0;  // In scratch; unused for parallel values of rows, which stay in registers.
};

struct Schedule {
  enum class Mode {
    kFlat,    // One loop: a unit is `tile` elements.
    kMap,     // Outer loops in units of `tile`, or, with cut_inner, the innermost loop in blocks of `tile`.
    kTiles,   // The two loops `cross` and the innermost in squares of `tile`, for transposed accesses.
    kRow,     // Reduced loops inside, the last is the vector's; `tile` rows a unit.
    kColumn,  // The last parallel loop is the vector's; `tile` columns a unit, their accumulators in scratch.
  };
  Mode mode = Mode::kFlat;
  llvm::SmallVector<Loop> parallel, reduced;  // Outermost first. kMap and kFlat: all in `parallel`.
  int64_t tile = 1;
  bool cut_inner = false;
  int cross = -1;
  int64_t chunk_size = 0;  // Of the outermost reduced loop; its whole size without chunks.
  int64_t units = 0;
  double unit_cost = 0;  // In simple scalar operations.
  std::vector<KeptValue> kept;
  llvm::SmallVector<llvm::SmallVector<int64_t>>
      accumulators;                    // kColumn: offsets in scratch, a reduction each
  llvm::SmallVector<int64_t> results;  // and of the finished results.
  int64_t scratch_bytes = 0;
  bool prefetch_next_row =
      true;  // kRow: in the second pass. Otherwise other prefetches do (streamed_slots.h).

  // kTiles: places between neighbours of a kept tile's rows. One more than a row has, so that a column's places do not
  // fall into the same sets of the cache.
  int64_t tile_pitch() const { return tile + 1; }
};

Schedule MakeSchedule(Job& job);

// The chunks of the outermost reduced loop, for a job that ir::IsCutInChunks.
int64_t CountChunks(Job& job);

// The types of a reduction's accumulator scalars.
llvm::SmallVector<mlir::Type> AccumulatorTypes(ir::ReductionInterface op);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_SCHEDULE_H_
