// Finds a job's streaming memory: outputs too large to stay in the cache, and the inputs read with them.
//
//   for (const StreamedSlot& s : FindStreamedSlots(call, job, schedule)) ...
//
// A streamed output has its own memory (an output that overwrites an input finds its lines in the cache),
// begins at a cache line, and is written along rows. The effect in streaming_memory.h depends on what LLVM
// can prove about the rows.
#ifndef SINTER_CODEGEN_CPU_STREAMED_SLOTS_H_
#define SINTER_CODEGEN_CPU_STREAMED_SLOTS_H_

#include "sinter/codegen/loops/fused_launches.h"
#include "sinter/codegen/loops/loop_schedule.h"

namespace sinter::codegen {

struct StreamedSlot {
  Slot slot;
  int64_t distance = 0;  // 0: written. Else read, with prefetches this many bytes ahead.
};

// Alignment of streamed outputs in bytes: a cache line.
inline constexpr int64_t kStreamedAlignment = 64;

// Returns an empty list if no output streams. The inputs of a row kernel stream if its last pass reads them
// again: the next row is prefetched beside the stores, while the memory is least busy.
llvm::SmallVector<StreamedSlot> FindStreamedSlots(plan_ir::CallOp call, const Job& job,
                                                  const LoopSchedule& schedule);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_STREAMED_SLOTS_H_
