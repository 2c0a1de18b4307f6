#include "sinter/ir/scalar/element_builder.h"

namespace sinter::ir {

namespace arith = mlir::arith;
using mlir::Value;

namespace {

std::optional<int64_t> Constant(Value v) {
  if (auto op = v.getDefiningOp<arith::ConstantIndexOp>()) return op.value();
  return std::nullopt;
}

}  // namespace

Value ElementBuilder::index(int64_t value) {
  return s_.builder().create<arith::ConstantIndexOp>(s_.loc(), value);
}

Value ElementBuilder::add(Value a, Value b) {
  auto x = Constant(a), y = Constant(b);
  if (x && y) return index(*x + *y);
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  return s_.builder().create<arith::AddIOp>(s_.loc(), a, b);
}

Value ElementBuilder::sub(Value a, Value b) {
  auto x = Constant(a), y = Constant(b);
  if (x && y) return index(*x - *y);
  if (y && *y == 0) return a;
  return s_.builder().create<arith::SubIOp>(s_.loc(), a, b);
}

Value ElementBuilder::mul(Value a, Value b) {
  auto x = Constant(a), y = Constant(b);
  if (x && y) return index(*x * *y);
  if ((x && *x == 0) || (y && *y == 1)) return a;
  if ((y && *y == 0) || (x && *x == 1)) return b;
  return s_.builder().create<arith::MulIOp>(s_.loc(), a, b);
}

Value ElementBuilder::div(Value a, Value b) {
  auto x = Constant(a), y = Constant(b);
  if (x && y && *y != 0) return index(*x / *y);
  if (y && *y == 1) return a;
  return s_.builder().create<arith::DivUIOp>(s_.loc(), a, b);
}

Value ElementBuilder::rem(Value a, Value b) {
  auto x = Constant(a), y = Constant(b);
  if (x && y && *y != 0) return index(*x % *y);
  if (y && *y == 1) return index(0);
  return s_.builder().create<arith::RemUIOp>(s_.loc(), a, b);
}

Value ElementBuilder::min(Value a, Value b) { return s_.builder().create<arith::MinSIOp>(s_.loc(), a, b); }
Value ElementBuilder::max(Value a, Value b) { return s_.builder().create<arith::MaxSIOp>(s_.loc(), a, b); }
Value ElementBuilder::lt(Value a, Value b) {
  return s_.builder().create<arith::CmpIOp>(s_.loc(), arith::CmpIPredicate::slt, a, b);
}
Value ElementBuilder::ge(Value a, Value b) {
  return s_.builder().create<arith::CmpIOp>(s_.loc(), arith::CmpIPredicate::sge, a, b);
}
Value ElementBuilder::logicalAnd(Value a, Value b) {
  return s_.builder().create<arith::AndIOp>(s_.loc(), a, b);
}

Value ElementBuilder::linearize(mlir::ValueRange coords, llvm::ArrayRef<int64_t> shape) {
  Value position = index(0);
  for (size_t d = 0; d < shape.size(); ++d) position = add(mul(position, index(shape[d])), coords[d]);
  return position;
}

llvm::SmallVector<Value> ElementBuilder::delinearize(Value position, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<Value> coords(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    // The position is in range, so the outermost coordinate needs no remainder.
    coords[d] = d == 0 ? position : rem(position, index(shape[d]));
    if (d > 0) position = div(position, index(shape[d]));
  }
  return coords;
}

Value ElementBuilder::toIndex(Scalar x) {
  mlir::Type type = s_.builder().getIndexType();
  if (x.is_unsigned) return s_.builder().create<arith::IndexCastUIOp>(s_.loc(), type, x.value);
  return s_.builder().create<arith::IndexCastOp>(s_.loc(), type, x.value);
}

Scalar ElementBuilder::fromIndex(Value index, mlir::Type element) {
  mlir::Type i64 = s_.builder().getI64Type();
  return s_.cast(s_.wrap(s_.builder().create<arith::IndexCastOp>(s_.loc(), i64, index)), element);
}

}  // namespace sinter::ir
