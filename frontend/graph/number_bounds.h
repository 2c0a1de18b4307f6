// The bounds of a numeric option, and what is said of a number outside of them.
//
//   if (std::string wrong = OutOfBounds("a beta1", beta1, {.low = 0, .below = 1}); !wrong.empty()) return call.Fail(wrong);
//   // "needs a beta1 of at least 0 and below 1, got 2"
#ifndef SINTER_FRONTEND_GRAPH_NUMBER_BOUNDS_H_
#define SINTER_FRONTEND_GRAPH_NUMBER_BOUNDS_H_

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

// Numbers are finite besides.
struct NumberBounds {
  std::optional<double> low = {};    // At least this.
  std::optional<double> above = {};  // More than this.
  std::optional<double> high = {};   // At most this.
  std::optional<double> below = {};  // Less than this.
};

// The rest of a sentence that begins with what has the option; empty when the number is within the bounds.
std::string OutOfBounds(std::string_view what, double value, const NumberBounds& bounds);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_NUMBER_BOUNDS_H_
