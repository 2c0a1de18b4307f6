// Rounds up to a multiple: RoundUp(100, 64) == 128.
#ifndef SINTER_RUNTIME_HOST_ROUND_UP_H_
#define SINTER_RUNTIME_HOST_ROUND_UP_H_

#include <type_traits>

namespace sinter {

// Returns the smallest multiple of `unit` that is at least `bytes`. Requires bytes >= 0 and unit > 0.
template <typename T>
constexpr T RoundUp(T bytes, std::type_identity_t<T> unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_ROUND_UP_H_
