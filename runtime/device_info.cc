#include "sinter/runtime/device_info.h"

#include <algorithm>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cpu_features.h"
#include "sinter/runtime/device_memory.h"
#include "sinter/runtime/process_allocator.h"
#include "sinter/runtime/status.h"
#ifdef SINTER_WITH_CUDA
#include "sinter/runtime/cuda/cuda_devices.h"
#include "sinter/runtime/cuda/cuda_memory.h"
#endif

namespace sinter {
namespace {

constexpr int kMaxCpuDevices = 256;
constexpr char kDevicesVariable[] = "SINTER_CPU_DEVICES";

absl::Status CheckCpu(int32_t index) {
  SINTER_ASSIGN_OR_RETURN(const int count, NumCpuDevices());
  if (index >= 0 && index < count) return absl::OkStatus();
  const std::string name = Device::Cpu(index).ToString();
  const std::string there = count == 1 ? "cpu:0 alone" : absl::StrCat("cpu:0 to cpu:", count - 1);
  if (index < 0 || index >= kMaxCpuDevices) {
    return absl::NotFoundError(
        absl::StrCat(name, " does not exist: there is ", there, ", and never more than ", kMaxCpuDevices));
  }
  return absl::FailedPreconditionError(absl::StrCat(name, " does not exist: there is ", there, "; set ",
                                                    kDevicesVariable, "=", index + 1,
                                                    " to have as many CPU devices, which share the cores"));
}

absl::Status CheckGpu(int32_t index) {
  const std::string name = Device::Gpu(index).ToString();
#ifndef SINTER_WITH_CUDA
  return absl::FailedPreconditionError(
      absl::StrCat(name,
                   ": this build of Sinter has no CUDA; build it with -D SINTER_CUDA=ON, which says what of "
                   "CUDA's toolkit is missing, and scripts/bootstrap.sh --cuda fetches it"));
#else
  const absl::StatusOr<int> found = CountCudaDevices();
  if (!found.ok()) {
    return absl::NotFoundError(absl::StrCat(name, " does not exist: ", found.status().message()));
  }
  const int count = *found;
  if (index >= 0 && index < count) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(name, " does not exist: there is ",
                   count == 1 ? "gpu:0 alone" : absl::StrCat("gpu:0 to gpu:", count - 1)));
#endif
}

// As the kernel names it; the architecture where it does not.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      return line.substr(line.find(": ") + 2);
    }
  }
  return std::string(RunningArchitecture());
}

}  // namespace

int NumGpus() {
#ifdef SINTER_WITH_CUDA
  return NumCudaDevices();
#else
  return 0;
#endif
}

absl::StatusOr<int> NumCpuDevices() {
  const char* const text = std::getenv(kDevicesVariable);
  if (text == nullptr || *text == '\0') return 1;
  const std::string_view digits = text;
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error == std::errc() && end == digits.data() + digits.size() && count >= 1 && count <= kMaxCpuDevices) {
    return count;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(kDevicesVariable, " is \"", text, "\": write a number of devices, 1 to ", kMaxCpuDevices));
}

Device TryGpu(int32_t index) { return index >= 0 && index < NumGpus() ? Device::Gpu(index) : Device::Cpu(); }

std::vector<Device> TryAllGpus() {
  std::vector<Device> devices;
  for (int32_t i = 0; i < NumGpus(); ++i) devices.push_back(Device::Gpu(i));
  if (devices.empty()) devices.push_back(Device::Cpu());
  return devices;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeDeviceMemory(Device device) {
  if (device.is_cpu()) return std::make_unique<HostMemory>(device);
  SINTER_RETURN_IF_ERROR(CheckDevice(device));
#ifdef SINTER_WITH_CUDA
  return MakeCudaMemory(device.index());
#else
  return absl::InternalError("a GPU was found by a build without CUDA");
#endif
}

absl::Status CheckDevice(Device device) {
  return device.is_gpu() ? CheckGpu(device.index()) : CheckCpu(device.index());
}

std::vector<std::string> GpuArchitectures() {
  std::vector<std::string> names;
#ifdef SINTER_WITH_CUDA
  for (int i = 0; i < NumCudaDevices(); ++i) {
    const absl::StatusOr<CudaDeviceInfo> info = DescribeCudaDevice(i);
    if (info.ok() && std::find(names.begin(), names.end(), info->Architecture()) == names.end()) {
      names.push_back(info->Architecture());
    }
  }
#endif
  return names;
}

absl::StatusOr<DeviceInfo> QueryDevice(Device device) {
  SINTER_RETURN_IF_ERROR(CheckDevice(device));
  DeviceInfo info;
  info.device = device;
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceMemory> memory, MakeDeviceMemory(device));
  info.total_bytes = memory->TotalBytes();
  info.free_bytes = memory->FreeBytes();
#ifdef SINTER_WITH_CUDA
  if (device.is_gpu()) {
    SINTER_ASSIGN_OR_RETURN(const CudaDeviceInfo cuda, DescribeCudaDevice(device.index()));
    info.name = cuda.name;
    info.architecture = cuda.Architecture();
    info.compute_major = cuda.major;
    info.compute_minor = cuda.minor;
  }
#endif
  if (device.is_cpu()) {
    info.name = CpuName();
    info.architecture = std::string(RunningArchitecture());
  }
  if (const CachingAllocator* const allocator = FindProcessAllocator(device); allocator != nullptr) {
    const PoolStats stats = allocator->Stats();
    info.cached_bytes = stats.free_bytes;
    info.used_bytes = stats.used_bytes;
  }
  return info;
}

}  // namespace sinter
