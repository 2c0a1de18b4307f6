#include "sinter/tests/numerics/compiled_values.h"

#include "sinter/runtime/host/status.h"

namespace sinter::numerics {

using reference::Value;

namespace {

// Calls f with a null pointer of the element type; with uint8_t* for i1.
template <typename F>
void WithElementPointer(DType dtype, F f) {
  WithElementType(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    f(static_cast<Stored*>(nullptr));
  });
}

}  // namespace

absl::StatusOr<HostTensor> ToTensor(const Value& value) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(value.dtype, value.shape));
  WithElementPointer(value.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T* to = static_cast<T*>(tensor.mutable_data());
    for (int64_t i = 0; i < value.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        to[i] = static_cast<T>(value.ints[i]);
      } else {
        to[i] = FromDouble<T>(value.reals[i]);
      }
    }
  });
  return tensor;
}

Value FromTensor(const HostTensor& tensor) {
  Value value = Value::Zeros(tensor.dtype(), tensor.shape());
  WithElementPointer(value.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* from = static_cast<const T*>(tensor.data());
    for (int64_t i = 0; i < value.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        value.ints[i] = static_cast<int64_t>(from[i]);
      } else {
        value.reals[i] = ToDouble(from[i]);
      }
    }
  });
  return value;
}

}  // namespace sinter::numerics
