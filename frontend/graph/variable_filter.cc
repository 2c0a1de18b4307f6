#include "sinter/frontend/graph/variable_filter.h"

#include <algorithm>

namespace sinter {

namespace {

// Matches with backtracking to the last '*'.
bool Fits(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, after_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

VariableFilter Glob(std::string_view pattern) {
  return [pattern = std::string(pattern)](const Variable& v) { return Fits(pattern, v.name()); };
}

VariableFilter RankBelow(int64_t rank) {
  return [rank](const Variable& v) { return static_cast<int64_t>(v.shape().size()) < rank; };
}

VariableFilter Among(const std::vector<Variable>& variables) {
  return [variables](const Variable& v) {
    return std::ranges::any_of(variables, [&](const Variable& other) {
      return other.graph() == v.graph() && other.name() == v.name();
    });
  };
}

}  // namespace sinter
