// Assigns memory to the library workspaces of a launch's steps, and finds the waits that sharing causes.
//
//   WorkspaceSlots slots(largest);
//   std::optional<uint32_t> last = slots.Take(step, bytes, comes_after);   // For each step, in plan order.
//   slots.OffsetOf(step);                                                  // After all steps have a slot.
//
// A slot is memory that several steps use one after another. There are few slots. A step takes a free slot:
// an unused one, or one whose last user the step follows anyway. If no slot is free, the step takes the slot
// whose last user is the oldest, and waits for that user. The first slot is large enough for every step. The
// other slots are as large as their own users need, and together have a bounded size.
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
  // The size of two cuBLASLt workspaces (CublasMatmul::kMaxWorkspace).
  static constexpr size_t kMaxMoreBytes = size_t{64} << 20;

  // `largest` is the largest workspace of any step.
  explicit WorkspaceSlots(size_t largest) { slots_[0].bytes = largest; }

  // Takes the first slot, for a step that fills the device alone. Two such steps gain nothing from running in
  // parallel, so they share this slot. Returns the slot's last user, as Take does.
  std::optional<uint32_t> TakeFirst(uint32_t step);
  // Takes a slot. `step` must exceed all earlier ones; `bytes` is 1 to `largest`. `comes_after` says for each
  // earlier step whether this step follows it. Returns the slot's last user, which the step must then follow;
  // nullopt if there is none.
  std::optional<uint32_t> Take(uint32_t step, size_t bytes, const std::vector<bool>& comes_after);

  // Returns the size of all slots together.
  size_t bytes() const { return OffsetOfSlot(kSlots); }
  // Returns the offset of the step's slot. Valid after all steps have taken theirs.
  size_t OffsetOf(uint32_t step) const { return OffsetOfSlot(slot_of_.at(step)); }

 private:
  struct Slot {
    size_t bytes = 0;
    std::optional<uint32_t> last;
  };

  // Returns the number of bytes by which the slot must grow.
  static size_t MoreFor(const Slot& slot, size_t bytes);
  static bool IsBetter(const Slot& slot, const Slot& other, size_t bytes,
                       const std::vector<bool>& comes_after);
  size_t OffsetOfSlot(size_t slot) const;

  std::array<Slot, kSlots> slots_;
  size_t more_bytes_ = 0;  // Total growth of all slots but the first.
  std::map<uint32_t, size_t> slot_of_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_WORKSPACE_SLOTS_H_
