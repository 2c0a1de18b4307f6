#include "sinter/tests/numerics/comparison.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sinter::numerics {

using reference::Value;

namespace {

// Returns the largest finite value. A result that overflows to infinity is one rounding step away from this
// value.
double Largest(DType dtype) {
  constexpr double kLargest[] = {1.7976931348623157e308, 0x1.fffffep127, 0x1.fep127, 65504.0};
  return kLargest[static_cast<int>(dtype)];
}

bool Agrees(DType dtype, double got, double want, const Tolerance& tolerance, double slack) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (got == want) return true;
  if (std::isinf(got) && std::isinf(want)) return false;
  if (std::isinf(want)) return std::copysign(Largest(dtype), want) == got && tolerance.relative > 0;
  if (std::isinf(got)) return std::copysign(Largest(dtype), got) == want && tolerance.relative > 0;
  return std::fabs(got - want) <= slack * tolerance.Allowed(want);
}

}  // namespace

std::string Disagreement(const Value& got, const Value& want, OpClass op_class, double slack) {
  if (got.dtype != want.dtype || got.shape != want.shape) return "the type is another";
  Tolerance tolerance = ToleranceOf(op_class, want.dtype);
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < want.size(); ++i) {
    bool agrees = want.is_real() ? Agrees(want.dtype, got.reals[i], want.reals[i], tolerance, slack)
                                 : got.ints[i] == want.ints[i];
    if (agrees) continue;
    if (wrong++ > 0) continue;
    first = want.is_real() ? absl::StrFormat("element %d is %.17g, not %.17g", i, got.reals[i], want.reals[i])
                           : absl::StrCat("element ", i, " is ", got.ints[i], ", not ", want.ints[i]);
  }
  if (wrong == 0) return "";
  std::string_view dtype = DTypeName(want.dtype);
  return absl::StrCat(std::string(dtype), ": ", first, " (", wrong, " of ", want.size(),
                      " elements disagree)");
}

}  // namespace sinter::numerics
