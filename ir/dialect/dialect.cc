#include "sinter/ir/dialect/dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

#include "ir/dialect.cc.inc"
#include "ir/interfaces.cc.inc"

namespace sinter::ir {

void SinterDialect::initialize() {
  AddActivationOps(this);
  AddArithmeticOps(this);
  AddAttentionOps(this);
  AddCollectiveOps(this);
  AddCompositeOps(this);
  AddControlOps(this);
  AddCustomOps(this);
  AddAttributes(this);
  AddFourierOps(this);
  AddLinearOps(this);
  AddLogicOps(this);
  AddMatrixOps(this);
  AddPlacementOps(this);
  AddProgramOps(this);
  AddRandomOps(this);
  AddReduceOps(this);
  AddShapeOps(this);
  AddTranscendentalOps(this);
}

namespace {

// On ops, arguments and results of other dialects, `sinter.device` must be a DeviceAttr: readers would take a
// wrong attribute for an absent one.
mlir::LogicalResult CheckDevice(mlir::Operation* op, mlir::NamedAttribute attribute) {
  if (attribute.getName() != kDeviceAttr || llvm::isa<DeviceAttr>(attribute.getValue()))
    return mlir::success();
  return op->emitError() << "has " << kDeviceAttr << " = " << attribute.getValue()
                         << "; expected a device, such as #sinter.device<gpu, 0>";
}

}  // namespace

mlir::LogicalResult SinterDialect::verifyOperationAttribute(mlir::Operation* op,
                                                            mlir::NamedAttribute attribute) {
  if (attribute.getName() == kDeviceAttr && llvm::isa<CopyOp, GradientsOp>(op)) {
    return op->emitOpError() << "has the attribute " << kDeviceAttr << "; expected none: "
                             << (llvm::isa<CopyOp>(op) ? "a copy names its device behind `to`"
                                                       : "each gradient is where its value is");
  }
  const bool is_of_variable = attribute.getName() == kBoxAttr || attribute.getName() == kSumAxesAttr;
  if (is_of_variable && !llvm::isa<VariableOp>(op)) {
    return op->emitOpError() << "has the attribute " << attribute.getName().getValue()
                             << "; expected it on sinter.variable alone";
  }
  return CheckDevice(op, attribute);
}
mlir::LogicalResult SinterDialect::verifyRegionArgAttribute(mlir::Operation* op, unsigned region,
                                                            unsigned argument,
                                                            mlir::NamedAttribute attribute) {
  if (attribute.getName() == kInputAttr && !op->getRegion(region).empty()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getRegion(region).getArgument(argument).getType());
    const std::string fault = type && type.hasStaticShape() ? ShapeFault(type.getShape()) : std::string();
    if (!fault.empty()) {
      return op->emitError() << "input " << attribute.getValue() << " " << fault << ", of type " << type;
    }
  }
  return CheckDevice(op, attribute);
}
mlir::LogicalResult SinterDialect::verifyRegionResultAttribute(mlir::Operation* op, unsigned, unsigned,
                                                               mlir::NamedAttribute attribute) {
  return CheckDevice(op, attribute);
}

mlir::Operation* SinterDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value,
                                                    mlir::Type type, mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getType() != type) return nullptr;
  return builder.create<ConstantOp>(loc, elements);
}

Scalar EmitPointwiseElement(mlir::Operation* op, ElementBuilder& e, mlir::ValueRange coords) {
  llvm::SmallVector<Scalar> operands;
  for (mlir::Value operand : op->getOperands()) operands.push_back(e.element(operand, coords));
  return llvm::cast<PointwiseInterface>(op).emitScalar(e.s(), operands);
}

mlir::AffineMap IdentityOperandMap(mlir::Operation* op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  return mlir::AffineMap::getMultiDimIdentityMap(type.getRank(), op->getContext());
}

}  // namespace sinter::ir
