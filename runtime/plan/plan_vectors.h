// Null-safe access to the vectors and strings of a plan file, where FlatBuffers omits empty ones.
//
//   for (size_t i = 0; i < SizeOrZero(function.steps()); ++i) ...
#ifndef SINTER_RUNTIME_PLAN_PLAN_VECTORS_H_
#define SINTER_RUNTIME_PLAN_PLAN_VECTORS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "flatbuffers/string.h"

namespace sinter {

// Size of a flatbuffers::Vector; 0 if null.
template <typename Vector>
uint32_t SizeOrZero(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

inline std::string_view View(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}
inline std::string Text(const flatbuffers::String* text) { return std::string(View(text)); }

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_VECTORS_H_
