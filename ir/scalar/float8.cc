#include "sinter/ir/scalar/float8.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sinter::ir {

namespace arith = mlir::arith;
using mlir::Value;
using Predicate = arith::CmpIPredicate;

namespace {

constexpr uint32_t kInfinity = 0x7f800000u, kNan = 0x7fc00000u;  // In f32.

struct Format {
  int mantissa, bias;
  uint32_t too_large;  // The least magnitude, as bits of f32, that becomes `beyond`.
  uint8_t beyond;      // Bits of infinity, or of NaN if there is no infinity.
  uint32_t beyond_as_f32;
};

Format FormatOf(mlir::Type element) {
  if (llvm::isa<mlir::Float8E4M3FNType>(element)) return {3, 7, 0x43e80001u, 0x7f, kNan};
  return {2, 15, 0x47700000u, 0x7c, kInfinity};
}

// Builds integer ops on i32.
class Float8Words {
 public:
  Float8Words(mlir::OpBuilder& builder, mlir::Location loc) : b_(builder), loc_(loc) {}

  Value number(uint32_t value) {
    return b_.create<arith::ConstantOp>(loc_, b_.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value real(double value) {
    return b_.create<arith::ConstantOp>(loc_, b_.getF32FloatAttr(static_cast<float>(value)));
  }
  template <typename Op>
  Value make(Value x, Value y) {
    return b_.create<Op>(loc_, x, y);
  }
  template <typename Op>
  Value make(Value x, uint32_t y) {
    return b_.create<Op>(loc_, x, number(y));
  }
  template <typename Op>
  Value convert(Value x, mlir::Type to) {
    return b_.create<Op>(loc_, to, x);
  }
  Value pick(Predicate predicate, Value x, uint32_t bound, Value on_true, Value on_false) {
    Value holds = b_.create<arith::CmpIOp>(loc_, predicate, x, number(bound));
    return b_.create<arith::SelectOp>(loc_, holds, on_true, on_false);
  }
  Value asFloat(Value x) { return convert<arith::BitcastOp>(x, b_.getF32Type()); }
  Value asWord(Value x) { return convert<arith::BitcastOp>(x, b_.getI32Type()); }

 private:
  mlir::OpBuilder& b_;
  mlir::Location loc_;
};

}  // namespace

Value WidenFloat8(mlir::OpBuilder& builder, mlir::Location loc, Value bits, mlir::Type element) {
  const Format f = FormatOf(element);
  Float8Words w(builder, loc);
  Value word = w.convert<arith::ExtUIOp>(bits, builder.getI32Type());
  Value magnitude = w.make<arith::AndIOp>(word, 0x7fu);
  Value sign = w.make<arith::ShLIOp>(w.make<arith::AndIOp>(word, 0x80u), 24);
  Value normal =
      w.make<arith::AddIOp>(w.make<arith::ShLIOp>(magnitude, static_cast<uint32_t>(23 - f.mantissa)),
                            static_cast<uint32_t>(127 - f.bias) << 23);
  Value whole = w.convert<arith::UIToFPOp>(magnitude, builder.getF32Type());
  Value subnormal = w.asWord(w.make<arith::MulFOp>(whole, w.real(std::ldexp(1.0, 1 - f.bias - f.mantissa))));
  Value result = w.pick(Predicate::ult, magnitude, 1u << f.mantissa, subnormal, normal);
  result = w.pick(Predicate::uge, magnitude, f.beyond, w.number(f.beyond_as_f32), result);
  result = w.pick(Predicate::ugt, magnitude, f.beyond, w.number(kNan), result);
  return w.asFloat(w.make<arith::OrIOp>(sign, result));
}

Value NarrowToFloat8(mlir::OpBuilder& builder, mlir::Location loc, Value number, mlir::Type element,
                     bool by_cast) {
  if (by_cast) {
    Value narrow = builder.create<arith::TruncFOp>(loc, element, number);
    return builder.create<arith::BitcastOp>(loc, builder.getI8Type(), narrow);
  }
  const Format f = FormatOf(element);
  const uint32_t drop = static_cast<uint32_t>(23 - f.mantissa);
  Float8Words w(builder, loc);
  Value word = w.asWord(number);
  Value magnitude = w.make<arith::AndIOp>(word, 0x7fffffffu);
  Value sign = w.make<arith::AndIOp>(w.make<arith::ShRUIOp>(word, 24), 0x80u);
  // Normal results: changes the exponent's bias, and rounds.
  Value rebiased = w.make<arith::SubIOp>(magnitude, static_cast<uint32_t>(127 - f.bias) << 23);
  Value odd = w.make<arith::AndIOp>(w.make<arith::ShRUIOp>(rebiased, drop), 1u);
  Value up = w.make<arith::AddIOp>(w.make<arith::AddIOp>(rebiased, (1u << (drop - 1)) - 1u), odd);
  Value normal = w.make<arith::ShRUIOp>(up, drop);
  // Subnormal results: the sum has their unit as its last place, and so rounds to it.
  const int unit = 1 - f.bias - f.mantissa;
  Value sum = w.make<arith::AddFOp>(w.asFloat(magnitude), w.real(std::ldexp(1.0, 23 + unit)));
  Value subnormal = w.make<arith::SubIOp>(w.asWord(sum), static_cast<uint32_t>(127 + 23 + unit) << 23);
  Value result =
      w.pick(Predicate::uge, magnitude, static_cast<uint32_t>(128 - f.bias) << 23, normal, subnormal);
  result = w.pick(Predicate::uge, magnitude, f.too_large, w.number(f.beyond), result);
  result = w.pick(Predicate::ugt, magnitude, kInfinity, w.number(0x7fu), result);
  return w.convert<arith::TruncIOp>(w.make<arith::OrIOp>(sign, result), builder.getI8Type());
}

}  // namespace sinter::ir
