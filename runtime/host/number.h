// A number as a program writes it, and as one element of a type.
//
//   Number count = int64_t{9007199254740993};         // Exact: whole numbers of 64 bits are no doubles.
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
  // An unsigned number that int64_t does not hold is kept as the double next to it: no integer type has it.
  template <std::integral T>
  constexpr Number(T value)
      : real_(static_cast<double>(value)),
        is_integer_(sizeof(T) < sizeof(int64_t) || std::signed_integral<T> ||
                    static_cast<uint64_t>(value) <= uint64_t{std::numeric_limits<int64_t>::max()}),
        integer_(is_integer_ ? static_cast<int64_t>(value) : 0) {}

  // The nearest double.
  constexpr double real() const { return real_; }
  // True if it was written as a whole number that integer() holds.
  constexpr bool is_integer() const { return is_integer_; }
  constexpr int64_t integer() const { return integer_; }
  // True if real() is the number itself.
  constexpr bool real_is_exact() const {
    return !is_integer_ || (real_ < 0x1p63 && static_cast<int64_t>(real_) == integer_);
  }
  // "0.5", "9007199254740993".
  std::string ToString() const;

 private:
  double real_ = 0;
  bool is_integer_ = false;
  int64_t integer_ = 0;
};

// OK when the element type holds the number: floats round, but a finite number must stay finite; integers hold whole
// numbers of their range exactly, i1 0 and 1. Else InvalidArgument, such as "0.5 is not a number of type i32".
absl::Status CheckNumber(const Number& number, DType dtype);
// Writes it as one element. Errors as CheckNumber; then nothing is written.
absl::Status StoreNumber(const Number& number, DType dtype, std::byte* to);
// The element at `from`, as a double.
double LoadNumber(DType dtype, const void* from);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_NUMBER_H_
