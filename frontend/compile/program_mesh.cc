#include "sinter/frontend/compile/program_mesh.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
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

}  // namespace

bool SharesOneProgram(const DataParallel& parallel) {
  return parallel.devices.size() > 1 && parallel.update == UpdateStrategy::kReplicated &&
         parallel.scale == GradientScale::kGlobalMean;
}

absl::Status SetMesh(mlir::ModuleOp module, const DataParallel& parallel) {
  SINTER_RETURN_IF_ERROR(CheckDevices(parallel.devices));
  if (!SharesOneProgram(parallel)) return absl::OkStatus();
  mlir::Builder builder(module.getContext());
  const auto count = static_cast<int64_t>(parallel.devices.size());
  module->setAttr(ir::kMeshAttr,
                  ir::MeshAttr::get(module.getContext(), {builder.getStringAttr(kDataAxis)}, {count}));
  llvm::SmallVector<mlir::Attribute> devices;
  for (const Device& device : parallel.devices) {
    devices.push_back(ir::DeviceAttr::parse(module.getContext(), device.ToString()));
  }
  module->setAttr(ir::kMeshDevicesAttr, builder.getArrayAttr(devices));
  return absl::OkStatus();
}

}  // namespace sinter
