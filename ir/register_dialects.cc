#include "sinter/ir/register_dialects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::ir {

void RegisterDialects(mlir::DialectRegistry& registry) {
  registry.insert<SinterDialect, plan_ir::PlanDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect>();
}

}  // namespace sinter::ir
