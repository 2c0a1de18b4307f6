// How a job's domain is spread over a GPU's blocks and threads.
//
// Decided by the job alone, never by the device's size, so that the bits of the results are the same on every device.
//
//   CudaSchedule s = MakeCudaSchedule(job, /*alone=*/true);
//   s.mode, s.block, s.blocks ...
#ifndef SINTER_CODEGEN_CUDA_CUDA_SCHEDULE_H_
#define SINTER_CODEGEN_CUDA_CUDA_SCHEDULE_H_

#include "sinter/codegen/loops/job_schedule.h"
#include "sinter/codegen/loops/loop_target.h"

namespace sinter::codegen {

struct CudaSchedule {
  enum class Mode {
    kFlat,    // One loop: a thread computes `vector` neighbours; its length is not part of the code.
    kMap,     // Several loops; a thread computes `vector` neighbours of the innermost.
    kStrips,  // As kMap, but a thread stays there and goes over rows, positions of the other loops, `unroll` at a time: what
              // varies along the innermost loop alone, the values `along`, it computes once.
    kTiles,  // Squares of the loops `cross` and the innermost, for inputs whose neighbours lie along `cross`: they go through
             // shared memory, so that they are read along their rows, as results are written along theirs.
    kRow,  // `threads` threads share each row's reduced elements, `vector` neighbours at a time. With column reductions a
           // block goes over its rows, each `blocks` times a block's rows behind the last.
    kColumn,  // Threads lie along the last parallel loop, `vector` columns each, and `threads` deep along the reduced ones.
  };
  Mode mode = Mode::kFlat;
  llvm::SmallVector<Loop> parallel, reduced;  // Outermost first. Without reductions all are in `parallel`.
  int64_t vector = 1;
  int64_t unroll = 1;            // kMap: vectors of a thread, one block's width apart.
  int64_t passes = 1;            // kStrips: so many times `unroll` rows.
  int64_t side_by_side = 1;      // kStrips: from a row of a thread to its next; between are those of others.
  std::vector<KeptValue> along;  // kStrips: what is computed before the first row.
  int64_t threads =
      1;  // Along the reduced loops. kRow: a power of two up to 32, or whole warps, then the block has one row.
  int64_t width = 1;                // kColumn: threads along the columns.
  bool keeps_row = false;           // kRow: a thread's elements stay in registers from phase to phase.
  int cross = -1;                   // kTiles: which of `parallel`.
  std::vector<KeptValue> crossing;  // kTiles: the inputs that lie across.
  int64_t chunk_size = 0;           // Of the outermost reduced loop.
  int64_t block = 256;              // Threads.
  int64_t blocks = 0;
  int64_t resident =
      0;  // So many blocks share a multiprocessor, with what registers that leaves; 0: as many as fit.
};

// `alone`: no other job shares the launch, so that the block may be as large as suits this one.
CudaSchedule MakeCudaSchedule(Job& job, bool alone);

// What several schedules count: the accesses of traces of one domain, each place in a tensor once; and the bytes of an element in
// memory.
llvm::SmallVector<Access> DistinctAccesses(llvm::ArrayRef<const Trace*> traces);
int64_t StoredBytes(mlir::Value tensor);

// Makes `s`, a map's of several loops with its vector, one of kStrips, where that pays.
bool ScheduleCudaStrips(Job& job, CudaSchedule& s);

// How GPUs cut jobs.
const LoopTarget& CudaLoopTarget();

inline constexpr int64_t kCudaMultiprocessors = 132;                  // Of an H100 or H200.
inline constexpr int64_t kManyCudaBlocks = 8 * kCudaMultiprocessors;  // Enough for all of them to be busy.
inline constexpr int64_t kCudaTile = 32;                              // The side of a square.
inline constexpr int64_t kCudaBlock = 256;  // Threads of a block whose launch has several jobs.

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_SCHEDULE_H_
