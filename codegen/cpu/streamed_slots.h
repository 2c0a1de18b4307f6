// Which memory of a job streams: outputs too large for a reader to find in the cache, and what is read beside them.
//
//   for (const StreamedSlot& s : FindStreamedSlots(call, job, schedule)) ...
//
// Streamed outputs are of their own memory (one that overwrites an input finds its line in the cache), begin at a cache line,
// and are written along rows. What streaming_memory.h then makes of it depends on what LLVM proves of the rows.
#ifndef SINTER_CODEGEN_CPU_STREAMED_SLOTS_H_
#define SINTER_CODEGEN_CPU_STREAMED_SLOTS_H_

#include "sinter/codegen/loops/fused_stages.h"
#include "sinter/codegen/loops/job_schedule.h"

namespace sinter::codegen {

struct StreamedSlot {
  Slot slot;
  int64_t distance = 0;  // 0: written; else read, with prefetches so many bytes ahead.
};

// The bytes at which streamed outputs begin: a cache line.
inline constexpr int64_t kStreamedAlignment = 64;

// None when nothing that the job writes streams. Of a row kernel's inputs, those that its last pass reads once more: the
// next row is asked for beside the stores, which leave the memory the most time.
llvm::SmallVector<StreamedSlot> FindStreamedSlots(plan_ir::CallOp call, const Job& job,
                                                  const Schedule& schedule);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_STREAMED_SLOTS_H_
