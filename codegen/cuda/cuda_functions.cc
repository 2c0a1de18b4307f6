#include "sinter/codegen/cuda/cuda_functions.h"

#include "llvm/ADT/StringSwitch.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace sinter::codegen {

namespace arith = mlir::arith;
namespace math = mlir::math;
using llvm::StringRef;
using mlir::Value;

namespace {

bool IsOne(Value value) {
  llvm::APFloat number(0.0);
  return mlir::matchPattern(value, mlir::m_ConstantFloat(&number)) && number.isExactlyValue(1.0);
}

// Returns f(x) for 1 + f(x) or f(x) + 1 in f32; null for other sums.
template <typename Function>
Function AddedToOne(arith::AddFOp sum) {
  if (!sum.getType().isF32()) return {};
  if (IsOne(sum.getLhs())) return sum.getRhs().getDefiningOp<Function>();
  return IsOne(sum.getRhs()) ? sum.getLhs().getDefiningOp<Function>() : Function();
}

}  // namespace

StringRef CudaFunction(mlir::Operation* op, bool single) {
  StringRef name = op->getName().stripDialect();
  if (single && llvm::isa<math::ExpOp>(op)) return "sn_exp";
  if (single && llvm::isa<math::TanhOp>(op)) return "sn_tanh";
  StringRef found = llvm::StringSwitch<StringRef>(name)
                        .Case("absf", "fabsf")
                        .Case("atan2", "atan2f")
                        .Case("ceil", "ceilf")
                        .Case("cos", "cosf")
                        .Case("erf", "erff")
                        .Case("exp", "expf")
                        .Case("expm1", "expm1f")
                        .Case("floor", "floorf")
                        .Case("log", "logf")
                        .Case("log1p", "log1pf")
                        .Case("powf", "powf")
                        .Case("roundeven", "rintf")
                        .Case("sin", "sinf")
                        .Case("sqrt", "sqrtf")
                        .Case("tan", "tanf")
                        .Case("tanh", "tanhf")
                        .Default("");
  return single ? found : found.drop_back(found.empty() ? 0 : 1);
}

Value TanhAddedToOne(arith::AddFOp op) {
  math::TanhOp tanh = AddedToOne<math::TanhOp>(op);
  return tanh ? tanh.getOperand() : Value();
}

bool IsOneOverOneAndExp(arith::DivFOp op) {
  auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
  return sum && IsOne(op.getLhs()) && AddedToOne<math::ExpOp>(sum);
}

}  // namespace sinter::codegen
