// A number that keeps whole 64-bit values exact, and its conversion to an element type.
//
//   Number count = int64_t{9007199254740993};         // Exact: a double does not hold all 64-bit integers.
//   SINTER_RETURN_IF_ERROR(StoreNumber(0.1, DType::kF32, bytes));
#ifndef SINTER_RUNTIME_HOST_NUMBER_H_
#define SINTER_RUNTIME_HOST_NUMBER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "sinter/runtime/host/dtype.h"

namespace sinter {

class Number {
 public:
  template <std::floating_point T>
  constexpr Number(T value) : real_(static_cast<double>(value)) {}
  // Unsigned numbers above int64_t's range are kept as the nearest double: no integer element type holds
  // them.
  template <std::integral T>
  constexpr Number(T value)
      : real_(static_cast<double>(value)),
        is_integer_(sizeof(T) < sizeof(int64_t) || std::signed_integral<T> ||
                    static_cast<uint64_t>(value) <= uint64_t{std::numeric_limits<int64_t>::max()}),
        integer_(is_integer_ ? static_cast<int64_t>(value) : 0) {}

  // Returns the nearest double.
  constexpr double real() const { return real_; }
  // True if the number was given as an integer that integer() holds.
  constexpr bool is_integer() const { return is_integer_; }
  constexpr int64_t integer() const { return integer_; }
  // True if real() equals the number exactly.
  constexpr bool real_is_exact() const {
    return !is_integer_ || (real_ < 0x1p63 && static_cast<int64_t>(real_) == integer_);
  }
  // Returns text such as "0.5" or "9007199254740993".
  std::string ToString() const;

 private:
  double real_ = 0;
  bool is_integer_ = false;
  int64_t integer_ = 0;
};

// OK if the element type holds the number. Floats round, but a finite number must stay finite. Integer types
// hold the integers in their range; i1 holds 0 and 1. Otherwise InvalidArgument, such as "0.5 is not a number
// of type i32".
absl::Status CheckNumber(const Number& number, DType dtype);
// Writes the number as one element. Errors as CheckNumber; nothing is written then.
absl::Status StoreNumber(const Number& number, DType dtype, std::byte* to);
// Returns the element at `from` as a double.
double LoadNumber(DType dtype, const void* from);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_NUMBER_H_
