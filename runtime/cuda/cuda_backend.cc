#include "sinter/runtime/cuda/cuda_backend.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cuda_runtime.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_libraries.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/cuda/steps/plan_findings.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"

namespace sinter {
namespace {

class Gpus : public Backend {
 public:
  DeviceKind kind() const override { return DeviceKind::kGpu; }
  int Count() const override { return NumCudaDevices(); }

  absl::Status Check(int32_t index) const override {
    const std::string name = Device::Gpu(index).ToString();
    const absl::StatusOr<int> found = CountCudaDevices();
    if (!found.ok()) {
      return absl::NotFoundError(absl::StrCat(name, " does not exist: ", found.status().message()));
    }
    const int count = *found;
    if (index >= 0 && index < count) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(name, " does not exist: there is ",
                     count == 1 ? "gpu:0 alone" : absl::StrCat("gpu:0 to gpu:", count - 1)));
  }

  std::vector<std::string> Architectures() const override {
    std::vector<std::string> names;
    for (int i = 0; i < NumCudaDevices(); ++i) {
      const absl::StatusOr<CudaDeviceInfo> info = DescribeCudaDevice(i);
      if (info.ok() && std::ranges::find(names, info->Architecture()) == names.end()) {
        names.push_back(info->Architecture());
      }
    }
    return names;
  }

  absl::Status Describe(DeviceInfo& info) const override {
    SINTER_ASSIGN_OR_RETURN(const CudaDeviceInfo cuda, DescribeCudaDevice(info.device.index()));
    info.name = cuda.name;
    info.architecture = cuda.Architecture();
    info.compute_major = cuda.major;
    info.compute_minor = cuda.minor;
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeMemory(Device device) const override {
    SINTER_RETURN_IF_ERROR(Check(device.index()));
    return MakeCudaMemory(device.index());
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> MakePinnedMemory() const override {
    return sinter::MakePinnedMemory();
  }

  std::vector<LibraryReport> Libraries() const override { return FindCudaLibraries(); }

  std::vector<PlanFinding> CheckPlan(const fb::Plan& plan, const DeviceInfo& info) const override {
    return FindInCudaPlan(plan, info);
  }

  absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeRuntime(Device device, CachingAllocator* allocator,
                                                             const StepContext& context) const override {
    return MakeCudaRuntime(device, {.allocator = allocator,
                                    .tuning = context.tuning,
                                    .load_times = context.load_times,
                                    .pool = *context.pool,
                                    .exchange_patience = context.exchange_patience,
                                    .plan = context.plan});
  }
};

}  // namespace

const Backend& CudaBackend() {
  static const Gpus backend;
  return backend;
}

}  // namespace sinter
