// A byte range of one device's memory that a step reads or writes; ranges may overlap.
//
//   RangeOf(*function.buffers()->Get(a)).Overlaps(RangeOf(*function.buffers()->Get(b)))
#ifndef SINTER_RUNTIME_PLAN_BUFFER_RANGE_H_
#define SINTER_RUNTIME_PLAN_BUFFER_RANGE_H_

#include <cstdint>

#include "runtime/plan_generated.h"

namespace sinter {

// A range of the arena, of a variable, or of the device's copy of an input. Constants are never written.
struct BufferRange {
  fb::Space space;
  uint32_t index;
  uint64_t begin, end;

  bool Overlaps(const BufferRange& other) const {
    return space == other.space && index == other.index && begin < other.end && other.begin < end;
  }
};

inline BufferRange RangeOf(const fb::Buffer& buffer) {
  const bool has_index = buffer.space() == fb::Space::Variable || buffer.space() == fb::Space::Input;
  return {buffer.space(), has_index ? buffer.index() : 0, buffer.offset(), buffer.offset() + buffer.bytes()};
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_BUFFER_RANGE_H_
