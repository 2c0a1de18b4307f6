#include "sinter/tests/runtime/emulated/emulated_devices.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/tests/runtime/emulated/emulated_code.h"
#include "sinter/tests/runtime/emulated/emulated_gpu.h"
#include "sinter/tests/runtime/emulated/emulated_memory.h"

namespace sinter {
namespace {

class EmulatedBackend : public Backend {
 public:
  explicit EmulatedBackend(DeviceKind kind) : kind_(kind) {}

  DeviceKind kind() const override { return kind_; }
  int Count() const override { return kEmulatedDevices; }
  absl::Status Check(int32_t index) const override {
    if (index >= 0 && index < Count()) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(Device::Of(kind_, index).ToString(),
                                            " does not exist: there are ", Device::Of(kind_, 0).ToString(),
                                            " to ", Device::Of(kind_, Count() - 1).ToString()));
  }
  std::vector<std::string> Architectures() const override { return {kEmulatedArchitecture}; }
  absl::Status Describe(DeviceInfo& info) const override {
    info.name = "an emulated GPU", info.architecture = kEmulatedArchitecture;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeMemory(Device device) const override {
    SINTER_RETURN_IF_ERROR(Check(device.index()));
    return std::make_unique<EmulatedMemory>(device);
  }
  absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeRuntime(Device device, CachingAllocator* allocator,
                                                             const StepContext&) const override {
    return std::make_unique<EmulatedGpu>(device, *this, allocator);
  }

 private:
  DeviceKind kind_;
};

// The compiler plans for these devices as for CUDA GPUs.
ir::TargetModel EmulatedModel() {
  ir::TargetModel model = ir::TargetModel::Of(ir::DeviceKind::gpu);
  model.name = "emulated GPUs";
  return model;
}

// One row in each registry.
DeviceKind Register() {
  const absl::StatusOr<DeviceKind> kind =
      RegisterDeviceKind({.name = kEmulatedKind, .runs_gpu_kernels = true, .runs_gpu_libraries = true});
  SINTER_CHECK(kind.ok()) << kind.status();
  static const EmulatedBackend backend(*kind);
  absl::Status status = RegisterBackend(backend);
  SINTER_CHECK(status.ok()) << status;
  SINTER_CHECK(ir::RegisterTargetModel(kEmulatedKind, EmulatedModel()).has_value());
  status = codegen::RegisterDeviceCodeCompiler(EmulatedCodeCompiler());
  SINTER_CHECK(status.ok()) << status;
  return *kind;
}

}  // namespace

DeviceKind RegisterEmulatedDevices() {
  static const DeviceKind kind = Register();
  return kind;
}

}  // namespace sinter
