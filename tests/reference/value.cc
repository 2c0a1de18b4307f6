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
  if (value.is_real()) {
    value.reals.assign(value.size(), 0.0);
  } else {
    value.ints.assign(value.size(), 0);
  }
  return value;
}

double Value::Number(int64_t i) const {
  if (is_real()) return reals[i];
  return dtype == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(ints[i]))
                              : static_cast<double>(ints[i]);
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
bool HasNoSign(DType dtype) { return IsUnsigned(dtype) || dtype == DType::kI1; }

}  // namespace

double Round(DType dtype, double x) {
  switch (dtype) {
    case DType::kF32:
      return RoundTo(x, 24, -126, 0x1.fffffep127);
    case DType::kBf16:
      return RoundTo(x, 8, -126, 0x1.fep127);
    case DType::kF16:
      return RoundTo(x, 11, -14, 65504.0);
    case DType::kF8E4M3: {
      const double rounded = RoundTo(static_cast<float>(x), 4, -6, 448.0);
      return std::isinf(rounded) ? std::nan("") : rounded;
    }
    case DType::kF8E5M2:
      return RoundTo(static_cast<float>(x), 3, -14, 57344.0);
    default:
      return x;
  }
}

int64_t Wrap(DType dtype, int64_t x) {
  int bits = Bits(dtype);
  if (bits == 64) return x;
  int64_t low = x & ((int64_t{1} << bits) - 1);
  return !HasNoSign(dtype) && (low >> (bits - 1)) != 0 ? low - (int64_t{1} << bits) : low;
}

bool IsLess(DType dtype, int64_t a, int64_t b) {
  return dtype == DType::kU64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

int64_t Lowest(DType dtype) {
  if (HasNoSign(dtype)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - Bits(dtype));
}

int64_t Highest(DType dtype) {
  if (dtype == DType::kU64) return -1;
  return std::numeric_limits<int64_t>::max() >> (HasNoSign(dtype) ? 63 - Bits(dtype) : 64 - Bits(dtype));
}

int64_t ToInteger(DType dtype, double x) {
  if (std::isnan(x)) return 0;
  double truncated = std::trunc(x);
  if (dtype == DType::kU64) {
    if (truncated >= 0x1p64) return Highest(dtype);
    return truncated <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(truncated));
  }
  // Compares as doubles: the highest i64 becomes 2^63, which is itself out of range.
  if (truncated >= static_cast<double>(Highest(dtype))) return Highest(dtype);
  if (truncated <= static_cast<double>(Lowest(dtype))) return Lowest(dtype);
  return static_cast<int64_t>(truncated);
}

}  // namespace sinter::reference
