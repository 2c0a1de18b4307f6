#include "sinter/runtime/host/number.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/element_types.h"

namespace sinter {
namespace {

// True if the integer type holds the whole number with these bits and this sign. i1 holds 0 and 1.
bool Holds(DType dtype, uint64_t bits, bool is_negative) {
  const int width = dtype == DType::kI1 ? 1 : 8 * static_cast<int>(SizeOf(dtype));
  const bool is_unsigned = !IsInteger(dtype) || IsUnsigned(dtype);
  const uint64_t most = ~uint64_t{0} >> (64 - width + (is_unsigned ? 0 : 1));
  return is_negative ? !is_unsigned && ~bits <= most : bits <= most;
}

// Doubles of at least this magnitude round to an infinite float (IEEE 754, 4.3.1: half a unit above the
// largest one).
constexpr double kFloatOverflow = 0x1.ffffffp127;

// Returns the value rounded to the float type; not finite if it is too large.
double Round(double value, DType dtype) {
  if (dtype == DType::kF64 || !std::isfinite(value)) return value;
  if (std::abs(value) >= kFloatOverflow) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return WithElementType(dtype, [&](auto type) -> double {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) return value;
    return ToDouble(FromDouble<T>(value));
  });
}

std::string_view LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "65504";
    case DType::kF8E4M3:
      return "448";
    case DType::kF8E5M2:
      return "57344";
    default:
      return "about 3.4e38";
  }
}

bool IsAnyFloat(DType dtype) { return IsFloat(dtype) || IsStored(dtype); }

}  // namespace

std::optional<uint64_t> Number::WholeBits() const {
  if (is_integer_ || is_large_) return static_cast<uint64_t>(integer_);
  if (std::trunc(real_) != real_ || !(real_ >= -0x1p63 && real_ < 0x1p64)) return std::nullopt;
  return real_ < 0 ? static_cast<uint64_t>(static_cast<int64_t>(real_)) : static_cast<uint64_t>(real_);
}

std::string Number::ToString() const {
  if (is_large_) return absl::StrCat(static_cast<uint64_t>(integer_));
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
  if (IsAnyFloat(dtype)) {
    const bool has_infinity = dtype != DType::kF8E4M3;
    if (std::isinf(number.real()) && !has_infinity) return bad(", which has no infinity");
    if (!std::isfinite(number.real()) || std::isfinite(Round(number.real(), dtype))) return absl::OkStatus();
    return bad(", whose largest is ", std::string(LargestOf(dtype)));
  }
  const std::optional<uint64_t> whole = number.WholeBits();
  if (whole && Holds(dtype, *whole, number.is_negative())) return absl::OkStatus();
  return bad();
}

absl::Status StoreNumber(const Number& number, DType dtype, std::byte* to) {
  if (absl::Status fits = CheckNumber(number, dtype); !fits.ok()) return fits;
  if (IsAnyFloat(dtype)) {
    WithElementType(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (std::is_same_v<T, double> || !std::is_floating_point_v<T>) {
        const T value = FromDouble<T>(number.real());
        std::memcpy(to, &value, sizeof(value));
      } else {
        const T value = static_cast<T>(Round(number.real(), dtype));
        std::memcpy(to, &value, sizeof(value));
      }
    });
  } else {
    // Little-endian: the low bytes come first.
    const uint64_t whole = *number.WholeBits();
    std::memcpy(to, &whole, static_cast<size_t>(SizeOf(dtype)));
  }
  return absl::OkStatus();
}

double LoadNumber(DType dtype, const void* from) {
  return WithElementType(dtype, [&](auto type) -> double {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<T, bool>) {
      return *static_cast<const uint8_t*>(from) != 0 ? 1 : 0;
    } else {
      T value;
      std::memcpy(&value, from, sizeof(value));
      return ToDouble(value);
    }
  });
}

}  // namespace sinter
