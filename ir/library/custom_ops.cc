#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

#define GET_OP_CLASSES
#include "ir/custom_ops.cc.inc"

namespace sinter::ir {

void AddCustomOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/custom_ops.cc.inc"
      >();
}

mlir::LogicalResult ElementwiseKernelOp::verify() {
  size_t parameters = getNumOperands() + getNumResults();
  if (getParameters().size() != parameters || getRaw().size() != parameters) {
    return emitOpError() << "has " << getParameters().size() << " parameter names and " << getRaw().size()
                         << " raw marks; expected one of each for " << getNumOperands() << " operands and "
                         << getNumResults() << " results";
  }
  for (mlir::NamedAttribute type : getTypes().value_or(mlir::DictionaryAttr::get(getContext()))) {
    auto element = llvm::dyn_cast<mlir::TypeAttr>(type.getValue());
    if (element && element.getValue().isIntOrFloat()) continue;
    return emitOpError() << "has " << type.getValue() << " for the type " << type.getName()
                         << "; expected an element type, such as f32";
  }
  for (size_t i = 0; i < parameters; ++i) {
    mlir::Value value = i < getNumOperands() ? getOperand(i) : getResult(i - getNumOperands());
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    if (getRaw()[i] || type.getNumElements() == static_cast<int64_t>(getN())) continue;
    return emitOpError() << "has parameter " << getParameters()[i] << " of type " << type << "; expected "
                         << getN() << " elements, or a raw parameter";
  }
  return mlir::success();
}

namespace {

// Returns the type of the gradient function: operands, results and the results' gradients to the gradients of
// the floating-point operands.
mlir::FunctionType GradientType(ElementwiseKernelOp op) {
  llvm::SmallVector<mlir::Type> arguments(op->getOperandTypes()), results;
  llvm::append_range(arguments, op->getResultTypes());
  llvm::append_range(arguments, op->getResultTypes());
  for (mlir::Type type : op->getOperandTypes()) {
    if (llvm::isa<mlir::FloatType>(llvm::cast<mlir::RankedTensorType>(type).getElementType()))
      results.push_back(type);
  }
  return mlir::FunctionType::get(op.getContext(), arguments, results);
}

}  // namespace

mlir::LogicalResult ElementwiseKernelOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  if (!getGradientAttr()) return mlir::success();
  auto function = symbols.lookupNearestSymbolFrom<mlir::func::FuncOp>(*this, getGradientAttr());
  if (!function || !function.isPrivate() || !llvm::hasSingleElement(function.getBody())) {
    return emitOpError() << "has the gradient @" << *getGradient()
                         << "; expected a private function with a body of one block";
  }
  mlir::FunctionType expected = GradientType(*this);
  if (function.getFunctionType() == expected) return mlir::success();
  return emitOpError() << "has the gradient @" << *getGradient() << " of type " << function.getFunctionType()
                       << "; expected " << expected
                       << ": from operands, results and the results' gradients to the gradients of the "
                          "operands of floating-point type";
}

// Copies the body of the user's gradient function to the insertion point.
llvm::SmallVector<Expr> ElementwiseKernelOp::buildGradient(GraphBuilder& b,
                                                           llvm::ArrayRef<Expr> output_gradients) {
  auto function = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(*this, getGradientAttr());
  mlir::Block& body = function.getBody().front();
  mlir::IRMapping values;
  unsigned argument = 0;
  for (mlir::Value value : getInputs()) values.map(body.getArgument(argument++), value);
  for (mlir::Value value : getOutputs()) values.map(body.getArgument(argument++), value);
  for (auto [gradient, output] : llvm::zip(output_gradients, getOutputs())) {
    Expr g = gradient ? gradient : b.zeros(b.wrap(output));
    values.map(body.getArgument(argument++), g.value);
  }
  for (mlir::Operation& op : body.without_terminator()) b.builder().clone(op, values);
  llvm::SmallVector<Expr> gradients(getNumOperands());
  auto results = body.getTerminator()->getOperands().begin();
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    if (llvm::isa<mlir::FloatType>(type.getElementType())) gradients[i] = b.wrap(values.lookup(*results++));
  }
  return gradients;
}

// The body may use the number of its element, and index raw parameters.
FactorRule ElementwiseKernelOp::getFactorRule() { return WholeFactors(*this); }

}  // namespace sinter::ir
