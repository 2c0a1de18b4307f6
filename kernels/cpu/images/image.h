// Helpers of convolutions and pools: image strides, and the output positions that a tap reaches.
//
//   Range range = TapRange(out_w, in_w, stride, tap * dilation - padding);
//   for (int64_t o = range.begin; o < range.end; ++o) Use(in[o * stride + tap * dilation - padding]);
#ifndef SINTER_KERNELS_CPU_IMAGES_IMAGE_H_
#define SINTER_KERNELS_CPU_IMAGES_IMAGE_H_

#include <cstdint>

namespace sinter::kernels {

// Elements from one image, channel, row or column to the next.
struct ImageStrides {
  int64_t image, channel, row, column;
};

inline ImageStrides StridesOf(bool channels_last, int64_t channels, int64_t height, int64_t width) {
  if (channels_last) return {channels * height * width, 1, width * channels, channels};
  return {channels * height * width, height * width, width, 1};
}

struct Range {
  int64_t begin, end;
};

// Returns the output positions o in [0, out) whose input position o * stride + shift is in [0, in).
inline Range TapRange(int64_t out, int64_t in, int64_t stride, int64_t shift) {
  Range range = {shift >= 0 ? 0 : (-shift + stride - 1) / stride, 0};
  const int64_t room = in - shift;  // o * stride < room.
  range.end = room <= 0 ? 0 : (room + stride - 1) / stride;
  if (range.end > out) range.end = out;
  if (range.end < range.begin) range.end = range.begin;
  return range;
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_IMAGE_H_
