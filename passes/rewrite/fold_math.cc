#include "sinter/passes/rewrite/fold_math.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter {

namespace math = mlir::math;

namespace {

// A unary or a binary function, in both types.
struct Function {
  float (*f32)(float) = nullptr;
  double (*f64)(double) = nullptr;
  float (*binary_f32)(float, float) = nullptr;
  double (*binary_f64)(double, double) = nullptr;
};

Function FunctionOf(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, Function>(op)
      .Case<math::AtanOp>([](auto) { return Function{sn_atan_f32, sn_atan_f64}; })
      .Case<math::CosOp>([](auto) { return Function{sn_cos_f32, sn_cos_f64}; })
      .Case<math::ErfOp>([](auto) { return Function{sn_erf_f32, sn_erf_f64}; })
      .Case<math::ExpOp>([](auto) { return Function{sn_exp_f32, sn_exp_f64}; })
      .Case<math::Exp2Op>([](auto) { return Function{sn_exp2_f32, sn_exp2_f64}; })
      .Case<math::ExpM1Op>([](auto) { return Function{sn_expm1_f32, sn_expm1_f64}; })
      .Case<math::LogOp>([](auto) { return Function{sn_log_f32, sn_log_f64}; })
      .Case<math::Log10Op>([](auto) { return Function{sn_log10_f32, sn_log10_f64}; })
      .Case<math::Log1pOp>([](auto) { return Function{sn_log1p_f32, sn_log1p_f64}; })
      .Case<math::Log2Op>([](auto) { return Function{sn_log2_f32, sn_log2_f64}; })
      .Case<math::RsqrtOp>([](auto) { return Function{sn_rsqrt_f32, sn_rsqrt_f64}; })
      .Case<math::SinOp>([](auto) { return Function{sn_sin_f32, sn_sin_f64}; })
      .Case<math::SqrtOp>([](auto) { return Function{sn_sqrt_f32, sn_sqrt_f64}; })
      .Case<math::TanOp>([](auto) { return Function{sn_tan_f32, sn_tan_f64}; })
      .Case<math::TanhOp>([](auto) { return Function{sn_tanh_f32, sn_tanh_f64}; })
      .Case<math::Atan2Op>([](auto) { return Function{nullptr, nullptr, sn_atan2_f32, sn_atan2_f64}; })
      .Case<math::PowFOp>([](auto) { return Function{nullptr, nullptr, sn_pow_f32, sn_pow_f64}; })
      .Default([](auto) { return Function{}; });
}

template <typename T>
mlir::Attribute Call(T (*unary)(T), T (*binary)(T, T), mlir::Type type, llvm::ArrayRef<double> x) {
  if (unary != nullptr && x.size() == 1) {
    return mlir::FloatAttr::get(type, static_cast<double>(unary(static_cast<T>(x[0]))));
  }
  if (binary != nullptr && x.size() == 2) {
    return mlir::FloatAttr::get(type,
                                static_cast<double>(binary(static_cast<T>(x[0]), static_cast<T>(x[1]))));
  }
  return {};
}

}  // namespace

bool IsMathFunction(mlir::Operation* op) {
  return llvm::isa_and_present<math::MathDialect>(op->getDialect()) &&
         !llvm::isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
                    math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::RoundOp,
                    math::RoundEvenOp, math::TruncOp>(op);
}

mlir::Attribute FoldMathFunction(mlir::Operation* op, llvm::ArrayRef<mlir::Attribute> operands) {
  llvm::SmallVector<double, 2> x;
  for (mlir::Attribute operand : operands) {
    auto number = llvm::dyn_cast_or_null<mlir::FloatAttr>(operand);
    if (!number) return {};
    x.push_back(number.getValueAsDouble());
  }
  const Function function = FunctionOf(op);
  const mlir::Type type = op->getResult(0).getType();
  if (type.isF32()) return Call(function.f32, function.binary_f32, type, x);
  return type.isF64() ? Call(function.f64, function.binary_f64, type, x) : mlir::Attribute();
}

}  // namespace sinter
