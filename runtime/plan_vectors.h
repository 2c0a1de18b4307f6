// Vectors of a plan file: FlatBuffers leaves out those that are empty.
//
//   for (size_t i = 0; i < SizeOrZero(function.steps()); ++i) ...
#ifndef SINTER_RUNTIME_PLAN_VECTORS_H_
#define SINTER_RUNTIME_PLAN_VECTORS_H_

#include <cstdint>

namespace sinter {

// Of a flatbuffers::Vector, or of none.
template <typename Vector>
uint32_t SizeOrZero(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_VECTORS_H_
