// Device placement in the builder: scopes, a tensor's device, copies.
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

namespace {

// The compiler's kinds and the runtime's have the same names; nullopt if the compiler has none of this name.
std::optional<ir::DeviceKind> KindInIr(Device device) {
  const std::string_view name = DeviceKindName(device.kind());
  return ir::symbolizeDeviceKind(llvm::StringRef(name.data(), name.size()));
}

}  // namespace

ir::DeviceAttr AttrOf(Device device, mlir::MLIRContext& context) {
  const std::optional<ir::DeviceKind> kind = KindInIr(device);
  SINTER_CHECK(kind.has_value()) << device << " has no target model";
  return ir::DeviceAttr::get(&context, *kind, device.index());
}

Device DeviceOf(ir::DeviceAttr device) {
  const std::optional<DeviceKind> kind = FindDeviceKind(ir::stringifyDeviceKind(device.getKind()));
  SINTER_CHECK(kind.has_value()) << device.text() << " is of a kind that the runtime does not know";
  return Device::Of(*kind, device.getIndex());
}

bool GraphState::CheckDevice(Device device, Where where, std::string_view what) {
  if (!KindInIr(device).has_value()) {
    Error(where, what,
          absl::StrCat("names ", device.ToString(), ", and the compiler makes code for devices of kind ",
                       ir::DeviceKindNames(), " alone; ir/target/target_model.h adds a kind"));
    return false;
  }
  if (device.index() >= 0) return true;
  Error(where, what,
        absl::StrCat("names ", device.ToString(), "; devices count from 0, as in ",
                     Device::Of(device.kind(), 0).ToString()));
  return false;
}

void GraphState::MoveVariable(const std::string& name, Device device, Where where) {
  if (!CheckDevice(device, where, "To")) return;
  auto found = variable_ops.find(name);
  if (found != variable_ops.end()) ir::SetDevice(found->second, AttrOf(device, context()));
}

// FunctionBuilder
// -----------------------------------------------------------------------------------------------------

void FunctionBuilder::Placer::notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint) {
  function->PlaceInserted(op);
}

void FunctionBuilder::PlaceInserted(mlir::Operation* op) {
  // A gradient is on the device of its value.
  if (llvm::isa<ir::GradientsOp>(op) || !llvm::isa_and_present<ir::SinterDialect>(op->getDialect())) return;
  if (auto copy = llvm::dyn_cast<ir::CopyOp>(op)) {
    known_device_[op] = copy.getLike() ? DeviceOf(copy.getLike()) : copy.getDeviceAttr();
    return;
  }
  ir::DeviceAttr device = device_scope();
  if (device) ir::SetDevice(op, device);
  for (mlir::Value operand : op->getOperands()) {
    if (!device) device = DeviceOf(operand);
  }
  if (device) known_device_[op] = device;
}

ir::DeviceAttr FunctionBuilder::DeviceOf(mlir::Value value) const {
  if (mlir::Operation* op = value.getDefiningOp()) {
    if (auto point = llvm::dyn_cast<ir::GradientPointOp>(op)) return DeviceOf(point.getX());
    if (!llvm::isa<ir::GradientsOp>(op)) return known_device_.lookup(op);
    return DeviceOf(op->getOperand(1 + llvm::cast<mlir::OpResult>(value).getResultNumber()));
  }
  if (value.getParentBlock() != &func_.getBody().front()) return {};  // Known once the loop is placed.
  mlir::DictionaryAttr attributes =
      argument_attributes_[llvm::cast<mlir::BlockArgument>(value).getArgNumber()];
  auto variable = attributes.getAs<mlir::FlatSymbolRefAttr>(ir::kVariableAttr);
  // Reads the variable itself, which may have moved after the read.
  if (variable) {
    auto found = graph_.variable_ops.find(variable.getValue().str());
    return found == graph_.variable_ops.end() ? ir::DeviceAttr() : ir::DeviceOf(found->second.getOperation());
  }
  return attributes.getAs<ir::DeviceAttr>(ir::kDeviceAttr);
}

// Scopes
// ----------------------------------------------------------------------------------------------------

DeviceScope::DeviceScope(Builder& b, std::optional<Device> device, Where where)
    : DeviceScope(b.function(), device, where) {}

DeviceScope::DeviceScope(FunctionBuilder* function, std::optional<Device> device, Where where) {
  if (!device || !function || !function->graph().CheckDevice(*device, where, "DeviceScope")) return;
  function_ = function;
  function_->PushDevice(AttrOf(*device, function->graph().context()));
}

DeviceScope::~DeviceScope() {
  if (function_) function_->PopDevice();
}

// Tensors
// -----------------------------------------------------------------------------------------------------------

Device Tensor::device() const {
  if (!ok()) return Device::Cpu();
  ir::DeviceAttr device = function()->DeviceOf(mlir::Value::getFromOpaquePointer(value_));
  return device ? DeviceOf(device) : Device::Cpu();
}

}  // namespace sinter
