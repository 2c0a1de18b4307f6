#include "sinter/runtime/host/number.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/half.h"

namespace sinter {
namespace {

template <typename T>
void Store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(value));
}

template <typename T>
T Load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

struct IntegerRange {
  int64_t least, most;
};
IntegerRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI1:
      return {0, 1};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

// Doubles of at least this magnitude round to an infinite float (IEEE 754, 4.3.1: half a unit above the
// largest one).
constexpr double kFloatOverflow = 0x1.ffffffp127;

// Returns the value rounded to the float type; infinite if it is too large.
double Round(double value, DType dtype) {
  if (dtype == DType::kF64 || !std::isfinite(value)) return value;
  if (std::abs(value) >= kFloatOverflow) return std::copysign(std::numeric_limits<double>::infinity(), value);
  const float single = static_cast<float>(value);
  if (dtype == DType::kBf16) return BFloat16::FromFloat(single).ToFloat();
  if (dtype == DType::kF16) return Float16::FromFloat(single).ToFloat();
  return single;
}

std::string_view LargestOf(DType dtype) { return dtype == DType::kF16 ? "65504" : "about 3.4e38"; }

// Returns the integer that an integer type would hold; nullopt if the number is not an int64_t.
std::optional<int64_t> Whole(const Number& number) {
  if (number.is_integer()) return number.integer();
  const double real = number.real();
  if (std::trunc(real) != real || !(real >= -0x1p63 && real < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(real);
}

}  // namespace

std::string Number::ToString() const {
  // Whole doubles below 2^53 print as integers: they are exact there.
  const bool is_whole = std::abs(real_) < 0x1p53 && std::trunc(real_) == real_;
  return is_integer_ || is_whole ? absl::StrCat(is_integer_ ? integer_ : static_cast<int64_t>(real_))
                                 : absl::StrCat(real_);
}

absl::Status CheckNumber(const Number& number, DType dtype) {
  // Builds text only on errors: runs store numbers and must not allocate.
  const auto bad = [&](const auto&... more) {
    return absl::InvalidArgumentError(
        absl::StrCat(number.ToString(), " is not a number of type ", std::string(DTypeName(dtype)), more...));
  };
  if (IsFloat(dtype)) {
    if (!std::isfinite(number.real()) || std::isfinite(Round(number.real(), dtype))) return absl::OkStatus();
    return bad(", whose largest is ", std::string(LargestOf(dtype)));
  }
  const IntegerRange range = RangeOf(dtype);
  const std::optional<int64_t> whole = Whole(number);
  if (whole && *whole >= range.least && *whole <= range.most) return absl::OkStatus();
  return bad();
}

absl::Status StoreNumber(const Number& number, DType dtype, std::byte* to) {
  if (absl::Status fits = CheckNumber(number, dtype); !fits.ok()) return fits;
  const double real = number.real();
  if (dtype == DType::kF64) {
    Store(real, to);
  } else if (dtype == DType::kF32) {
    Store(static_cast<float>(Round(real, dtype)), to);
  } else if (dtype == DType::kBf16) {
    Store(BFloat16::FromFloat(static_cast<float>(real)), to);
  } else if (dtype == DType::kF16) {
    Store(Float16::FromFloat(static_cast<float>(real)), to);
  } else {
    // Little-endian: the low bytes come first.
    const int64_t whole = *Whole(number);
    std::memcpy(to, &whole, static_cast<size_t>(SizeOf(dtype)));
  }
  return absl::OkStatus();
}

double LoadNumber(DType dtype, const void* from) {
  switch (dtype) {
    case DType::kF64:
      return Load<double>(from);
    case DType::kF32:
      return Load<float>(from);
    case DType::kBf16:
      return Load<BFloat16>(from).ToFloat();
    case DType::kF16:
      return Load<Float16>(from).ToFloat();
    case DType::kI64:
      return static_cast<double>(Load<int64_t>(from));
    case DType::kI32:
      return Load<int32_t>(from);
    case DType::kI8:
      return Load<int8_t>(from);
    case DType::kU8:
      return Load<uint8_t>(from);
    case DType::kI1:
      return Load<uint8_t>(from) != 0 ? 1 : 0;
  }
  return 0;
}

}  // namespace sinter
