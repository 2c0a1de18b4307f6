// Builds the value of one element in `arith` and `math` ops: the language of the op records' scalar bodies.
//
//   Scalar y = 1.0 / (1.0 + s.exp(-x));          // x is a Scalar; numbers get x's type.
//   Scalar z = s.select(s.gt(x, y), x, y);
//
// A Scalar is an SSA value of a builtin scalar type, with a flag for unsigned integers (arith is signless).
// Compute types: f64 for f64; f32 for narrower floats; integers keep their width; i1 for i1. Loads and
// stores of tensors convert between storage and compute types, not this class.
#ifndef SINTER_IR_SCALAR_SCALAR_BUILDER_H_
#define SINTER_IR_SCALAR_SCALAR_BUILDER_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace sinter::ir {

class ScalarBuilder;
enum class Comparison : uint32_t;

struct Scalar {
  ScalarBuilder* builder = nullptr;
  mlir::Value value;
  bool is_unsigned = false;
  mlir::Value
      stored;  // The bits (i8) of an element of an 8-bit float, whose number is `value`. Null for others.

  explicit operator bool() const { return static_cast<bool>(value); }
  mlir::Type type() const { return value.getType(); }
};

class ScalarBuilder {
 public:
  // `casts_to_float8`: the target has conversions from f32 to 8-bit floats; else they are integer code.
  ScalarBuilder(mlir::OpBuilder& builder, mlir::Location loc, bool casts_to_float8 = false)
      : builder_(builder), loc_(loc), casts_to_float8_(casts_to_float8) {}

  mlir::OpBuilder& builder() { return builder_; }
  mlir::Location loc() const { return loc_; }
  bool castsToFloat8() const { return casts_to_float8_; }

  // ComputeType: the type in which elements of storage type `element` are computed. IsUnsigned: true if they
  // are unsigned.
  static mlir::Type ComputeType(mlir::Type element);
  static bool IsUnsigned(mlir::Type element) { return element.isUnsignedInteger(); }

  Scalar wrap(mlir::Value value, bool is_unsigned = false) { return {this, value, is_unsigned}; }
  // An element of an 8-bit float of these bits (i8). Moves keep the bits, also those of NaN.
  Scalar wrapStored(mlir::Value bits, mlir::Type element);
  // A constant of the type of `like`. Integers are truncated and saturate; NaN becomes the integer 0.
  Scalar constant(Scalar like, double value);
  // A constant of the compute type of the storage type `element`.
  Scalar constantOf(mlir::Type element, double value);
  Scalar zero(Scalar like) { return constant(like, 0); }
  // The largest and the smallest value of the compute type of `element`: infinities for floats.
  Scalar highest(mlir::Type element);
  Scalar lowest(mlir::Type element);

  Scalar add(Scalar x, Scalar y);
  Scalar sub(Scalar x, Scalar y);
  Scalar mul(Scalar x, Scalar y);
  Scalar div(Scalar x, Scalar y);
  Scalar rem(Scalar x, Scalar y);
  Scalar mod(Scalar x, Scalar y);  // Remainder with the sign of y.
  Scalar neg(Scalar x);
  Scalar maximum(Scalar x, Scalar y);
  Scalar minimum(Scalar x, Scalar y);
  Scalar abs(Scalar x);
  Scalar sign(Scalar x);
  Scalar floor(Scalar x);
  Scalar ceil(Scalar x);
  Scalar round(Scalar x);

  Scalar exp(Scalar x);
  Scalar expm1(Scalar x);
  Scalar log(Scalar x);
  Scalar log1p(Scalar x);
  Scalar sqrt(Scalar x);
  Scalar rsqrt(Scalar x);
  Scalar sin(Scalar x);
  Scalar cos(Scalar x);
  Scalar tan(Scalar x);
  Scalar tanh(Scalar x);
  Scalar erf(Scalar x);
  Scalar sigmoid(Scalar x);
  Scalar sinh(Scalar x);
  Scalar cosh(Scalar x);
  Scalar asinh(Scalar x);
  Scalar pow(Scalar x, Scalar y);
  Scalar hypot(Scalar x, Scalar y);
  Scalar atan2(Scalar x, Scalar y);

  Scalar compare(Comparison predicate, Scalar x, Scalar y);
  Scalar eq(Scalar x, Scalar y);
  Scalar lt(Scalar x, Scalar y);
  Scalar gt(Scalar x, Scalar y);
  Scalar ge(Scalar x, Scalar y);
  Scalar select(Scalar condition, Scalar on_true, Scalar on_false);
  Scalar logicalAnd(Scalar x, Scalar y);
  Scalar logicalOr(Scalar x, Scalar y);
  Scalar logicalXor(Scalar x, Scalar y);
  Scalar logicalNot(Scalar x);
  // Bits of integers. A shift by a negative number or by the width leaves no bit of x, but to the right its
  // sign.
  Scalar bitAnd(Scalar x, Scalar y);
  Scalar bitOr(Scalar x, Scalar y);
  Scalar bitXor(Scalar x, Scalar y);
  Scalar bitNot(Scalar x);
  Scalar shiftLeft(Scalar x, Scalar y);
  Scalar shiftRight(Scalar x, Scalar y);
  Scalar isNan(Scalar x);
  Scalar isFinite(Scalar x);
  // Converts to the compute type of storage type `element`, with the rounding or saturation of a store.
  Scalar cast(Scalar x, mlir::Type element);

 private:
  mlir::OpBuilder& builder_;
  mlir::Location loc_;
  bool casts_to_float8_;
};

inline Scalar operator+(Scalar x, Scalar y) { return x.builder->add(x, y); }
inline Scalar operator-(Scalar x, Scalar y) { return x.builder->sub(x, y); }
inline Scalar operator*(Scalar x, Scalar y) { return x.builder->mul(x, y); }
inline Scalar operator/(Scalar x, Scalar y) { return x.builder->div(x, y); }
inline Scalar operator-(Scalar x) { return x.builder->neg(x); }
inline Scalar operator+(double x, Scalar y) { return y.builder->constant(y, x) + y; }
inline Scalar operator-(double x, Scalar y) { return y.builder->constant(y, x) - y; }
inline Scalar operator*(double x, Scalar y) { return y.builder->constant(y, x) * y; }
inline Scalar operator/(double x, Scalar y) { return y.builder->constant(y, x) / y; }
inline Scalar operator+(Scalar x, double y) { return x + x.builder->constant(x, y); }
inline Scalar operator-(Scalar x, double y) { return x - x.builder->constant(x, y); }
inline Scalar operator*(Scalar x, double y) { return x * x.builder->constant(x, y); }
inline Scalar operator/(Scalar x, double y) { return x / x.builder->constant(x, y); }

}  // namespace sinter::ir

#endif  // SINTER_IR_SCALAR_SCALAR_BUILDER_H_
