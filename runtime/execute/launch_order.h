// Groups the steps of a function into launches on devices, and finds the waits between devices.
//
//   LaunchOrder order = MakeLaunchOrder(plan, function, {false, false});    // Two GPUs.
//   for (const Launch& launch : order.launches) ...                         // WaitFor, then the steps.
//
// The order is computed once, in plan order, from the byte ranges that steps read and write. A device runs
// its own steps in order, and only copies access the memory of two devices. So there are two reasons to wait.
// A copy waits for its source device if that device has written the source since the last wait, or if this
// run has not waited for that device yet. A step waits if another device's copy may still be reading the
// bytes that the step writes. CPUs neither wait nor are waited for: their work is done when a call returns,
// and copies from and to CPUs end with the call.
//
// The local members of a collective on CPUs are one launch. On GPUs each member is an ordinary step of its
// device's launch. The exchange adds no known order between the devices. All waits of the members come before
// the launch of any of them.
//
// A GPU step joins the open launch of its device, even past steps of other devices, unless the step must wait
// or another device has waited for the launch. This gives fewer and larger launches, each of which can be
// captured.
#ifndef SINTER_RUNTIME_EXECUTE_LAUNCH_ORDER_H_
#define SINTER_RUNTIME_EXECUTE_LAUNCH_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/world/local_devices.h"

namespace sinter {

namespace fb {
struct Function;
struct Plan;
}  // namespace fb

// One device waits for all earlier work of another.
struct Wait {
  uint32_t waiter;
  uint32_t other;

  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Launch {
  uint32_t device = 0;
  std::vector<uint32_t> steps = {};   // Indices into Function.steps, ascending. Empty: the device only waits.
  std::vector<uint32_t> others = {};  // Devices to wait for first.
  bool is_between = false;            // A single copy from another device.
  // All local members of a collective on CPUs. `device` has the first of them.
  bool is_collective = false;
};

struct LaunchOrder {
  std::vector<Launch> launches;
  // Waits after the last launch: the next run, of any function, may overwrite the sources of this run's
  // copies.
  std::vector<Wait> last;
};

// `is_host` is true for each device of the plan that is a CPU. Launches only the steps of `local`, and the
// copies with one side in `local`, as steps of that side. Null `local`: all devices.
LaunchOrder MakeLaunchOrder(const fb::Plan& plan, const fb::Function& function,
                            const std::vector<bool>& is_host, const LocalDevices* local = nullptr);

// Cuts a launch so that the steps that cannot be captured are in parts of their own. A copy from another
// device and a collective on CPUs stay whole.
std::vector<Launch> PartsOf(Launch launch, absl::FunctionRef<bool(uint32_t step)> can_be_captured);

// The members of each collective that this process runs, in the plan's order.
std::vector<CollectiveGroup> LocalGroups(const fb::Function& function, const LocalDevices& local);

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_LAUNCH_ORDER_H_
