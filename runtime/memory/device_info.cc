#include "sinter/runtime/memory/device_info.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/process_allocator.h"

namespace sinter {

int NumGpus() {
  const absl::StatusOr<const Backend*> gpus = FindBackend(DeviceKind::kGpu);
  return gpus.ok() ? (*gpus)->Count() : 0;
}

absl::StatusOr<int> NumCpuDevices() {
  const char* const text = std::getenv(kCpuDevicesVariable);
  if (text == nullptr || *text == '\0') return 1;
  const std::string_view digits = text;
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error == std::errc() && end == digits.data() + digits.size() && count >= 1 && count <= kMaxCpuDevices) {
    return count;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(kCpuDevicesVariable, " is \"", text, "\": write a number of devices, 1 to ", kMaxCpuDevices));
}

Device TryGpu(int32_t index) { return index >= 0 && index < NumGpus() ? Device::Gpu(index) : Device::Cpu(); }

std::vector<Device> TryAllGpus() {
  std::vector<Device> devices;
  for (int32_t i = 0; i < NumGpus(); ++i) devices.push_back(Device::Gpu(i));
  if (devices.empty()) devices.push_back(Device::Cpu());
  return devices;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeDeviceMemory(Device device) {
  SINTER_ASSIGN_OR_RETURN(const Backend* const backend, FindBackend(device));
  return backend->MakeMemory(device);
}

absl::Status CheckDevice(Device device) {
  SINTER_ASSIGN_OR_RETURN(const Backend* const backend, FindBackend(device));
  return backend->Check(device.index());
}

std::vector<std::string> GpuArchitectures() {
  const absl::StatusOr<const Backend*> gpus = FindBackend(DeviceKind::kGpu);
  return gpus.ok() ? (*gpus)->Architectures() : std::vector<std::string>();
}

absl::StatusOr<DeviceInfo> QueryDevice(Device device) {
  SINTER_ASSIGN_OR_RETURN(const Backend* const backend, FindBackend(device));
  SINTER_RETURN_IF_ERROR(backend->Check(device.index()));
  DeviceInfo info;
  info.device = device;
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceMemory> memory, backend->MakeMemory(device));
  info.total_bytes = memory->TotalBytes();
  info.free_bytes = memory->FreeBytes();
  SINTER_RETURN_IF_ERROR(backend->Describe(info));
  if (const CachingAllocator* const allocator = FindProcessAllocator(device); allocator != nullptr) {
    const PoolStats stats = allocator->Stats();
    info.cached_bytes = stats.free_bytes;
    info.used_bytes = stats.used_bytes;
  }
  return info;
}

}  // namespace sinter
