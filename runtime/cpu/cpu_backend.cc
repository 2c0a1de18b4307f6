#include "sinter/runtime/cpu/cpu_backend.h"

#include <fstream>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cpu/host_runtime.h"
#include "sinter/runtime/host/cpu_features.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/plan/plan_code.h"

namespace sinter {
namespace {

// CPU model as the kernel names it, otherwise the architecture.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      return line.substr(line.find(": ") + 2);
    }
  }
  return std::string(RunningArchitecture());
}

class Cpus : public Backend {
 public:
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  int Count() const override { return NumCpuDevices().value_or(0); }

  absl::Status Check(int32_t index) const override {
    SINTER_ASSIGN_OR_RETURN(const int count, NumCpuDevices());
    if (index >= 0 && index < count) return absl::OkStatus();
    const std::string name = Device::Cpu(index).ToString();
    const std::string there = count == 1 ? "cpu:0 alone" : absl::StrCat("cpu:0 to cpu:", count - 1);
    if (index < 0 || index >= kMaxCpuDevices) {
      return absl::NotFoundError(
          absl::StrCat(name, " does not exist: there is ", there, ", and never more than ", kMaxCpuDevices));
    }
    return absl::FailedPreconditionError(absl::StrCat(name, " does not exist: there is ", there, "; set ",
                                                      kCpuDevicesVariable, "=", index + 1,
                                                      " to have as many CPU devices, which share the cores"));
  }

  std::vector<std::string> Architectures() const override { return {std::string(RunningArchitecture())}; }

  absl::Status Describe(DeviceInfo& info) const override {
    info.name = CpuName();
    info.architecture = std::string(RunningArchitecture());
    return absl::OkStatus();
  }

  // Main memory is there, whatever the index.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeMemory(Device device) const override {
    return std::make_unique<HostMemory>(device);
  }

  std::vector<PlanFinding> CheckPlan(const fb::Plan& plan, const DeviceInfo& /*info*/) const override {
    const absl::StatusOr<PlanCode> code = CodeForThisCpu(plan);
    if (!code.ok()) return {{.is_fatal = true, .text = std::string(code.status().message())}};
    if (std::optional<std::string> better = BetterCode(plan, *code)) return {{.text = *std::move(better)}};
    return {};
  }

  absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeRuntime(Device device, CachingAllocator* allocator,
                                                             const StepContext& context) const override {
    return std::make_unique<HostRuntime>(device, context, allocator);
  }
};

}  // namespace

const Backend& CpuBackend() {
  static const Cpus backend;
  return backend;
}

}  // namespace sinter
