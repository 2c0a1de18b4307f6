#include "sinter/runtime/world/local_devices.h"

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter {

absl::StatusOr<LocalDevices> LocalDevices::Of(const fb::Plan& plan, const World* world,
                                              const HostPosition& on_host, int visible_gpus) {
  const uint32_t devices = NumDevices(plan);
  if (world == nullptr || world->size() == 1) return LocalDevices{.first = 0, .count = devices};
  const uint32_t processes = static_cast<uint32_t>(world->size());
  if (devices % processes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan runs on ", devices, devices == 1 ? " device" : " devices", ", which ",
                     processes, " processes cannot share evenly: start as many processes as divide ", devices,
                     ", or compile for a multiple of ", processes));
  }
  for (uint32_t d = 1; d < devices; ++d) {
    if (DeviceOf(plan, d).kind() == DeviceOf(plan, 0).kind()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the plan runs on ", DeviceOf(plan, 0).ToString(), " and ", DeviceOf(plan, d).ToString(),
                     ": several processes share a plan of CPUs alone or of GPUs alone"));
  }
  const uint32_t count = devices / processes;
  const auto own = static_cast<int32_t>(count);
  const bool sees_all = DeviceOf(plan, 0).is_gpu() && visible_gpus >= on_host.size * own;
  return LocalDevices{.first = static_cast<uint32_t>(world->rank()) * count,
                      .count = count,
                      .is_alone = false,
                      .first_index = sees_all ? on_host.rank * own : 0};
}

Device LocalDevices::NameOf(const fb::Plan& plan, uint32_t device) const {
  const Device name = DeviceOf(plan, device);
  if (is_alone) return name;
  return Device::Of(name.kind(), first_index + static_cast<int32_t>(device - first));
}

const fb::Buffer* LocalBuffer(const fb::Function& function, const fb::Port& output,
                              const LocalDevices& local) {
  const fb::Buffer* buffer = function.buffers()->Get(output.buffer());
  if (local.Has(buffer->device())) return buffer;
  for (uint32_t i = 0; output.replicas() != nullptr && i < output.replicas()->size(); ++i) {
    buffer = function.buffers()->Get(output.replicas()->Get(i));
    if (local.Has(buffer->device())) return buffer;
  }
  return nullptr;
}

}  // namespace sinter
