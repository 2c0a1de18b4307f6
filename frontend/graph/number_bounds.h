// Bounds of a numeric option, and the error for a number outside of them.
//
//   std::string wrong = OutOfBounds("a beta1", beta1, {.low = 0, .below = 1});
//   if (!wrong.empty()) return call.Fail(wrong);
//   // "needs a beta1 of at least 0 and below 1, got 2"
#ifndef SINTER_FRONTEND_GRAPH_NUMBER_BOUNDS_H_
#define SINTER_FRONTEND_GRAPH_NUMBER_BOUNDS_H_

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

// The number must also be finite.
struct NumberBounds {
  std::optional<double> low = {};    // At least this.
  std::optional<double> above = {};  // More than this.
  std::optional<double> high = {};   // At most this.
  std::optional<double> below = {};  // Less than this.
};

// Empty if the number is within the bounds. Else the rest of a sentence that begins with the call.
std::string OutOfBounds(std::string_view what, double value, const NumberBounds& bounds);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_NUMBER_BOUNDS_H_
