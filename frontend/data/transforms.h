// Common batch transforms: 8-bit pixels to f32, 8-bit labels to i32.
//
//   // u8 [n, 28, 28] -> f32 [n, 784]
//   options.transforms = {ScaleToF32(1 / 255.0f, 0, {784}), WidenToI32()};
#ifndef SINTER_FRONTEND_DATA_TRANSFORMS_H_
#define SINTER_FRONTEND_DATA_TRANSFORMS_H_

#include <cstdint>
#include <vector>

#include "sinter/frontend/data/batches.h"

namespace sinter {

// u8 -> f32: x * scale + shift. `example_shape`, if not empty, is the new shape of an example, with the same
// number of elements, such as {1, 28, 28}. InvalidArgument for another element type or number of elements.
BatchTransform ScaleToF32(float scale, float shift = 0, std::vector<int64_t> example_shape = {});

// u8 -> i32, values unchanged.
BatchTransform WidenToI32();

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_TRANSFORMS_H_
