#include "sinter/frontend/compile/program_mesh.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

namespace {

absl::Status CheckDevices(const std::vector<Device>& devices) {
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    if (std::find(devices.begin(), device, *device) != device) {
      return absl::InvalidArgumentError(
          absl::StrCat("the devices of the batch name ", device->ToString(), " twice"));
    }
    if (device->kind() != devices.front().kind()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a batch cannot be shared by ", devices.front().ToString(), " and ", device->ToString(),
          ": CPUs exchange with CPUs, GPUs with GPUs; name devices of one kind"));
    }
  }
  return absl::OkStatus();
}

// The devices that the program names, and the first of the list if it leaves something to the compiler.
std::vector<Device> DevicesOfProgram(mlir::ModuleOp module, Device first) {
  std::vector<Device> devices;
  bool is_all_placed = true;
  module.walk([&](mlir::Operation* op) {
    const bool counts = llvm::isa<ir::VariableOp>(op) || op->getParentOfType<mlir::func::FuncOp>();
    if (!counts || op->hasTrait<mlir::OpTrait::IsTerminator>()) return;
    if (const ir::DeviceAttr attribute = ir::DeviceOf(op)) {
      const Device device = Device::Parse(attribute.text()).value();
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
    } else {
      is_all_placed = false;
    }
  });
  if ((!is_all_placed || devices.empty()) &&
      std::find(devices.begin(), devices.end(), first) == devices.end()) {
    devices.push_back(first);
  }
  return devices;
}

// Returns the positions of a rank's devices in the rank's part of the list, in the order of the plan's
// devices: by kind, then by index.
absl::StatusOr<std::vector<size_t>> CellOf(mlir::ModuleOp module, const std::vector<Device>& devices) {
  std::vector<Device> used = DevicesOfProgram(module, devices.front());
  std::sort(used.begin(), used.end());
  std::vector<size_t> positions;
  for (const Device& device : used) {
    const auto found =
        std::find(devices.begin(), devices.begin() + std::min(used.size(), devices.size()), device);
    if (found == devices.begin() + std::min(used.size(), devices.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program places ops on ", device.ToString(), ", and uses ", used.size(),
                       used.size() == 1 ? " device" : " devices",
                       " in all: the first devices of the batch must be these, then come as many for each "
                       "further part of the "
                       "batch; leave out the placement or name the devices so"));
    }
    positions.push_back(found - devices.begin());
  }
  if (devices.size() % used.size() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the program uses ", used.size(), " devices, and the ", devices.size(),
        " devices of the batch are not a multiple of them: name ", devices.size() / used.size() * used.size(),
        " or ", (devices.size() / used.size() + 1) * used.size(), " devices"));
  }
  return positions;
}

}  // namespace

absl::Status SetMesh(mlir::ModuleOp module, const DataParallel& parallel) {
  SINTER_RETURN_IF_ERROR(CheckDevices(parallel.devices));
  if (parallel.devices.size() < 2) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(const std::vector<size_t> cell, CellOf(module, parallel.devices));
  mlir::Builder builder(module.getContext());
  const auto count = static_cast<int64_t>(parallel.devices.size() / cell.size());
  module->setAttr(ir::kMeshAttr,
                  ir::MeshAttr::get(module.getContext(), {builder.getStringAttr(kDataAxis)}, {count}));
  llvm::SmallVector<mlir::Attribute> devices;
  for (size_t first = 0; first < parallel.devices.size(); first += cell.size()) {
    for (size_t position : cell) {
      devices.push_back(
          ir::DeviceAttr::parse(module.getContext(), parallel.devices[first + position].ToString()));
    }
  }
  module->setAttr(ir::kMeshDevicesAttr, builder.getArrayAttr(devices));
  return absl::OkStatus();
}

}  // namespace sinter
