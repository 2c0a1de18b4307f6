#include "sinter/ir/dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "sinter/ir/ops.h"
#include "sinter/ir/plan_ops.h"

#include "ir/dialect.cc.inc"
#include "ir/interfaces.cc.inc"

namespace sinter::ir {

void SinterDialect::initialize() {
  AddActivationOps(this);
  AddArithmeticOps(this);
  AddCompositeOps(this);
  AddLinearOps(this);
  AddLogicOps(this);
  AddProgramOps(this);
  AddRandomOps(this);
  AddReduceOps(this);
  AddShapeOps(this);
  AddTranscendentalOps(this);
}

mlir::Operation* SinterDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value,
                                                    mlir::Type type, mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getType() != type) return nullptr;
  return builder.create<ConstantOp>(loc, elements);
}

void RegisterDialects(mlir::DialectRegistry& registry) {
  registry.insert<SinterDialect, plan_ir::PlanDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect>();
}

}  // namespace sinter::ir
