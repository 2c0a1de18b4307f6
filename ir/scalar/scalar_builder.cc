#include "sinter/ir/scalar/scalar_builder.h"

#include <cmath>
#include <limits>

#include "llvm/ADT/APSInt.h"
#include "sinter/ir/scalar/float8.h"

namespace sinter::ir {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Type;
using mlir::Value;

namespace {

bool IsFloatType(Scalar x) { return llvm::isa<mlir::FloatType>(x.type()); }

// Creates the float or the integer op, depending on the operand's type.
template <typename FloatOp, typename IntOp>
Scalar Twin(Scalar x, Scalar y) {
  ScalarBuilder& s = *x.builder;
  Value v = IsFloatType(x) ? Value(s.builder().create<FloatOp>(s.loc(), x.value, y.value))
                           : Value(s.builder().create<IntOp>(s.loc(), x.value, y.value));
  return s.wrap(v, x.is_unsigned);
}

template <typename Op>
Scalar Unary(Scalar x) {
  ScalarBuilder& s = *x.builder;
  return s.wrap(s.builder().create<Op>(s.loc(), x.value), x.is_unsigned);
}

template <typename Op>
Scalar Binary(Scalar x, Scalar y) {
  ScalarBuilder& s = *x.builder;
  return s.wrap(s.builder().create<Op>(s.loc(), x.value, y.value), x.is_unsigned);
}

Scalar CompareFloats(arith::CmpFPredicate predicate, Scalar x, Scalar y) {
  ScalarBuilder& s = *x.builder;
  return s.wrap(s.builder().create<arith::CmpFOp>(s.loc(), predicate, x.value, y.value));
}

Scalar CompareInts(arith::CmpIPredicate predicate, Scalar x, Scalar y) {
  ScalarBuilder& s = *x.builder;
  return s.wrap(s.builder().create<arith::CmpIOp>(s.loc(), predicate, x.value, y.value));
}

// The divisor with 0 replaced by 1, so that no target traps; the caller selects 0 there.
struct SafeDivisor {
  Scalar is_zero, divisor;
};
SafeDivisor MakeSafe(Scalar x, Scalar y) {
  ScalarBuilder& s = *x.builder;
  Scalar is_zero = s.eq(y, s.zero(y));
  if (!x.is_unsigned) {
    // The lowest value over -1 overflows and traps too. Dividing it by 1 gives the wrapped result.
    Scalar overflow = s.logicalAnd(s.eq(y, s.constant(y, -1)), s.eq(x, s.lowest(x.type())));
    return {is_zero, s.select(s.logicalOr(is_zero, overflow), s.constant(y, 1), y)};
  }
  return {is_zero, s.select(is_zero, s.constant(y, 1), y)};
}

}  // namespace

Type ScalarBuilder::ComputeType(Type element) {
  if (element.isBF16() || element.isF16() || IsStoredFloat(element))
    return mlir::Float32Type::get(element.getContext());
  if (element.isUnsignedInteger())
    return mlir::IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  return element;
}

Scalar ScalarBuilder::wrapStored(Value bits, Type element) {
  return {this, WidenFloat8(builder_, loc_, bits, element), false, bits};
}

Scalar ScalarBuilder::constant(Scalar like, double value) {
  Type type = like.type();
  mlir::TypedAttr attribute;
  if (auto float_type = llvm::dyn_cast<mlir::FloatType>(type)) {
    attribute = builder_.getFloatAttr(float_type, value);
  } else if (type.isInteger(1)) {
    attribute = builder_.getIntegerAttr(type, value != 0 ? 1 : 0);
  } else {
    llvm::APSInt integer(type.getIntOrFloatBitWidth(), like.is_unsigned);
    bool is_exact = false;
    llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &is_exact);
    attribute = builder_.getIntegerAttr(type, integer);
  }
  return wrap(builder_.create<arith::ConstantOp>(loc_, attribute), like.is_unsigned);
}

Scalar ScalarBuilder::constantOf(Type element, double value) {
  Type type = ComputeType(element);
  // A placeholder that provides only its type.
  Value typed = llvm::isa<mlir::FloatType>(type)
                    ? Value(builder_.create<arith::ConstantOp>(loc_, builder_.getFloatAttr(type, 0.0)))
                    : Value(builder_.create<arith::ConstantOp>(loc_, builder_.getIntegerAttr(type, 0)));
  Scalar like = wrap(typed, IsUnsigned(element));
  Scalar result = constant(like, value);
  typed.getDefiningOp()->erase();
  return result;
}

Scalar ScalarBuilder::highest(Type element) {
  Type type = ComputeType(element);
  if (llvm::isa<mlir::FloatType>(type)) return constantOf(element, std::numeric_limits<double>::infinity());
  unsigned bits = type.getIntOrFloatBitWidth();
  llvm::APInt value = IsUnsigned(element) || bits == 1 ? llvm::APInt::getMaxValue(bits)
                                                       : llvm::APInt::getSignedMaxValue(bits);
  return wrap(builder_.create<arith::ConstantOp>(loc_, builder_.getIntegerAttr(type, value)),
              IsUnsigned(element));
}

Scalar ScalarBuilder::lowest(Type element) {
  Type type = ComputeType(element);
  if (llvm::isa<mlir::FloatType>(type)) return constantOf(element, -std::numeric_limits<double>::infinity());
  unsigned bits = type.getIntOrFloatBitWidth();
  llvm::APInt value = IsUnsigned(element) || bits == 1 ? llvm::APInt::getMinValue(bits)
                                                       : llvm::APInt::getSignedMinValue(bits);
  return wrap(builder_.create<arith::ConstantOp>(loc_, builder_.getIntegerAttr(type, value)),
              IsUnsigned(element));
}

Scalar ScalarBuilder::add(Scalar x, Scalar y) { return Twin<arith::AddFOp, arith::AddIOp>(x, y); }
Scalar ScalarBuilder::sub(Scalar x, Scalar y) { return Twin<arith::SubFOp, arith::SubIOp>(x, y); }
Scalar ScalarBuilder::mul(Scalar x, Scalar y) { return Twin<arith::MulFOp, arith::MulIOp>(x, y); }

Scalar ScalarBuilder::div(Scalar x, Scalar y) {
  if (IsFloatType(x)) return Binary<arith::DivFOp>(x, y);
  SafeDivisor safe = MakeSafe(x, y);
  if (x.is_unsigned) return select(safe.is_zero, zero(x), Binary<arith::DivUIOp>(x, safe.divisor));
  return select(safe.is_zero, zero(x), Binary<arith::DivSIOp>(x, safe.divisor));
}

Scalar ScalarBuilder::rem(Scalar x, Scalar y) {
  if (IsFloatType(x)) return Binary<arith::RemFOp>(x, y);
  SafeDivisor safe = MakeSafe(x, y);
  if (x.is_unsigned) return select(safe.is_zero, zero(x), Binary<arith::RemUIOp>(x, safe.divisor));
  return select(safe.is_zero, zero(x), Binary<arith::RemSIOp>(x, safe.divisor));
}

Scalar ScalarBuilder::neg(Scalar x) { return IsFloatType(x) ? Unary<arith::NegFOp>(x) : zero(x) - x; }

Scalar ScalarBuilder::maximum(Scalar x, Scalar y) {
  if (x.is_unsigned) return Binary<arith::MaxUIOp>(x, y);
  return Twin<arith::MaximumFOp, arith::MaxSIOp>(x, y);
}

Scalar ScalarBuilder::minimum(Scalar x, Scalar y) {
  if (x.is_unsigned) return Binary<arith::MinUIOp>(x, y);
  return Twin<arith::MinimumFOp, arith::MinSIOp>(x, y);
}

Scalar ScalarBuilder::abs(Scalar x) {
  if (x.is_unsigned) return x;
  return IsFloatType(x) ? Unary<math::AbsFOp>(x) : Unary<math::AbsIOp>(x);
}

Scalar ScalarBuilder::sign(Scalar x) {
  Scalar above = select(gt(x, zero(x)), constant(x, 1), zero(x));
  if (x.is_unsigned) return above;
  Scalar result = select(lt(x, zero(x)), constant(x, -1), above);
  return IsFloatType(x) ? select(isNan(x), x, result) : result;
}

Scalar ScalarBuilder::floor(Scalar x) { return Unary<math::FloorOp>(x); }
Scalar ScalarBuilder::ceil(Scalar x) { return Unary<math::CeilOp>(x); }
Scalar ScalarBuilder::round(Scalar x) { return Unary<math::RoundEvenOp>(x); }
Scalar ScalarBuilder::exp(Scalar x) { return Unary<math::ExpOp>(x); }
Scalar ScalarBuilder::expm1(Scalar x) { return Unary<math::ExpM1Op>(x); }
Scalar ScalarBuilder::log(Scalar x) { return Unary<math::LogOp>(x); }
Scalar ScalarBuilder::log1p(Scalar x) { return Unary<math::Log1pOp>(x); }
Scalar ScalarBuilder::sqrt(Scalar x) { return Unary<math::SqrtOp>(x); }
Scalar ScalarBuilder::rsqrt(Scalar x) { return 1.0 / sqrt(x); }
Scalar ScalarBuilder::sin(Scalar x) { return Unary<math::SinOp>(x); }
Scalar ScalarBuilder::cos(Scalar x) { return Unary<math::CosOp>(x); }
Scalar ScalarBuilder::tan(Scalar x) { return Unary<math::TanOp>(x); }
Scalar ScalarBuilder::tanh(Scalar x) { return Unary<math::TanhOp>(x); }
Scalar ScalarBuilder::erf(Scalar x) { return Unary<math::ErfOp>(x); }
Scalar ScalarBuilder::sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }
// With h = sinh(x / 2), small x lose no digits, and large ones do not overflow before the result does.
Scalar ScalarBuilder::sinh(Scalar x) {
  const Scalar h = (expm1(x * 0.5) - expm1(x * -0.5)) * 0.5;
  return 2.0 * h * sqrt(1.0 + h * h);
}
Scalar ScalarBuilder::cosh(Scalar x) {
  const Scalar h = (expm1(x * 0.5) - expm1(x * -0.5)) * 0.5;
  return 1.0 + 2.0 * h * h;
}
Scalar ScalarBuilder::asinh(Scalar x) {
  constexpr double kLarge = 1e9, kLog2 = 0.69314718055994531;
  const Scalar a = abs(x), small = minimum(a, constant(a, kLarge));
  const Scalar near = log1p(small + small * (small / (1.0 + sqrt(1.0 + small * small))));
  const Scalar value = select(gt(a, constant(a, kLarge)), log(a) + kLog2, near);
  return select(lt(x, zero(x)), -value, value);
}
Scalar ScalarBuilder::hypot(Scalar x, Scalar y) {
  const Scalar larger = maximum(abs(x), abs(y)), part = minimum(abs(x), abs(y)) / larger;
  return select(logicalAnd(gt(larger, zero(x)), isFinite(larger)), larger * sqrt(1.0 + part * part), larger);
}
Scalar ScalarBuilder::mod(Scalar x, Scalar y) {
  const Scalar r = rem(x, y), none = zero(r);
  const Scalar differ = logicalXor(lt(r, none), lt(y, none));
  return select(logicalAnd(logicalNot(eq(r, none)), differ), r + y, r);
}
Scalar ScalarBuilder::pow(Scalar x, Scalar y) { return Binary<math::PowFOp>(x, y); }
Scalar ScalarBuilder::atan2(Scalar x, Scalar y) { return Binary<math::Atan2Op>(x, y); }

Scalar ScalarBuilder::compare(Comparison predicate, Scalar x, Scalar y) {
  static constexpr arith::CmpFPredicate kFloat[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                    arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                    arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
  static constexpr arith::CmpIPredicate kSigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                     arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                     arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static constexpr arith::CmpIPredicate kUnsigned[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                       arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                                       arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  int i = static_cast<int>(predicate);
  if (IsFloatType(x)) return CompareFloats(kFloat[i], x, y);
  // i1 compares as 0 and 1, not as 0 and -1.
  bool is_unsigned = x.is_unsigned || x.type().isInteger(1);
  return CompareInts(is_unsigned ? kUnsigned[i] : kSigned[i], x, y);
}

Scalar ScalarBuilder::eq(Scalar x, Scalar y) { return compare(Comparison::eq, x, y); }
Scalar ScalarBuilder::lt(Scalar x, Scalar y) { return compare(Comparison::lt, x, y); }
Scalar ScalarBuilder::gt(Scalar x, Scalar y) { return compare(Comparison::gt, x, y); }
Scalar ScalarBuilder::ge(Scalar x, Scalar y) { return compare(Comparison::ge, x, y); }

Scalar ScalarBuilder::select(Scalar condition, Scalar on_true, Scalar on_false) {
  auto pick = [&](Value x, Value y) -> Value {
    return builder_.create<arith::SelectOp>(loc_, condition.value, x, y);
  };
  Scalar result = wrap(pick(on_true.value, on_false.value), on_true.is_unsigned);
  if (on_true.stored && on_false.stored) result.stored = pick(on_true.stored, on_false.stored);
  return result;
}

Scalar ScalarBuilder::logicalAnd(Scalar x, Scalar y) { return Binary<arith::AndIOp>(x, y); }
Scalar ScalarBuilder::logicalOr(Scalar x, Scalar y) { return Binary<arith::OrIOp>(x, y); }
Scalar ScalarBuilder::logicalXor(Scalar x, Scalar y) { return Binary<arith::XOrIOp>(x, y); }
Scalar ScalarBuilder::logicalNot(Scalar x) { return Binary<arith::XOrIOp>(x, constant(x, 1)); }

Scalar ScalarBuilder::bitAnd(Scalar x, Scalar y) { return Binary<arith::AndIOp>(x, y); }
Scalar ScalarBuilder::bitOr(Scalar x, Scalar y) { return Binary<arith::OrIOp>(x, y); }
Scalar ScalarBuilder::bitXor(Scalar x, Scalar y) { return Binary<arith::XOrIOp>(x, y); }
Scalar ScalarBuilder::bitNot(Scalar x) {
  const llvm::APInt ones = llvm::APInt::getAllOnes(x.type().getIntOrFloatBitWidth());
  return Binary<arith::XOrIOp>(
      x, wrap(builder_.create<arith::ConstantOp>(loc_, builder_.getIntegerAttr(x.type(), ones))));
}
// Targets shift by less than the width alone.
Scalar ScalarBuilder::shiftLeft(Scalar x, Scalar y) {
  const Scalar width = constant(y, x.type().getIntOrFloatBitWidth());
  const Scalar fits = logicalAnd(ge(y, zero(y)), lt(y, width));
  return select(fits, Binary<arith::ShLIOp>(x, select(fits, y, zero(y))), zero(x));
}
Scalar ScalarBuilder::shiftRight(Scalar x, Scalar y) {
  const Scalar width = constant(y, x.type().getIntOrFloatBitWidth());
  const Scalar fits = logicalAnd(ge(y, zero(y)), lt(y, width));
  if (!x.is_unsigned) return Binary<arith::ShRSIOp>(x, select(fits, y, width - 1.0));
  return select(fits, Binary<arith::ShRUIOp>(x, select(fits, y, zero(y))), zero(x));
}

Scalar ScalarBuilder::isNan(Scalar x) { return CompareFloats(arith::CmpFPredicate::UNO, x, x); }
Scalar ScalarBuilder::isFinite(Scalar x) {
  return CompareFloats(arith::CmpFPredicate::OLT, abs(x),
                       constant(x, std::numeric_limits<double>::infinity()));
}

Scalar ScalarBuilder::cast(Scalar x, Type element) {
  Type to = ComputeType(element);
  bool to_unsigned = IsUnsigned(element);
  if (element.isInteger(1)) return compare(Comparison::ne, x, zero(x));
  auto make = [&](auto op) { return wrap(op, to_unsigned); };
  auto width = [](Type t) { return t.getIntOrFloatBitWidth(); };
  if (llvm::isa<mlir::FloatType>(to)) {
    Scalar result = x;
    if (!IsFloatType(x)) {
      bool is_unsigned = x.is_unsigned || x.type().isInteger(1);
      result = is_unsigned ? make(builder_.create<arith::UIToFPOp>(loc_, to, x.value))
                           : make(builder_.create<arith::SIToFPOp>(loc_, to, x.value));
    } else if (width(x.type()) < width(to)) {
      result = make(builder_.create<arith::ExtFOp>(loc_, to, x.value));
    } else if (width(x.type()) > width(to)) {
      result = make(builder_.create<arith::TruncFOp>(loc_, to, x.value));
    }
    if (to == element) return result;
    if (IsStoredFloat(element)) {
      return wrapStored(NarrowToFloat8(builder_, loc_, result.value, element, casts_to_float8_), element);
    }
    // bf16 and f16 are computed in f32: round to the storage type's precision.
    Value narrow = builder_.create<arith::TruncFOp>(loc_, element, result.value);
    return make(builder_.create<arith::ExtFOp>(loc_, to, narrow));
  }
  if (!IsFloatType(x)) {
    if (width(x.type()) == width(to)) return wrap(x.value, to_unsigned);
    if (width(x.type()) > width(to)) return make(builder_.create<arith::TruncIOp>(loc_, to, x.value));
    bool is_unsigned = x.is_unsigned || x.type().isInteger(1);
    return is_unsigned ? make(builder_.create<arith::ExtUIOp>(loc_, to, x.value))
                       : make(builder_.create<arith::ExtSIOp>(loc_, to, x.value));
  }
  // Float to integer saturates. The bounds are powers of two, which every float type holds exactly; it may
  // not hold the largest integer. So the conversion sees only values inside the bounds, and the ends are
  // selected.
  unsigned bits = width(to);
  double high = std::ldexp(1.0, to_unsigned ? bits : bits - 1);
  double low = to_unsigned ? 0.0 : -high;
  Scalar inside = logicalAnd(ge(x, constant(x, low)), lt(x, constant(x, high)));
  Scalar safe = select(inside, x, zero(x));
  Scalar converted = to_unsigned ? make(builder_.create<arith::FPToUIOp>(loc_, to, safe.value))
                                 : make(builder_.create<arith::FPToSIOp>(loc_, to, safe.value));
  Scalar above = select(ge(x, constant(x, high)), highest(element), converted);
  return select(lt(x, constant(x, low)), lowest(element), above);
}

}  // namespace sinter::ir
