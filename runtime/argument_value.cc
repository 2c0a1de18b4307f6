#include "sinter/runtime/argument_value.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/half.h"

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

struct Range {
  int64_t least, most;
};
Range RangeOf(DType dtype) {
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

void StoreFloat(double value, DType dtype, std::byte* to) {
  if (dtype == DType::kF64) Store(value, to);
  if (dtype == DType::kF32) Store(static_cast<float>(value), to);
  if (dtype == DType::kBf16) Store(BFloat16::FromFloat(static_cast<float>(value)), to);
  if (dtype == DType::kF16) Store(Float16::FromFloat(static_cast<float>(value)), to);
}

}  // namespace

absl::Status StoreNumber(int64_t value, DType dtype, std::byte* to) {
  if (IsFloat(dtype)) {
    StoreFloat(static_cast<double>(value), dtype, to);
    return absl::OkStatus();
  }
  const Range range = RangeOf(dtype);
  if (value < range.least || value > range.most) {
    return absl::InvalidArgumentError(
        absl::StrCat(value, " is not a number of type ", std::string(DTypeName(dtype))));
  }
  // Little-endian: the low bytes come first.
  std::memcpy(to, &value, static_cast<size_t>(SizeOf(dtype)));
  return absl::OkStatus();
}

absl::Status StoreNumber(double value, DType dtype, std::byte* to) {
  if (IsFloat(dtype)) {
    StoreFloat(value, dtype, to);
    return absl::OkStatus();
  }
  if (std::trunc(value) != value || !(std::abs(value) < 0x1p63)) {
    return absl::InvalidArgumentError(
        absl::StrCat(value, " is not a number of type ", std::string(DTypeName(dtype))));
  }
  return StoreNumber(static_cast<int64_t>(value), dtype, to);
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
