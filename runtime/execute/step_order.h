// Finds which steps of a device must follow which. A device may run the others side by side.
//
//   StepOrder order(std::move(steps));                    // What each step touches, in the plan's order.
//   for (size_t i = 0; i < count; ++i) order.Add();       // Step i follows order.before()[i].
//
// A step follows an earlier one if one writes memory that the other touches. Exchanges follow each other, on
// all ranks in the same order. The compiler puts some steps behind an exchange to fill its time. If they ran
// as soon as they could, nothing would be left for that time. So a step that no later exchange needs also
// follows what the exchanges in front of it follow.
#ifndef SINTER_RUNTIME_EXECUTE_STEP_ORDER_H_
#define SINTER_RUNTIME_EXECUTE_STEP_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/runtime/plan/memory_effects.h"

namespace sinter {

// True if a device runs so many steps side by side. Steps of longer programs with exchanges run in the plan's
// order: they fill the device anyway, and the plan's order hides the exchanges (docs/performance-notes.md).
constexpr bool RunSideBySide(size_t steps, bool has_exchanges) { return !has_exchanges || steps <= 256; }

class StepOrder {
 public:
  struct Step {
    MemoryEffects touched;
    bool is_exchange = false;
  };

  explicit StepOrder(std::vector<Step> steps);

  // Adds the next step.
  void Add();
  // Makes the last added step also follow this earlier one.
  void Follow(uint32_t earlier);
  // Returns, for each earlier step, whether the last added one follows it, directly or indirectly.
  const std::vector<bool>& follows() const { return follows_.back(); }
  // Returns, for each added step, its direct predecessors. Implied ones are left out.
  const std::vector<std::vector<uint32_t>>& before() const { return before_; }

 private:
  const std::vector<Step> steps_;
  std::vector<bool> leads_to_exchange_;     // By step; an exchange does too.
  std::optional<uint32_t> last_exchange_;   // The last one added.
  std::vector<uint32_t> before_exchanges_;  // The other steps that the added exchanges follow.
  std::vector<std::vector<uint32_t>> before_;
  std::vector<std::vector<bool>> follows_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_STEP_ORDER_H_
