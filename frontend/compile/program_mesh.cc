#include "sinter/frontend/compile/program_mesh.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "sinter/frontend/graph/identifier.h"
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

std::string TextOf(const Mesh& mesh) {
  return absl::StrJoin(mesh.axes, ", ", [](std::string* out, const MeshAxis& axis) {
    absl::StrAppend(out, axis.name, " ", axis.size);
  });
}

absl::Status CheckAxes(const Mesh& mesh) {
  constexpr int64_t kMostRanks = int64_t{1} << 20;
  constexpr size_t kMostAxes = 8;
  if (mesh.axes.size() > kMostAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the mesh has ", mesh.axes.size(), " axes; at most ", kMostAxes, " are possible"));
  }
  int64_t ranks = 1;
  for (auto axis = mesh.axes.begin(); axis != mesh.axes.end(); ++axis) {
    if (!IsIdentifier(axis->name)) {
      return absl::InvalidArgumentError(absl::StrCat("an axis of the mesh has the name \"", axis->name,
                                                     "\"; a name is a letter, then letters, digits and "
                                                     "underscores"));
    }
    if (std::any_of(mesh.axes.begin(), axis, [&](const MeshAxis& a) { return a.name == axis->name; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("two axes of the mesh have the name \"", axis->name, "\""));
    }
    if (axis->size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis \"", axis->name, "\" of the mesh has size ", axis->size, "; give at least 1"));
    }
    ranks = axis->size > kMostRanks ? kMostRanks + 1 : ranks * axis->size;
    if (ranks > kMostRanks) {
      return absl::InvalidArgumentError(
          absl::StrCat("the mesh (", TextOf(mesh), ") has more than ", kMostRanks, " ranks"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAxis(const Mesh& mesh, const char* tactic, const std::string& axis) {
  if (std::any_of(mesh.axes.begin(), mesh.axes.end(), [&](const MeshAxis& a) { return a.name == axis; })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("parallel::", tactic, " names axis \"", axis,
                                                 "\", and the mesh is (", TextOf(mesh),
                                                 "); name one of its axes"));
}

absl::Status CheckTactics(const CompileOptions& o) {
  int batches = 0;
  for (const parallel::Tactic& tactic : o.parallel) {
    if (const auto* data = std::get_if<parallel::Data>(&tactic)) {
      for (const std::string& axis : data->axes) SINTER_RETURN_IF_ERROR(CheckAxis(o.mesh, "Data", axis));
      if (++batches > 1) {
        return absl::InvalidArgumentError(
            "parallel::Data is given twice; name all axes that share the batch in one");
      }
    }
    if (const auto* tensor = std::get_if<parallel::Tensor>(&tactic)) {
      SINTER_RETURN_IF_ERROR(CheckAxis(o.mesh, "Tensor", tensor->axis));
      if (tensor->dims.empty()) {
        return absl::InvalidArgumentError("parallel::Tensor::dims is empty; name the dimensions to cut");
      }
    }
    if (const auto* zero = std::get_if<parallel::Zero>(&tactic)) {
      SINTER_RETURN_IF_ERROR(CheckAxis(o.mesh, "Zero", zero->axis));
      if (zero->level < 1 || zero->level > 3) {
        return absl::InvalidArgumentError(
            absl::StrCat("parallel::Zero::level is ", zero->level, "; the levels are 1, 2 and 3"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompileOptions> WithMesh(CompileOptions o, mlir::ModuleOp module) {
  const DataParallel given = o.data_parallel;
  if (o.mesh.axes.empty() && (!o.parallel.empty() || !o.mesh.devices.empty())) {
    return absl::InvalidArgumentError(
        "CompileOptions::parallel needs a mesh with axes: set CompileOptions::mesh");
  }
  if (!o.mesh.axes.empty()) {
    if (!given.devices.empty()) {
      return absl::InvalidArgumentError(
          "CompileOptions has both a mesh and data_parallel; use the mesh, with parallel::Data");
    }
    SINTER_RETURN_IF_ERROR(CheckAxes(o.mesh));
    SINTER_RETURN_IF_ERROR(CheckTactics(o));
    return o;
  }
  if (given.devices.size() > 1) {
    SINTER_RETURN_IF_ERROR(CheckDevices(given.devices));
    SINTER_ASSIGN_OR_RETURN(const std::vector<size_t> cell, CellOf(module, given.devices));
    const auto ranks = static_cast<int64_t>(given.devices.size() / cell.size());
    o.mesh = {.axes = {{kDataAxis, ranks}}, .devices = given.devices};
  } else if (!given.devices.empty()) {
    o.device = given.devices.front();
  }
  o.reshards = Reshards::kAutomatic;
  o.parallel = {parallel::Data{.axes = {kDataAxis},
                               .batch_norm = given.batch_norm,
                               .even = given.even,
                               .whole_inputs = given.whole_inputs,
                               .bucket_bytes = given.bucket_bytes}};
  return o;
}

parallel::Data BatchTactic(const CompileOptions& options) {
  for (const parallel::Tactic& tactic : options.parallel) {
    if (const auto* data = std::get_if<parallel::Data>(&tactic)) return *data;
  }
  return {.axes = {}};
}

int64_t GroupsOfBatchNorm(const CompileOptions& options) {
  const parallel::Data data = BatchTactic(options);
  if (data.batch_norm != BatchStatistics::kPerDevice) return 1;
  int64_t groups = 1;
  for (const MeshAxis& axis : options.mesh.axes) {
    const bool cuts = std::find(data.axes.begin(), data.axes.end(), axis.name) != data.axes.end();
    if (cuts) groups *= axis.size;
  }
  return groups;
}

absl::Status SetMesh(mlir::ModuleOp module, const CompileOptions& options) {
  if (options.mesh.axes.empty()) return absl::OkStatus();
  mlir::Builder builder(module.getContext());
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::SmallVector<int64_t> sizes;
  for (const MeshAxis& axis : options.mesh.axes) {
    names.push_back(builder.getStringAttr(axis.name));
    sizes.push_back(axis.size);
  }
  const std::vector<Device>& devices = options.mesh.devices;
  SINTER_RETURN_IF_ERROR(CheckDevices(devices));
  auto mesh = ir::MeshAttr::get(module.getContext(), names, sizes);
  if (mesh.ranks() == 1) return absl::OkStatus();
  if (devices.empty()) {
    module->setAttr(ir::kMeshAttr, mesh);
    return absl::OkStatus();
  }
  SINTER_ASSIGN_OR_RETURN(const std::vector<size_t> cell, CellOf(module, devices));
  const auto count = static_cast<int64_t>(devices.size() / cell.size());
  if (count != mesh.ranks()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the mesh (", TextOf(options.mesh), ") has ", mesh.ranks(), " ranks of ", cell.size(),
                     cell.size() == 1 ? " device" : " devices", ", and Mesh::devices lists ", devices.size(),
                     "; list ", mesh.ranks() * cell.size(), " or none"));
  }
  module->setAttr(ir::kMeshAttr, mesh);
  llvm::SmallVector<mlir::Attribute> all;
  for (size_t first = 0; first < devices.size(); first += cell.size()) {
    for (size_t position : cell) {
      all.push_back(ir::DeviceAttr::parse(module.getContext(), devices[first + position].ToString()));
    }
  }
  module->setAttr(ir::kMeshDevicesAttr, builder.getArrayAttr(all));
  return absl::OkStatus();
}

}  // namespace sinter
