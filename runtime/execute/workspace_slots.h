// Where the steps of one launch have their library workspaces, and which of them wait for each other because of that.
//
//   WorkspaceSlots slots(largest);
//   std::optional<uint32_t> last = slots.Take(step, bytes, comes_after);   // For each, in the order of the plan.
//   slots.OffsetOf(step);                                                   // When all have theirs.
//
// A slot is memory that several steps use one after the other. There are few: a step takes one whose last user it comes after
// anyway, an unused one if there is none, and else that whose last user was given the longest ago, and waits for it. The first
// slot has what any step needs; the others have what their own users need, a bounded number of bytes together.
#ifndef SINTER_RUNTIME_EXECUTE_WORKSPACE_SLOTS_H_
#define SINTER_RUNTIME_EXECUTE_WORKSPACE_SLOTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace sinter {

class WorkspaceSlots {
 public:
  static constexpr size_t kSlots = 4;
  // Two workspaces of cuBLASLt (CublasMatmul::kMaxWorkspace).
  static constexpr size_t kMaxMoreBytes = size_t{64} << 20;

  // What the step that needs most needs.
  explicit WorkspaceSlots(size_t largest) { slots_[0].bytes = largest; }

  // For a step that fills the device by itself: beside another of its kind it only waits, so that they share the first slot.
  std::optional<uint32_t> TakeFirst(uint32_t step);
  // `step`: greater than all before. `bytes`: 1 to `largest`. `comes_after` says of each step before whether this one comes
  // after it. Returns the last user of the slot, if there is one: the step must come after it.
  std::optional<uint32_t> Take(uint32_t step, size_t bytes, const std::vector<bool>& comes_after);

  // Of all slots together.
  size_t bytes() const { return OffsetOfSlot(kSlots); }
  // Of a step that has taken a slot; known when all have.
  size_t OffsetOf(uint32_t step) const { return OffsetOfSlot(slot_of_.at(step)); }

 private:
  struct Slot {
    size_t bytes = 0;
    std::optional<uint32_t> last;
  };

  // By which the slot must grow.
  static size_t MoreFor(const Slot& slot, size_t bytes);
  static bool IsBetter(const Slot& slot, const Slot& other, size_t bytes,
                       const std::vector<bool>& comes_after);
  size_t OffsetOfSlot(size_t slot) const;

  std::array<Slot, kSlots> slots_;
  size_t more_bytes_ = 0;  // Of all slots but the first.
  std::map<uint32_t, size_t> slot_of_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_WORKSPACE_SLOTS_H_
