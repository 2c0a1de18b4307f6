// In which pieces the steps of a function are given to their devices, and which device waits for which before.
//
//   LaunchOrder order = MakeLaunchOrder(plan, function, {false, false});    // Two GPUs.
//   for (const Launch& launch : order.launches) ...                         // WaitFor, then the steps.
//
// Worked out once, from bytes that steps read and write, in the order of the plan. A device runs its own steps in order,
// and only copies touch the memory of two devices, so there are two reasons to wait: a copy reads what the other device has
// written since it last waited for it, and a step writes what another device's copy may still be reading. CPUs never wait and
// are never waited for: they are done when a call returns, and copies from and to them end with the call.
//
// The members of a collective that are here are one launch if they are on CPUs. On GPUs each is a step of its device's launch
// like any other: they meet on the GPUs, but what a device may assume of the others' work stays as it was. What they wait for,
// as other steps do, they wait for before any of them is launched.
//
// Steps of a GPU go into the launch that is open on it, over the heads of other devices' steps, as long as they wait for
// nobody and nobody has waited for the launch: fewer, larger launches, each of which can be recorded.
#ifndef SINTER_RUNTIME_EXECUTE_LAUNCH_ORDER_H_
#define SINTER_RUNTIME_EXECUTE_LAUNCH_ORDER_H_

#include <cstdint>
#include <vector>

#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {

namespace fb {
struct Function;
struct Plan;
}  // namespace fb

// One device waits for all that another was given so far.
struct Wait {
  uint32_t waiter;
  uint32_t other;

  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Launch {
  uint32_t device = 0;
  std::vector<uint32_t> steps = {};   // Indices into Function.steps, ascending. None: the device only waits.
  std::vector<uint32_t> others = {};  // Devices to wait for first.
  bool is_between = false;            // One copy, from another device.
  // All members of a collective on CPUs that are here, of which `device` has the first.
  bool is_collective = false;
};

struct LaunchOrder {
  std::vector<Launch> launches;
  // Behind the last launch: the next run, of any function, may write what this one's copies read.
  std::vector<Wait> last;
};

// `is_host` says of each device of the plan whether it is a CPU. Only the steps that `local` has are launched, and copies that
// it has one side of, as steps of that side; null: all.
LaunchOrder MakeLaunchOrder(const fb::Plan& plan, const fb::Function& function,
                            const std::vector<bool>& is_host, const LocalDevices* local = nullptr);

// The members of each collective that this process runs, in the plan's order.
std::vector<CollectiveGroup> LocalGroups(const fb::Function& function, const LocalDevices& local);

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_LAUNCH_ORDER_H_
