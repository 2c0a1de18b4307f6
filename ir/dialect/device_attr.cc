#include "sinter/ir/dialect/device_attr.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "sinter/ir/dialect/ops.h"

// clang-format off: the enums come before the attributes that use them.
#include "ir/device_enums.cc.inc"
// clang-format on
#define GET_ATTRDEF_CLASSES
#include "ir/attributes.cc.inc"

namespace sinter::ir {

void AddAttributes(SinterDialect* dialect) {
  dialect->addAttributeFamily<BoxAttr, DeviceAttr, MeshAttr, PartAttr, ShardingAttr>();
}

mlir::LogicalResult DeviceAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> error, DeviceKind kind,
                                       int32_t index) {
  if (index >= 0) return mlir::success();
  return error() << "a device cannot have the index " << index << "; expected 0 or more, as in <"
                 << stringifyDeviceKind(kind) << ", 0>";
}

DeviceAttr DeviceAttr::cpu(mlir::MLIRContext* context, int32_t index) {
  return get(context, DeviceKind::cpu, index);
}
DeviceAttr DeviceAttr::gpu(mlir::MLIRContext* context, int32_t index) {
  return get(context, DeviceKind::gpu, index);
}

DeviceAttr DeviceAttr::parse(mlir::MLIRContext* context, llvm::StringRef text) {
  auto [name, digits] = text.split(':');
  std::optional<DeviceKind> kind = symbolizeDeviceKind(name);
  int32_t index = 0;
  if (!kind || digits.getAsInteger(10, index) || index < 0) return {};
  return get(context, *kind, index);
}

std::string DeviceAttr::text() const {
  return (stringifyDeviceKind(getKind()) + ":" + llvm::Twine(getIndex())).str();
}

bool DeviceAttr::before(DeviceAttr other) const {
  return std::make_pair(getKind(), getIndex()) < std::make_pair(other.getKind(), other.getIndex());
}

DeviceAttr DeviceOf(mlir::Operation* op) {
  if (auto placed = llvm::dyn_cast<PlacedInterface>(op)) return placed.placedOn();
  auto copy = llvm::dyn_cast<CopyOp>(op);
  if (!copy) return op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  return copy.getLike() ? DeviceOf(copy.getLike()) : copy.getDeviceAttr();
}

DeviceAttr DeviceOf(mlir::Value value) {
  if (mlir::Operation* op = value.getDefiningOp()) {
    auto gradients = llvm::dyn_cast<GradientsOp>(op);
    if (!gradients) return DeviceOf(op);
    return DeviceOf(gradients.getXs()[llvm::cast<mlir::OpResult>(value).getResultNumber()]);
  }
  auto argument = llvm::cast<mlir::BlockArgument>(value);
  auto function = llvm::dyn_cast_or_null<mlir::FunctionOpInterface>(argument.getOwner()->getParentOp());
  // A function that is being built gets the attributes of its arguments last.
  if (!function || argument.getArgNumber() >= function.getNumArguments()) return {};
  return function.getArgAttrOfType<DeviceAttr>(argument.getArgNumber(), kDeviceAttr);
}

void SetDevice(mlir::Operation* op, DeviceAttr device) {
  if (auto copy = llvm::dyn_cast<CopyOp>(op)) {
    copy.getLikeMutable().clear();
    copy.setDeviceAttr(device);
  } else if (device) {
    op->setDiscardableAttr(kDeviceAttr, device);
  } else {
    op->removeDiscardableAttr(kDeviceAttr);
  }
}

}  // namespace sinter::ir
