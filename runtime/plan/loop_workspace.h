// The workspace of a loop: the arena of its fragment, and behind it, if the loop has a guard, the number of
// trips that it has made, for devices that count them.
//
//   const uint64_t bytes = LoopWorkspaceBytes(arena_bytes, loop.guard() >= 0);
//   void* count = workspace + LoopCountOffset(arena_bytes);
//
// Contract: the plan's writer reserves the workspace, its verifier checks it, and the runtime uses it.
#ifndef SINTER_RUNTIME_PLAN_LOOP_WORKSPACE_H_
#define SINTER_RUNTIME_PLAN_LOOP_WORKSPACE_H_

#include <cstdint>

namespace sinter {

inline constexpr uint64_t kLoopCountBytes = 8;

constexpr uint64_t LoopCountOffset(uint64_t arena_bytes) {
  return (arena_bytes + kLoopCountBytes - 1) / kLoopCountBytes * kLoopCountBytes;
}

constexpr uint64_t LoopWorkspaceBytes(uint64_t arena_bytes, bool has_guard) {
  return has_guard ? LoopCountOffset(arena_bytes) + kLoopCountBytes : arena_bytes;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_LOOP_WORKSPACE_H_
