// The functions that compute each element from the elements at its place by one op.
//
//   Tensor p = Sigmoid(x);
//
// ops.h includes this header. A function builds the op of its own name: GeluTanh builds `sinter.gelu_tanh`,
// whose record in ir/pointwise/ has the formula and the gradient. So a new pointwise op is its record and a
// function here.
#ifndef SINTER_FRONTEND_OPS_POINTWISE_H_
#define SINTER_FRONTEND_OPS_POINTWISE_H_

#include <cstdint>
#include <string_view>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

namespace pointwise {

// The element types that a function takes: kNumbers are floats and integers.
// kComputed: all but 8-bit floats.
enum class Takes : uint8_t { kFloats, kNumbers, kIntegers, kBools, kComputed, kAnything };

// Builds the op that is named after `function`. The result has the operands' type; the shapes of two operands
// broadcast. Error: another element type.
Tensor Unary(std::string_view function, const Tensor& x, Where where, Takes takes = Takes::kFloats);
Tensor Binary(std::string_view function, const Operand& x, const Operand& y, Takes takes = Takes::kFloats);

}  // namespace pointwise

// Numbers.
inline Tensor Abs(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Abs", x, w, pointwise::Takes::kNumbers);
}
inline Tensor Sign(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Sign", x, w, pointwise::Takes::kNumbers);
}
inline Tensor Square(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Square", x, w, pointwise::Takes::kNumbers);
}
inline Tensor Relu(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Relu", x, w, pointwise::Takes::kNumbers);
}

// Floats.
inline Tensor Exp(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Exp", x, w); }
inline Tensor Expm1(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Expm1", x, w); }
inline Tensor Log(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Log", x, w); }
inline Tensor Log1p(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Log1p", x, w); }
inline Tensor Sqrt(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Sqrt", x, w); }
inline Tensor Rsqrt(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Rsqrt", x, w); }
inline Tensor Reciprocal(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Reciprocal", x, w);
}
inline Tensor Sin(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Sin", x, w); }
inline Tensor Cos(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Cos", x, w); }
inline Tensor Tan(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Tan", x, w); }
inline Tensor Tanh(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Tanh", x, w); }
inline Tensor Exp2(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Exp2", x, w); }
inline Tensor Log2(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Log2", x, w); }
inline Tensor Log10(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Log10", x, w); }
inline Tensor Asin(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Asin", x, w); }
inline Tensor Acos(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Acos", x, w); }
inline Tensor Atan(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Atan", x, w); }
inline Tensor Sinh(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Sinh", x, w); }
inline Tensor Cosh(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Cosh", x, w); }
inline Tensor Asinh(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Asinh", x, w); }
inline Tensor Acosh(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Acosh", x, w); }
inline Tensor Atanh(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Atanh", x, w); }
inline Tensor Erf(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Erf", x, w); }
inline Tensor Sigmoid(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Sigmoid", x, w);
}
inline Tensor Silu(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Silu", x, w); }
inline Tensor Softplus(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("Softplus", x, w);
}
// log(sigmoid(x)), the log-likelihood of logistic models, without loss of digits for any x.
inline Tensor LogSigmoid(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("LogSigmoid", x, w);
}
// Uses erf.
inline Tensor Gelu(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Gelu", x, w); }
// Uses the tanh approximation.
inline Tensor GeluTanh(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("GeluTanh", x, w);
}
inline Tensor Floor(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Floor", x, w); }
inline Tensor Ceil(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Ceil", x, w); }
// Rounds ties to even.
inline Tensor Round(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Round", x, w); }

// Rounds towards zero.
inline Tensor Trunc(const Tensor& x, Where w = Where::current()) { return pointwise::Unary("Trunc", x, w); }

// Any type.
inline Tensor StopGradient(const Tensor& x, Where w = Where::current()) {
  return pointwise::Unary("StopGradient", x, w, pointwise::Takes::kAnything);
}

// Two operands. The integer remainder rounds towards zero, and is 0 for a divisor of 0.
inline Tensor Maximum(Operand x, Operand y) {
  return pointwise::Binary("Maximum", x, y, pointwise::Takes::kNumbers);
}
inline Tensor Minimum(Operand x, Operand y) {
  return pointwise::Binary("Minimum", x, y, pointwise::Takes::kNumbers);
}
inline Tensor Rem(Operand x, Operand y) { return pointwise::Binary("Rem", x, y, pointwise::Takes::kNumbers); }
// Remainder with the sign of y, as in Python and NumPy.
inline Tensor Mod(Operand x, Operand y) { return pointwise::Binary("Mod", x, y, pointwise::Takes::kNumbers); }
inline Tensor Pow(Operand x, Operand y) { return pointwise::Binary("Pow", x, y); }
inline Tensor Atan2(Operand y, Operand x) { return pointwise::Binary("Atan2", y, x); }
// sqrt(x * x + y * y) without overflow on the way.
inline Tensor Hypot(Operand x, Operand y) { return pointwise::Binary("Hypot", x, y); }
// log(exp(x) + exp(y)) without overflow on the way.
inline Tensor LogAddExp(Operand x, Operand y) { return pointwise::Binary("LogAddExp", x, y); }
// x * log(y), and 0 where x is 0.
inline Tensor XLogY(Operand x, Operand y) { return pointwise::Binary("XLogY", x, y); }

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_POINTWISE_H_
