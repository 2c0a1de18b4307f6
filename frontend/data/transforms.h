// What most batches need before a step can take them: 8-bit pixels as f32, 8-bit labels as i32.
//
//   options.transforms = {ScaleToF32(1 / 255.0f, 0, {784}), WidenToI32()};   // u8 [n, 28, 28] -> f32 [n, 784]
#ifndef SINTER_FRONTEND_DATA_TRANSFORMS_H_
#define SINTER_FRONTEND_DATA_TRANSFORMS_H_

#include <cstdint>
#include <vector>

#include "sinter/frontend/data/batches.h"

namespace sinter {

// u8 -> f32: x * scale + shift. `example_shape` gives each example another shape of as many elements, such as
// {1, 28, 28}; empty keeps it. InvalidArgument for other element types or numbers of elements.
BatchTransform ScaleToF32(float scale, float shift = 0, std::vector<int64_t> example_shape = {});

// u8 -> i32, values kept.
BatchTransform WidenToI32();

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_TRANSFORMS_H_
