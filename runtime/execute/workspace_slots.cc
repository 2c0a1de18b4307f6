#include "sinter/runtime/execute/workspace_slots.h"

#include <utility>

#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {
namespace {

bool IsFree(const std::optional<uint32_t>& last, const std::vector<bool>& comes_after) {
  return !last.has_value() || comes_after[*last];
}

}  // namespace

size_t WorkspaceSlots::MoreFor(const Slot& slot, size_t bytes) {
  return bytes > slot.bytes ? RoundUp(bytes - slot.bytes, CachingAllocator::kUnit) : 0;
}

std::optional<uint32_t> WorkspaceSlots::TakeFirst(uint32_t step) {
  slot_of_[step] = 0;
  return std::exchange(slots_[0].last, step);
}

std::optional<uint32_t> WorkspaceSlots::Take(uint32_t step, size_t bytes,
                                             const std::vector<bool>& comes_after) {
  size_t best = 0;  // This slot is large enough for every step.
  for (size_t s = 1; s < kSlots; ++s) {
    if (more_bytes_ + MoreFor(slots_[s], bytes) > kMaxMoreBytes) continue;
    if (IsBetter(slots_[s], slots_[best], bytes, comes_after)) best = s;
  }
  Slot& slot = slots_[best];
  const size_t more = MoreFor(slot, bytes);
  slot.bytes += more;
  more_bytes_ += more;
  slot_of_[step] = best;
  const std::optional<uint32_t> before = slot.last;
  slot.last = step;
  return before;
}

// Free slots come first. Among them: the least growth, then the smallest, so that large slots stay available.
// Among busy slots: the oldest last user.
bool WorkspaceSlots::IsBetter(const Slot& slot, const Slot& other, size_t bytes,
                              const std::vector<bool>& comes_after) {
  const bool is_free = IsFree(slot.last, comes_after), other_is_free = IsFree(other.last, comes_after);
  if (is_free != other_is_free) return is_free;
  if (!is_free) return *slot.last < *other.last;
  const size_t more = MoreFor(slot, bytes), other_more = MoreFor(other, bytes);
  return more != other_more ? more < other_more : slot.bytes < other.bytes;
}

// Slots start at multiples of CachingAllocator::kUnit, as an allocator's own pieces do.
size_t WorkspaceSlots::OffsetOfSlot(size_t slot) const {
  size_t offset = 0, end = 0;
  for (size_t s = 0; s < slot; ++s) {
    if (slots_[s].bytes > 0) end = offset + slots_[s].bytes;
    offset += RoundUp(slots_[s].bytes, CachingAllocator::kUnit);
  }
  return slot == kSlots ? end : offset;
}

}  // namespace sinter
