#include "sinter/frontend/compile/gpu_architectures.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"

namespace sinter {

using plan_ir::FunctionOp;

namespace {

// Architectures of this machine's devices of the kind. Without a GPU here: those of all models of GPUs.
std::vector<std::string> NativeArchitectures(ir::DeviceKind kind) {
  if (kind == ir::DeviceKind::gpu) {
    std::vector<std::string> here = GpuArchitectures();
    if (here.empty()) {
      for (const ir::GpuModel& gpu : ir::kGpuModels) here.emplace_back(gpu.architecture);
    }
    return here;
  }
  const std::optional<DeviceKind> known = FindDeviceKind(ir::stringifyDeviceKind(kind));
  if (!known.has_value()) return {};
  const absl::StatusOr<const Backend*> backend = FindBackend(*known);
  return backend.ok() ? (*backend)->Architectures() : std::vector<std::string>();
}

// The kinds of the plan's devices that run CUDA kernels, each once.
std::vector<ir::DeviceKind> CudaKindsOf(mlir::ModuleOp module) {
  std::vector<ir::DeviceKind> kinds;
  for (auto function : module.getOps<FunctionOp>()) {
    for (ir::DeviceAttr device : function.deviceList()) {
      const ir::DeviceKind kind = device.getKind();
      if (ir::TargetModel::Of(kind).kernels != ir::KernelForm::kCuda) continue;
      if (!llvm::is_contained(kinds, kind)) kinds.push_back(kind);
    }
  }
  return kinds;
}

// True if each of the requested architectures is `wanted`.
bool AllOf(const std::vector<std::string>& requested, bool (*wanted)(const std::string& name)) {
  return std::all_of(requested.begin(), requested.end(), [&](const std::string& name) {
    if (name != "native") return wanted(name);
    const std::vector<std::string> natives = NativeArchitectures(ir::DeviceKind::gpu);
    return std::all_of(natives.begin(), natives.end(), wanted);
  });
}

}  // namespace

std::vector<std::string> ArchitecturesOf(const std::vector<std::string>& requested, mlir::ModuleOp module) {
  std::vector<std::string> names;
  auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& name : requested) {
    if (name != "native") {
      add(name);
      continue;
    }
    for (const ir::DeviceKind kind : CudaKindsOf(module)) {
      for (const std::string& native : NativeArchitectures(kind)) add(native);
    }
  }
  return names;
}

int64_t WidestWholeAttention(const std::vector<std::string>& requested) {
  const auto is_of_9 = [](const std::string& name) { return name.starts_with("sm_9"); };
  return AllOf(requested, is_of_9) ? 256 : 128;
}

std::vector<std::string> WithoutFloat8(const std::vector<std::string>& requested, bool by_row) {
  std::vector<std::string> without;
  const auto add = [&](const std::string& name) {
    if (!name.starts_with("sm_")) return;
    const int number = std::atoi(name.c_str() + 3);  // 90 of sm_90a.
    const bool has = by_row ? number == 90 : number >= 89;
    if (!has && std::find(without.begin(), without.end(), name) == without.end()) without.push_back(name);
  };
  for (const std::string& name : requested) {
    if (name != "native") {
      add(name);
      continue;
    }
    for (const std::string& native : NativeArchitectures(ir::DeviceKind::gpu)) add(native);
  }
  return without;
}

bool AllAreHopper(const std::vector<std::string>& requested) {
  return !requested.empty() && AllOf(requested, [](const std::string& name) { return name == "sm_90"; });
}

}  // namespace sinter
