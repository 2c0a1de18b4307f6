// The bytes of its device's memory that a step reads and writes, and whether one step must therefore come after another.
//
//   if (MustFollow(TouchedBy(function, later), TouchedBy(function, earlier))) ...
#ifndef SINTER_RUNTIME_PLAN_TOUCHED_MEMORY_H_
#define SINTER_RUNTIME_PLAN_TOUCHED_MEMORY_H_

#include <vector>

#include "sinter/runtime/plan/buffer_range.h"

namespace sinter {

struct TouchedMemory {
  std::vector<BufferRange> reads, writes;
};

// Its workspace in the arena counts as written; what a library shares among steps does not count.
TouchedMemory TouchedBy(const fb::Function& function, const fb::Step& step);

// Whether `later` reads what `earlier` writes, or writes what it reads or writes.
bool MustFollow(const TouchedMemory& later, const TouchedMemory& earlier);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_TOUCHED_MEMORY_H_
