// Lists the devices of this machine and their properties.
//
//   Device device = TryGpu();                                // gpu:0, or cpu:0 if there is no GPU.
//   for (const Device d : TryAllGpus()) ...                  // All GPUs, or only cpu:0.
//   SINTER_RETURN_IF_ERROR(CheckDevice(Device::Gpu(3)));     // The error lists the existing devices.
//   SINTER_ASSIGN_OR_RETURN(DeviceInfo info, QueryDevice(device));
//   std::cout << info.name << " " << info.free_bytes << "\n";
//
// There is one CPU device, cpu:0, unless SINTER_CPU_DEVICES=n requests n devices. They share the cores and
// main memory; each has its own allocator and statistics. So programs for many devices run without a GPU.
//
// QueryDevice creates a context on a GPU, which takes GPU memory, to read the free memory. The other
// functions do not.
#ifndef SINTER_RUNTIME_MEMORY_DEVICE_INFO_H_
#define SINTER_RUNTIME_MEMORY_DEVICE_INFO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

// 0 without a driver, and in a build without CUDA.
int NumGpus();

inline constexpr int kMaxCpuDevices = 256;
inline constexpr char kCpuDevicesVariable[] = "SINTER_CPU_DEVICES";

// Value of SINTER_CPU_DEVICES, read at each call; 1 if unset or empty. InvalidArgument: not a number in
// 1..256.
absl::StatusOr<int> NumCpuDevices();

// Returns gpu:`index`, or cpu:0 if there is no such GPU.
Device TryGpu(int32_t index = 0);

// Architectures of this machine's GPUs, each once, as plans name them: "sm_90". Empty without a GPU.
std::vector<std::string> GpuArchitectures();

// Returns gpu:0, gpu:1 and so on; only cpu:0 if there is no GPU. Never empty.
std::vector<Device> TryAllGpus();

// OK if the device exists. FailedPrecondition: a GPU in a build without CUDA, or a CPU device beyond
// SINTER_CPU_DEVICES (gives the number to set). NotFound: no such GPU (lists the GPUs), or a CPU index that
// is negative or above 255. InvalidArgument: SINTER_CPU_DEVICES is not readable.
absl::Status CheckDevice(Device device);

// Returns the device's raw memory, for allocators. Never fails for a CPU of any index. For a GPU: errors of
// CheckDevice.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeDeviceMemory(Device device);

struct DeviceInfo {
  Device device;
  std::string name;          // "NVIDIA H100 80GB HBM3", "AMD EPYC 9534 64-Core Processor".
  std::string architecture;  // As plans name it: "sm_90", "x86_64".
  int compute_major = 0;     // Major number of a GPU's compute capability, e.g. 9.
  int compute_minor = 0;     // Minor number, e.g. 0.
  int64_t total_bytes = 0;   // Total memory.
  int64_t free_bytes = 0;    // Left for this process now (an estimate: other processes use it too).
  int64_t cached_bytes = 0;  // Cached in ProcessAllocator(device): freed, and kept for later requests.
  int64_t used_bytes = 0;    // In use in ProcessAllocator(device).
};

// Errors: those of CheckDevice, and those of a device that does not respond.
absl::StatusOr<DeviceInfo> QueryDevice(Device device);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_DEVICE_INFO_H_
