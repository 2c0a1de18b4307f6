// The device memory that a step reads and writes, and the test whether one step must follow another.
//
//   if (MustFollow(EffectsOf(function, later), EffectsOf(function, earlier))) ...
#ifndef SINTER_RUNTIME_PLAN_MEMORY_EFFECTS_H_
#define SINTER_RUNTIME_PLAN_MEMORY_EFFECTS_H_

#include <vector>

#include "sinter/runtime/plan/buffer_range.h"

namespace sinter {

struct MemoryEffects {
  std::vector<BufferRange> reads, writes;
};

// Returns the memory that a step touches. Its workspace in the arena counts as written; library workspaces do
// not count.
MemoryEffects EffectsOf(const fb::Function& function, const fb::Step& step);

// True if `later` reads memory that `earlier` writes, or writes memory that `earlier` reads or writes.
bool MustFollow(const MemoryEffects& later, const MemoryEffects& earlier);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_MEMORY_EFFECTS_H_
