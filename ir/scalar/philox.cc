#include "sinter/ir/scalar/philox.h"

#include <numbers>

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sinter::ir {

namespace arith = mlir::arith;
using mlir::Value;

namespace {

// The few i32 and i64 ops that Philox needs.
class Words {
 public:
  explicit Words(ScalarBuilder& s) : b_(s.builder()), loc_(s.loc()) {}

  Value constant(mlir::Type type, uint64_t value) {
    unsigned bits = type.getIntOrFloatBitWidth();
    return b_.create<arith::ConstantOp>(loc_, b_.getIntegerAttr(type, llvm::APInt(bits, value)));
  }
  Value word(uint64_t value) { return constant(b_.getI32Type(), value); }
  Value low(Value wide) { return b_.create<arith::TruncIOp>(loc_, b_.getI32Type(), wide); }
  Value high(Value wide) { return low(b_.create<arith::ShRUIOp>(loc_, wide, constant(b_.getI64Type(), 32))); }
  Value product(Value word, uint64_t factor) {
    Value wide = b_.create<arith::ExtUIOp>(loc_, b_.getI64Type(), word);
    return b_.create<arith::MulIOp>(loc_, wide, constant(b_.getI64Type(), factor));
  }
  Value exclusiveOr(Value a, Value b) { return b_.create<arith::XOrIOp>(loc_, a, b); }
  Value add(Value a, Value b) { return b_.create<arith::AddIOp>(loc_, a, b); }
  // Drops the word's lowest `shift` bits, so that it is non-negative as a signed number, and converts it to a
  // float.
  Value shiftedToFloat(Value word, unsigned shift, mlir::Type type) {
    Value shifted = b_.create<arith::ShRUIOp>(loc_, word, this->word(shift));
    return b_.create<arith::SIToFPOp>(loc_, type, shifted);
  }

 private:
  mlir::OpBuilder& b_;
  mlir::Location loc_;
};

// A number in [0, 1): 24 bits of one word (f32), or 53 bits of two words (f64).
Scalar UnitInterval(ScalarBuilder& s, Scalar first, Scalar second, mlir::Type type) {
  Words w(s);
  if (type.isF32()) return s.wrap(w.shiftedToFloat(first.value, 8, type)) * 0x1p-24;
  return s.wrap(w.shiftedToFloat(first.value, 5, type)) * 0x1p-27 +
         s.wrap(w.shiftedToFloat(second.value, 6, type)) * 0x1p-53;
}

}  // namespace

PhiloxWords EmitPhilox(ScalarBuilder& s, Scalar seed, Scalar step, uint32_t stream, Scalar position) {
  Words w(s);
  Value c[4] = {w.low(position.value), w.high(position.value), w.word(stream), w.low(step.value)};
  Value k[2] = {w.low(seed.value), w.exclusiveOr(w.high(seed.value), w.high(step.value))};
  // The keys of the rounds are k + round * constant.
  for (uint32_t round = 0; round < 10; ++round) {
    Value k0 = round == 0 ? k[0] : w.add(k[0], w.word(static_cast<uint32_t>(round * 0x9E3779B9u)));
    Value k1 = round == 0 ? k[1] : w.add(k[1], w.word(static_cast<uint32_t>(round * 0xBB67AE85u)));
    Value matmul0 = w.product(c[0], 0xD2511F53u), matmul1 = w.product(c[2], 0xCD9E8D57u);
    c[0] = w.exclusiveOr(w.exclusiveOr(w.high(matmul1), c[1]), k0);
    c[1] = w.low(matmul1);
    c[2] = w.exclusiveOr(w.exclusiveOr(w.high(matmul0), c[3]), k1);
    c[3] = w.low(matmul0);
  }
  return {s.wrap(c[0], true), s.wrap(c[1], true), s.wrap(c[2], true), s.wrap(c[3], true)};
}

Scalar EmitUniform(ScalarBuilder& s, const PhiloxWords& words, mlir::Type type) {
  return UnitInterval(s, words[0], words[1], type);
}

Scalar EmitNormal(ScalarBuilder& s, const PhiloxWords& words, mlir::Type type) {
  // The logarithm's argument is in (0, 1]. In f32 it has more bits near 0 than a uniform number: they form
  // the tail.
  Scalar u = type.isF32() ? s.wrap(Words(s).shiftedToFloat(words[0].value, 1, type)) * 0x1p-31 + 0x1p-33
                          : UnitInterval(s, words[0], words[1], type) + 0x1p-54;
  Scalar turns =
      type.isF32() ? UnitInterval(s, words[1], words[1], type) : UnitInterval(s, words[2], words[3], type);
  return s.sqrt(-2.0 * s.log(u)) * s.cos(turns * (2 * std::numbers::pi));
}

}  // namespace sinter::ir
