#include "sinter/runtime/collective_joins.h"

#include <algorithm>

#include "sinter/runtime/buffer_range.h"

namespace sinter {
namespace {

struct Touched {
  std::vector<BufferRange> reads, writes;
};

bool AnyOverlaps(const std::vector<BufferRange>& some, const std::vector<BufferRange>& others) {
  return std::ranges::any_of(some, [&](const BufferRange& a) {
    return std::ranges::any_of(others, [&](const BufferRange& b) { return a.Overlaps(b); });
  });
}

// Flat tensors are moved with what lies between them.
void MakeFlat(std::vector<BufferRange>& ranges) {
  if (ranges.empty()) return;
  for (const BufferRange& range : ranges) {
    ranges.front().begin = std::min(ranges.front().begin, range.begin);
    ranges.front().end = std::max(ranges.front().end, range.end);
  }
  ranges.resize(1);
}

Touched TouchedBy(const fb::Function& function, const fb::Step& step) {
  Touched touched;
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

}  // namespace

std::vector<Join> FindJoins(const fb::Function& function, std::span<const uint32_t> steps) {
  struct Begun {
    uint32_t step;
    Touched touched;
  };
  std::vector<Begun> begun;  // And not yet joined, in order.
  std::vector<Join> joins;
  for (size_t position = 0; position < steps.size(); ++position) {
    const fb::Step& step = *function.steps()->Get(steps[position]);
    Touched touched = TouchedBy(function, step);
    if (step.body_type() == fb::StepBody::CollectiveStep) {
      begun.push_back({steps[position], std::move(touched)});
      continue;
    }
    // The last one that is in the way: those before it end before it.
    const auto last = std::find_if(begun.rbegin(), begun.rend(), [&](const Begun& other) {
      return AnyOverlaps(touched.reads, other.touched.writes) ||
             AnyOverlaps(touched.writes, other.touched.writes) ||
             AnyOverlaps(touched.writes, other.touched.reads);
    });
    if (last == begun.rend()) continue;
    joins.push_back({last->step, position});
    begun.erase(begun.begin(), last.base());
  }
  if (!begun.empty()) joins.push_back({begun.back().step, steps.size()});
  return joins;
}

}  // namespace sinter
