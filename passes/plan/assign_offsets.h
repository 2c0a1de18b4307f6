// Places memory blocks with given live ranges in one arena.
//
//   MemoryBlock a{.bytes = 100, .first = 0, .last = 2}, b{.bytes = 60, .first = 3, .last = 4};
//   int64_t arena = AssignOffsets({&a, &b});   // 128: b reuses a's memory.
#ifndef SINTER_PASSES_PLAN_ASSIGN_OFFSETS_H_
#define SINTER_PASSES_PLAN_ASSIGN_OFFSETS_H_

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter {

// Offsets are multiples of this many bytes: a cache line, and the widest vector.
inline constexpr int64_t kArenaAlignment = 64;

struct MemoryBlock {
  int64_t bytes;
  int64_t first, last;  // The first and the last step at which it is alive.
  int64_t offset;       // Set by placing.
};

// Sets the offsets such that live blocks do not overlap, and returns the arena's bytes. Larger blocks first,
// each into the gap that it fills best (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference", arXiv 2001.03288: greedy by size). Deterministic. `may_share` returns true if two blocks that
// are never alive together may overlap; null means always.
using MayShare = llvm::function_ref<bool(const MemoryBlock& earlier, const MemoryBlock& later)>;
int64_t AssignOffsets(llvm::ArrayRef<MemoryBlock*> blocks, MayShare may_share = nullptr);
// The same without reuse: the blocks do not overlap.
int64_t AssignOffsetsApart(llvm::ArrayRef<MemoryBlock*> blocks);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_ASSIGN_OFFSETS_H_
