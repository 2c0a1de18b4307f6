#include "sinter/tests/numerics/compiled_values.h"

#include "sinter/runtime/host/status.h"

namespace sinter::numerics {

using reference::Value;

namespace {

template <typename T>
T StorageOf(double x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return T::FromFloat(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}
template <typename T>
double NumberOf(T x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return x.ToFloat();
  } else {
    return static_cast<double>(x);
  }
}

// Calls f with a null pointer of the element type.
template <typename F>
void WithElementType(DType dtype, F f) {
  switch (dtype) {
    case DType::kF64:
      return f(static_cast<double*>(nullptr));
    case DType::kF32:
      return f(static_cast<float*>(nullptr));
    case DType::kBf16:
      return f(static_cast<BFloat16*>(nullptr));
    case DType::kF16:
      return f(static_cast<Float16*>(nullptr));
    case DType::kI64:
      return f(static_cast<int64_t*>(nullptr));
    case DType::kI32:
      return f(static_cast<int32_t*>(nullptr));
    case DType::kI8:
      return f(static_cast<int8_t*>(nullptr));
    case DType::kU8:
    case DType::kI1:
      return f(static_cast<uint8_t*>(nullptr));
  }
}

}  // namespace

absl::StatusOr<HostTensor> ToTensor(const Value& value) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(value.dtype, value.shape));
  WithElementType(value.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T* to = static_cast<T*>(tensor.mutable_data());
    for (int64_t i = 0; i < value.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        to[i] = static_cast<T>(value.ints[i]);
      } else {
        to[i] = StorageOf<T>(value.reals[i]);
      }
    }
  });
  return tensor;
}

Value FromTensor(const HostTensor& tensor) {
  Value value = Value::Zeros(tensor.dtype(), tensor.shape());
  WithElementType(value.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* from = static_cast<const T*>(tensor.data());
    for (int64_t i = 0; i < value.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        value.ints[i] = static_cast<int64_t>(from[i]);
      } else {
        value.reals[i] = NumberOf(from[i]);
      }
    }
  });
  return value;
}

}  // namespace sinter::numerics
