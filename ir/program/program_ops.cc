#include <cmath>

#include "llvm/ADT/APSInt.h"
#include "mlir/IR/Builders.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/dialect/element_types.h"
#include "sinter/ir/dialect/initial_values.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

// clang-format off: the enums come after the header that declares them.
#include "ir/program_enums.cc.inc"
// clang-format on
#define GET_OP_CLASSES
#include "ir/program_ops.cc.inc"

namespace sinter::ir {

void AddProgramOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/program_ops.cc.inc"
      >();
}

// variable
// -----------------------------------------------------------------------------------------------------------

namespace {

// True if the integer type can hold this number. i1 holds 0 and 1.
bool Holds(mlir::Type element, llvm::APFloat number) {
  llvm::APSInt integer(element.getIntOrFloatBitWidth(), element.isUnsignedInteger() || element.isInteger(1));
  bool is_exact = false;
  number.convertToInteger(integer, llvm::APFloat::rmTowardZero, &is_exact);
  return is_exact || number.isZero();
}

// An error if the attributes of initial_values.h do not fit the variable.
mlir::LogicalResult CheckInitialValues(VariableOp variable, mlir::RankedTensorType type) {
  if (mlir::Attribute attribute = variable->getAttr(kInitialRangeAttr)) {
    auto range = llvm::dyn_cast<mlir::DenseF64ArrayAttr>(attribute);
    if (!range || range.size() != 2 || !(range[0] < range[1]) || !std::isfinite(range[1] - range[0]) ||
        variable.getInitializer() != Initializer::normal) {
      return variable.emitOpError()
             << "has the initial range " << attribute
             << "; expected two finite numbers, the lower first, and a normal initializer";
    }
  }
  mlir::Attribute attribute = variable->getAttr(kInitialValuesAttr);
  if (!attribute) return mlir::success();
  auto box = variable->getAttrOfType<BoxAttr>(kBoxAttr);
  const mlir::RankedTensorType whole = box ? box.getWhole() : type;
  auto values = llvm::dyn_cast<mlir::DenseElementsAttr>(attribute);
  const bool fits = values && values.getType().getShape() == whole.getShape() &&
                    (variable->hasAttr(kReplicaOfAttr) || values.getElementType() == type.getElementType());
  if (fits && variable.getInitializer() == Initializer::constant) return mlir::success();
  return variable.emitOpError() << "of type " << whole << " has initial values "
                                << (values ? mlir::Type(values.getType()) : mlir::Type())
                                << "; expected dense values of its type, and a constant initializer";
}

}  // namespace

mlir::LogicalResult VariableOp::verify() {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || type.getRank() > 8 || !FindDType(type.getElementType())) {
    return emitOpError() << "has type " << getType() << "; expected a static tensor of rank 0 to 8 of "
                         << "f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2";
  }
  if (const std::string fault = ShapeFault(type.getShape()); !fault.empty())
    return emitOpError() << fault << ", of type " << type;
  if (mlir::Attribute box = (*this)->getAttr(kBoxAttr); box && mlir::failed(CheckBox(*this, type, box))) {
    return mlir::failure();
  }
  mlir::Attribute sum = (*this)->getAttr(kSumAxesAttr);
  if (sum && mlir::failed(CheckSumAxes(*this, type, sum))) return mlir::failure();
  if (mlir::failed(CheckInitialValues(*this, type))) return mlir::failure();
  bool is_float = IsComputedFloat(type.getElementType());
  llvm::StringRef initializer = stringifyInitializer(getInitializer());
  if (getInitializer() == Initializer::constant) {
    if (!llvm::isa<mlir::FloatType>(type.getElementType()) && !Holds(type.getElementType(), getA())) {
      return emitOpError() << "is initialised with " << getA().convertToDouble() << ", which "
                           << type.getElementType() << " cannot hold; expected a whole number of its range";
    }
    return mlir::success();
  }
  if (!is_float) {
    return emitOpError() << "of type " << type << " has the random initializer " << initializer
                         << "; expected a floating-point element type, or the initializer constant";
  }
  if (!getA().isFinite() || !getB().isFinite()) {
    return emitOpError() << "has the initializer " << initializer << "(" << getA().convertToDouble() << ", "
                         << getB().convertToDouble() << "); expected finite parameters";
  }
  if (getInitializer() == Initializer::uniform && getA().compare(getB()) == llvm::APFloat::cmpGreaterThan) {
    return emitOpError() << "is uniform in [" << getA().convertToDouble() << ", " << getB().convertToDouble()
                         << "); expected the lower bound first";
  }
  if (getInitializer() == Initializer::normal && getB().isNegative() && !getB().isZero()) {
    return emitOpError() << "is normal with deviation " << getB().convertToDouble() << "; expected 0 or more";
  }
  if (getInitializer() == Initializer::orthogonal && type.getRank() < 2) {
    return emitOpError() << "of type " << type << " is orthogonal; expected rank 2 or more";
  }
  return mlir::success();
}

// gradients, stop_gradient, gradient_point
// --------------------------------------------------------------------------------------------

mlir::LogicalResult GradientsOp::verify() {
  if (getLoss().getType().getRank() != 0) {
    return emitOpError() << "has a loss of type " << getLoss().getType()
                         << "; expected rank 0: sum or mean it first";
  }
  if (getXs().size() != getGradients().size()) {
    return emitOpError() << "has " << getXs().size() << " values and " << getGradients().size()
                         << " gradients; expected one gradient a value";
  }
  for (auto [i, x, gradient] : llvm::enumerate(getXs(), getGradients())) {
    if (x.getType() != gradient.getType()) {
      return emitOpError() << "gives value " << i << " of type " << x.getType() << " a gradient of type "
                           << gradient.getType() << "; expected the same type";
    }
  }
  return mlir::success();
}

llvm::SmallVector<mlir::Value> StopGradientOp::decompose(GraphBuilder& b) { return {getX()}; }

llvm::SmallVector<Expr> StopGradientOp::buildGradient(GraphBuilder& b,
                                                      llvm::ArrayRef<Expr> output_gradients) {
  return {Expr()};
}

llvm::SmallVector<mlir::Value> GradientPointOp::decompose(GraphBuilder& b) { return {getX()}; }

llvm::SmallVector<Expr> GradientPointOp::buildGradient(GraphBuilder& b,
                                                       llvm::ArrayRef<Expr> output_gradients) {
  return {output_gradients[0]};
}

}  // namespace sinter::ir
