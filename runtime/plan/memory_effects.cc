#include "sinter/runtime/plan/memory_effects.h"

#include <algorithm>

namespace sinter {
namespace {

bool AnyOverlaps(const std::vector<BufferRange>& some, const std::vector<BufferRange>& others) {
  return std::ranges::any_of(some, [&](const BufferRange& a) {
    return std::ranges::any_of(others, [&](const BufferRange& b) { return a.Overlaps(b); });
  });
}

// A flat collective moves its tensors in one piece, gaps between them included.
void MakeFlat(std::vector<BufferRange>& ranges) {
  if (ranges.empty()) return;
  for (const BufferRange& range : ranges) {
    ranges.front().begin = std::min(ranges.front().begin, range.begin);
    ranges.front().end = std::max(ranges.front().end, range.end);
  }
  ranges.resize(1);
}

}  // namespace

MemoryEffects EffectsOf(const fb::Function& function, const fb::Step& step) {
  MemoryEffects touched;
  const auto add = [&](const flatbuffers::Vector<uint32_t>* list, std::vector<BufferRange>& ranges) {
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      ranges.push_back(RangeOf(*function.buffers()->Get(list->Get(static_cast<uint32_t>(i)))));
    }
  };
  add(step.inputs(), touched.reads);
  add(step.outputs(), touched.writes);
  if (const fb::CollectiveStep* collective = step.body_as_CollectiveStep();
      collective != nullptr && collective->is_flat()) {
    MakeFlat(touched.reads);
    MakeFlat(touched.writes);
  }
  if (step.workspace_bytes() > 0) {
    const uint64_t begin = step.workspace_offset();
    touched.writes.push_back({fb::Space::Arena, 0, begin, begin + step.workspace_bytes()});
  }
  return touched;
}

bool MustFollow(const MemoryEffects& later, const MemoryEffects& earlier) {
  return AnyOverlaps(later.reads, earlier.writes) || AnyOverlaps(later.writes, earlier.writes) ||
         AnyOverlaps(later.writes, earlier.reads);
}

}  // namespace sinter
