#include "sinter/frontend/graph/number_bounds.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sinter {

std::string OutOfBounds(std::string_view what, double value, const NumberBounds& bounds) {
  const auto [low, above, high, below] = bounds;
  if (std::isfinite(value) && (!low || value >= *low) && (!above || value > *above) &&
      (!high || value <= *high) && (!below || value < *below)) {
    return "";
  }
  std::vector<std::string> says;
  if (low) says.push_back(absl::StrCat("of at least ", *low));
  if (above) says.push_back(absl::StrCat("above ", *above));
  if (high) says.push_back(absl::StrCat("at most ", *high));
  if (below) says.push_back(absl::StrCat("below ", *below));
  if (says.empty()) says.push_back("that is finite");
  return absl::StrCat("needs ", std::string(what), " ", absl::StrJoin(says, " and "), ", got ", value);
}

}  // namespace sinter
