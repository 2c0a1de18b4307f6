// Which devices there are, and what they are.
//
//   Device device = TryGpu();                                // gpu:0, or cpu:0 where there is no GPU.
//   for (const Device d : TryAllGpus()) ...                  // All GPUs, or cpu:0 alone.
//   SINTER_RETURN_IF_ERROR(CheckDevice(Device::Gpu(3)));     // Says what there is instead.
//   SINTER_ASSIGN_OR_RETURN(DeviceInfo info, QueryDevice(device));
//   std::cout << info.name << " " << info.free_bytes << "\n";
//
// There is one CPU device, cpu:0, unless SINTER_CPU_DEVICES=n asks for n: they share the cores and the main memory, each
// with an allocator and statistics of its own, so that programs for many devices run without a GPU.
//
// Nothing here makes a context on a GPU, which would take its memory, except QueryDevice, which asks how much is free.
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

// What SINTER_CPU_DEVICES says, at each call; 1 if it is unset or empty. InvalidArgument: not a number in 1..256.
absl::StatusOr<int> NumCpuDevices();

// gpu:`index`, or cpu:0 if there is no such GPU.
Device TryGpu(int32_t index = 0);

// What this machine's GPUs are, each kind once, as plans name it: "sm_90". Empty without one.
std::vector<std::string> GpuArchitectures();

// gpu:0, gpu:1 and so on; cpu:0 alone if there is no GPU. Never empty.
std::vector<Device> TryAllGpus();

// Whether a device exists. FailedPrecondition: a GPU in a build without CUDA; a CPU device beyond SINTER_CPU_DEVICES, with
// the number to set. NotFound: no such GPU, and which there are. InvalidArgument: SINTER_CPU_DEVICES cannot be read.
absl::Status CheckDevice(Device device);

// The device's raw memory, for allocators. A CPU's is there whatever its index; for a GPU the errors of CheckDevice.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeDeviceMemory(Device device);

struct DeviceInfo {
  Device device;
  std::string name;          // "NVIDIA H100 80GB HBM3", "AMD EPYC 9534 64-Core Processor".
  std::string architecture;  // As plans name it: "sm_90", "x86_64".
  int compute_major = 0;     // A GPU's compute capability: 9
  int compute_minor = 0;     // and 0.
  int64_t total_bytes = 0;   // Of its memory.
  int64_t free_bytes = 0;    // Left for this process just now: an estimate, others use it too.
  int64_t cached_bytes = 0;  // Of ProcessAllocator(device): freed, and kept for what comes.
  int64_t used_bytes = 0;    // Of ProcessAllocator(device): in use.
};

// The errors of CheckDevice, and those of a device that does not answer.
absl::StatusOr<DeviceInfo> QueryDevice(Device device);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_DEVICE_INFO_H_
