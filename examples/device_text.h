// DeviceText: the line that a program prints about its devices.
//
//   std::cout << DeviceText({device}) << "\n";
//   device: gpu:0 (NVIDIA H200)
//   device: cpu:0 (AMD EPYC 9534 64-Core Processor); no GPU: gpu:0: this machine has 0 GPUs
#ifndef SINTER_EXAMPLES_DEVICE_TEXT_H_
#define SINTER_EXAMPLES_DEVICE_TEXT_H_

#include <algorithm>
#include <string>
#include <vector>

#include "sinter/runtime/device.h"
#include "sinter/runtime/device_info.h"

namespace sinter::examples {

// Returns the devices with their names. If no device is a GPU and gpu:0 is unavailable, adds the reason.
inline std::string DeviceText(const std::vector<Device>& devices) {
  std::string text = "device: ";
  for (size_t i = 0; i < devices.size(); ++i) {
    const absl::StatusOr<DeviceInfo> info = QueryDevice(devices[i]);
    text += (i == 0 ? "" : ", ") + devices[i].ToString() + (info.ok() ? " (" + info->name + ")" : "");
  }
  const bool has_gpu = std::any_of(devices.begin(), devices.end(), [](Device d) { return d.is_gpu(); });
  const absl::Status gpu = CheckDevice(Device::Gpu(0));
  if (!has_gpu && !gpu.ok()) text += "; no GPU: " + std::string(gpu.message());
  return text;
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_DEVICE_TEXT_H_
