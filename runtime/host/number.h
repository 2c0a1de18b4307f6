// A number that keeps whole 64-bit values, signed and unsigned, exact, and its conversion to an element type.
//
//   Number count = int64_t{9007199254740993};         // Exact: a double does not hold all 64-bit integers.
//   SINTER_RETURN_IF_ERROR(StoreNumber(0.1, DType::kF32, bytes));
#ifndef SINTER_RUNTIME_HOST_NUMBER_H_
#define SINTER_RUNTIME_HOST_NUMBER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "sinter/runtime/host/dtype.h"

namespace sinter {

class Number {
 public:
  template <std::floating_point T>
  constexpr Number(T value) : real_(static_cast<double>(value)) {}
  template <std::integral T>
  constexpr Number(T value)
      : real_(static_cast<double>(value)),
        is_integer_(sizeof(T) < sizeof(int64_t) || std::signed_integral<T> ||
                    static_cast<uint64_t>(value) <= uint64_t{std::numeric_limits<int64_t>::max()}),
        is_large_(!is_integer_),
        integer_(static_cast<int64_t>(value)) {}

  // Returns the nearest double.
  constexpr double real() const { return real_; }
  // True if the number was given as an integer that integer() holds: not above int64_t's range.
  constexpr bool is_integer() const { return is_integer_; }
  constexpr int64_t integer() const { return is_integer_ ? integer_ : 0; }
  // True if real() equals the number exactly.
  constexpr bool real_is_exact() const {
    if (is_large_) return real_ < 0x1p64 && static_cast<uint64_t>(real_) == static_cast<uint64_t>(integer_);
    return !is_integer_ || (real_ < 0x1p63 && static_cast<int64_t>(real_) == integer_);
  }
  // Returns the low 64 bits of the integer that an element of an integer type would hold, also if the number
  // was given as a whole double. nullopt if the number is not an integer from -2^63 to 2^64 - 1.
  std::optional<uint64_t> WholeBits() const;
  // True for numbers below 0.
  constexpr bool is_negative() const { return is_integer_ ? integer_ < 0 : real_ < 0; }
  // Returns text such as "0.5" or "9007199254740993".
  std::string ToString() const;

 private:
  double real_ = 0;
  bool is_integer_ = false;
  bool is_large_ = false;  // True for an integer above int64_t's range: integer_ has its bits.
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
