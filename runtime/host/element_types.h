// The C++ type of each element type, and calls by element type.
//
//   DTypeOf<float>()                                          // DType::kF32
//   WithElementType(dtype, [&](auto type) {                   // Calls with std::type_identity<int32_t>, ...
//     using T = typename decltype(type)::type;
//     total += sizeof(T);
//   });
//   double x = ToDouble(Float16{0x3c00});                     // 1.0
//   Float16 h = FromDouble<Float16>(0.1);
#ifndef SINTER_RUNTIME_HOST_ELEMENT_TYPES_H_
#define SINTER_RUNTIME_HOST_ELEMENT_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/float8.h"
#include "sinter/runtime/host/half.h"

namespace sinter {

// By the value of DType.
using ElementTypes = std::tuple<double, float, BFloat16, Float16, int64_t, int32_t, int8_t, uint8_t, bool,
                                int16_t, uint16_t, uint32_t, uint64_t, Float8E4M3, Float8E5M2>;
static_assert(std::tuple_size_v<ElementTypes> == kNumDTypes);

// The number of T among the element types; kNumDTypes if it is none.
template <typename T, size_t i = 0>
constexpr size_t ElementTypeNumber() {
  if constexpr (i == std::tuple_size_v<ElementTypes>) {
    return i;
  } else if constexpr (std::is_same_v<T, std::tuple_element_t<i, ElementTypes>>) {
    return i;
  } else {
    return ElementTypeNumber<T, i + 1>();
  }
}

// Returns the DType of a C++ element type: DTypeOf<float>() == DType::kF32. Does not compile for other types.
template <typename T>
constexpr DType DTypeOf() {
  static_assert(ElementTypeNumber<T>() < kNumDTypes, "not an element type of Sinter");
  return static_cast<DType>(ElementTypeNumber<T>());
}

// Calls f(std::type_identity<T>()) with the C++ type of `dtype`, and returns its result.
template <size_t i = 0, typename F>
decltype(auto) WithElementType(DType dtype, F&& f) {
  if constexpr (i + 1 < std::tuple_size_v<ElementTypes>) {
    if (static_cast<size_t>(dtype) != i) return WithElementType<i + 1>(dtype, std::forward<F>(f));
  }
  return f(std::type_identity<std::tuple_element_t<i, ElementTypes>>());
}

// True for the floats that C++ has no arithmetic for: they convert by FromFloat and ToFloat.
template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16> ||
                                      std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

template <typename T>
constexpr double ToDouble(T x) {
  if constexpr (kIsSmallFloat<T>) {
    return x.ToFloat();
  } else {
    return static_cast<double>(x);
  }
}
// Integer types must hold x.
template <typename T>
constexpr T FromDouble(double x) {
  if constexpr (kIsSmallFloat<T>) {
    return T::FromFloat(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_ELEMENT_TYPES_H_
