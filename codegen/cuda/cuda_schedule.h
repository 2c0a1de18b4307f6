// Distributes a job's domain over a GPU's blocks and threads.
//
// The schedule depends only on the job, never on the size of the device, so the bits of the results are the
// same on every device.
//
//   CudaSchedule s = MakeCudaSchedule(job, /*alone=*/true);
//   s.mode, s.block, s.blocks ...
#ifndef SINTER_CODEGEN_CUDA_CUDA_SCHEDULE_H_
#define SINTER_CODEGEN_CUDA_CUDA_SCHEDULE_H_

#include "sinter/codegen/loops/loop_schedule.h"
#include "sinter/codegen/loops/loop_target.h"
#include "sinter/ir/target/gpu_models.h"

namespace sinter::codegen {

struct CudaSchedule {
  enum class Mode {
    kFlat,  // One loop. A thread computes `vector` neighbours; the loop's length is not part of the code.
    kMap,   // Several loops. A thread computes `vector` neighbours of the innermost one.
    // Like kMap, but a thread keeps its position in the innermost loop and iterates over rows (positions of
    // the other loops), `unroll` at a time. It computes the values `along`, which vary only along the
    // innermost loop, once. If there is a reduced loop, it is one vector.
    kPersistentRows,
    // Tiles of the loops `cross` and the innermost one, for inputs that are contiguous along `cross`. Shared
    // memory transposes these inputs, so that both they and the results are accessed along their rows.
    kTiles,
    // `threads` threads share each row's reduced elements, `vector` neighbours at a time. With column
    // reductions a block processes several groups of rows, `blocks` groups apart.
    kRow,
    // Threads run along the last parallel loop, with `vector` columns each, and `threads` deep along the
    // reduced loops.
    kColumn,
  };
  Mode mode = Mode::kFlat;
  llvm::SmallVector<Loop> parallel, reduced;  // Outermost first. Without reductions `parallel` has all loops.
  int64_t vector = 1;
  int64_t unroll = 1;  // kMap: vectors of a thread, one block's width apart.
  int64_t passes = 1;  // kPersistentRows: a thread computes `passes` times `unroll` rows.
  // kPersistentRows: distance between a thread's rows; other threads have the rows between.
  int64_t side_by_side = 1;
  std::vector<KeptValue> along;  // kPersistentRows: values computed before the first row.
  int64_t threads =
      1;  // Along the reduced loops. kRow: a power of two up to 32, or whole warps with one row a block.
  int64_t width = 1;       // kColumn: threads along the columns.
  bool keeps_row = false;  // kRow: a thread's elements stay in registers between phases.
  int cross = -1;          // kTiles: index in `parallel`.
  // kTiles: sizes of a tile along the innermost loop and along `cross`, powers of two up to `block`.
  int64_t tile_inner = 1, tile_cross = 1;
  std::vector<KeptValue> crossing;  // kTiles: the transposed inputs.
  int64_t chunk_size = 0;           // Size of a chunk of the outermost reduced loop.
  int64_t block = 256;              // Threads of a block.
  int64_t blocks = 0;
  int64_t resident =
      0;  // Blocks that share a multiprocessor, which limits their registers; 0: as many as fit.
};

// `alone`: no other job shares the launch, so the block may have the best size for this job.
CudaSchedule MakeCudaSchedule(Job& job, bool alone);

// Helpers of several schedules. DistinctAccesses returns the accesses of traces of one domain, each position
// in a tensor once; StoredBytes returns the bytes of an element in memory.
llvm::SmallVector<Access> DistinctAccesses(llvm::ArrayRef<const Trace*> traces);
int64_t StoredBytes(mlir::Value tensor);

// Turns `s`, a kMap schedule with several loops and its vector set, into kPersistentRows if that is faster;
// returns true if so.
bool ScheduleCudaStrips(Job& job, CudaSchedule& s);

// Turns `s`, a schedule of reductions with its vector set, into kPersistentRows if each row is one vector and
// that is faster; returns true if so.
bool ScheduleCudaVectorRows(Job& job, CudaSchedule& s);

// How GPUs cut jobs.
const LoopTarget& CudaLoopTarget();

// Enough blocks to keep all multiprocessors busy.
inline constexpr int64_t kManyCudaBlocks = 8 * ir::kPlannedGpu.multiprocessors;
inline constexpr int64_t kCudaBlock = 256;  // Threads of a block whose launch has several jobs.

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_SCHEDULE_H_
