#include "sinter/tests/reference/value.h"

#include <cmath>
#include <limits>

namespace sinter::reference {

int64_t NumElements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

int64_t Offset(const Shape& shape, const Shape& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + at[d];
  return offset;
}

void ForEachIndex(const Shape& shape, const std::function<void(const Shape& at)>& visit) {
  if (NumElements(shape) == 0) return;
  Shape at(shape.size(), 0);
  while (true) {
    visit(at);
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    while (d >= 0 && ++at[d] == shape[d]) at[d--] = 0;
    if (d < 0) return;
  }
}

Value Value::Zeros(DType dtype, Shape shape) {
  Value value{dtype, std::move(shape), {}, {}};
  if (IsFloat(dtype)) {
    value.reals.assign(value.size(), 0.0);
  } else {
    value.ints.assign(value.size(), 0);
  }
  return value;
}

void Value::Copy(int64_t to, const Value& source, int64_t from) {
  if (is_real()) {
    reals[to] = source.reals[from];
  } else {
    ints[to] = source.ints[from];
  }
}

namespace {

// Rounds to a binary float with `digits` significant bits and smallest normal exponent `lowest_exponent`.
double RoundTo(double x, int digits, int lowest_exponent, double largest) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = std::max(std::ilogb(x), lowest_exponent);
  double unit = std::ldexp(1.0, exponent - (digits - 1));
  double rounded = std::nearbyint(x / unit) * unit;
  if (std::fabs(rounded) > largest) return std::copysign(std::numeric_limits<double>::infinity(), x);
  return std::copysign(rounded, x);
}

int Bits(DType dtype) { return dtype == DType::kI1 ? 1 : static_cast<int>(SizeOf(dtype)) * 8; }
bool IsUnsigned(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI1; }

}  // namespace

double Round(DType dtype, double x) {
  switch (dtype) {
    case DType::kF32:
      return RoundTo(x, 24, -126, 0x1.fffffep127);
    case DType::kBf16:
      return RoundTo(x, 8, -126, 0x1.fep127);
    case DType::kF16:
      return RoundTo(x, 11, -14, 65504.0);
    default:
      return x;
  }
}

int64_t Wrap(DType dtype, int64_t x) {
  int bits = Bits(dtype);
  if (bits == 64) return x;
  int64_t low = x & ((int64_t{1} << bits) - 1);
  return !IsUnsigned(dtype) && (low >> (bits - 1)) != 0 ? low - (int64_t{1} << bits) : low;
}

int64_t Lowest(DType dtype) {
  if (IsUnsigned(dtype)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - Bits(dtype));
}

int64_t Highest(DType dtype) {
  return std::numeric_limits<int64_t>::max() >> (IsUnsigned(dtype) ? 63 - Bits(dtype) : 64 - Bits(dtype));
}

int64_t ToInteger(DType dtype, double x) {
  if (std::isnan(x)) return 0;
  double truncated = std::trunc(x);
  // Compares as doubles: the highest i64 becomes 2^63, which is itself out of range.
  if (truncated >= static_cast<double>(Highest(dtype))) return Highest(dtype);
  if (truncated <= static_cast<double>(Lowest(dtype))) return Lowest(dtype);
  return static_cast<int64_t>(truncated);
}

}  // namespace sinter::reference
