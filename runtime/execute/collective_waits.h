// Finds how long a device may compute concurrently with the collectives that it has begun.
//
//   for (const CollectiveWait& wait : FindCollectiveWaits(plan, function, launch.steps)) ...
//     // Before step wait.before: call Step::Wait of wait.collective.
//
// A GPU collective runs on its own stream. It starts after the earlier steps, and later steps do not wait for
// it. So gradients are exchanged while other gradients are still computed. A later step must wait if it reads
// data that the collective writes, or writes data that the collective reads or writes, or if it is a loop
// that its data may end: no exchange may be under way where a capture is cut. The waits are computed once,
// from the byte ranges of the steps. Collectives run one after the other, and all end before their launch
// ends.
#ifndef SINTER_RUNTIME_EXECUTE_COLLECTIVE_WAITS_H_
#define SINTER_RUNTIME_EXECUTE_COLLECTIVE_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

namespace fb {
struct Function;
struct Plan;
}  // namespace fb

struct CollectiveWait {
  uint32_t collective;  // Index into Function.steps.
  size_t before;        // Position in the launch. Equal to the number of steps: at its end.

  friend bool operator==(const CollectiveWait&, const CollectiveWait&) = default;
};

// Finds the waits of one launch's steps, all on one device, given by their indices in Function.steps. A wait
// also covers all earlier collectives. Ordered by `before`.
std::vector<CollectiveWait> FindCollectiveWaits(const fb::Plan& plan, const fb::Function& function,
                                                std::span<const uint32_t> steps);

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_COLLECTIVE_WAITS_H_
