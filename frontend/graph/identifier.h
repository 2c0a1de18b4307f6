// IsIdentifier: true for names of the form that C++ has, in ASCII.
//
//   IsIdentifier("data_2")                 // True.
//   IsIdentifier("2d")                     // False: begins with a digit.
#ifndef SINTER_FRONTEND_GRAPH_IDENTIFIER_H_
#define SINTER_FRONTEND_GRAPH_IDENTIFIER_H_

#include <algorithm>
#include <string_view>

namespace sinter {

inline bool IsIdentifier(std::string_view name) {
  const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_IDENTIFIER_H_
