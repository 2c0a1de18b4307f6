// The devices of a plan that this process runs, with their local names.
//
//   SINTER_ASSIGN_OR_RETURN(LocalDevices local, LocalDevices::Of(plan, world));   // `world` may be null.
//   if (local.Has(step.device())) ... local.NameOf(plan, step.device())           // E.g. cpu:0 for cpu:2.
//
// A single process runs all devices under the plan's names. Of n processes, rank r runs block r of n equal
// blocks, counted from 0. Processes of one computer take different GPUs: if each of them sees enough for all,
// the second process takes those after the first one's.
#ifndef SINTER_RUNTIME_WORLD_LOCAL_DEVICES_H_
#define SINTER_RUNTIME_WORLD_LOCAL_DEVICES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/world/host_position.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

namespace fb {
struct Buffer;
struct Function;
struct Plan;
struct Port;
}  // namespace fb

struct LocalDevices {
  uint32_t first = 0;  // Index into the plan's devices.
  uint32_t count = 1;
  bool is_alone = true;
  int32_t first_index = 0;  // The index of the first local name, of several processes.

  // InvalidArgument: the number of devices is not a multiple of the number of processes, or the devices are
  // of two kinds.
  // `visible_gpus`: those that this process can use.
  static absl::StatusOr<LocalDevices> Of(const fb::Plan& plan, const World* world,
                                         const HostPosition& on_host = {}, int visible_gpus = 0);

  bool Has(uint32_t device) const { return device - first < count; }
  // Rank of the process that runs any device of the plan; 0 for a single process.
  int RankOf(uint32_t device) const { return is_alone ? 0 : static_cast<int>(device / count); }
  // Local name of a device that this process runs.
  Device NameOf(const fb::Plan& plan, uint32_t device) const;
};

// Returns the first local buffer of an output: its own or a replica. Null if there is none.
const fb::Buffer* LocalBuffer(const fb::Function& function, const fb::Port& output,
                              const LocalDevices& local);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_LOCAL_DEVICES_H_
