// Which devices of a plan this process runs, and what they are called here.
//
//   SINTER_ASSIGN_OR_RETURN(LocalDevices local, LocalDevices::Of(plan, world));   // `world` may be null.
//   if (local.Has(step.device())) ... local.NameOf(plan, step.device())           // cpu:0 for the plan's cpu:2, perhaps.
//
// Alone, a process runs all devices under the plan's own names. Among n, rank r runs the r-th of n equal blocks, counted
// from 0.
#ifndef SINTER_RUNTIME_WORLD_LOCAL_DEVICES_H_
#define SINTER_RUNTIME_WORLD_LOCAL_DEVICES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
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

  // InvalidArgument: the plan's devices cannot be shared evenly among the processes, or are not of one kind.
  static absl::StatusOr<LocalDevices> Of(const fb::Plan& plan, const World* world);

  bool Has(uint32_t device) const { return device - first < count; }
  // The process that runs any device of the plan; 0 if this one is alone.
  int RankOf(uint32_t device) const { return is_alone ? 0 : static_cast<int>(device / count); }
  // Of a device that this process runs.
  Device NameOf(const fb::Plan& plan, uint32_t device) const;
};

// The first of an output's buffers that is here: its own, or a replica. Null: there is none.
const fb::Buffer* LocalBuffer(const fb::Function& function, const fb::Port& output,
                              const LocalDevices& local);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_LOCAL_DEVICES_H_
