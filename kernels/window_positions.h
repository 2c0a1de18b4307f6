// The one formula of the sizes of convolutions and pools.
//
//   WindowPositions(28, 1, 1, WindowExtent(3, 1), 1) == 28   // 3 taps, padding of 1.
//
// Source: V. Dumoulin and F. Visin, "A guide to convolution arithmetic for deep learning", 2016, relationship
// 15.
#ifndef SINTER_KERNELS_WINDOW_POSITIONS_H_
#define SINTER_KERNELS_WINDOW_POSITIONS_H_

#include <stdint.h>

namespace sinter::kernels {

// Rows or columns that a window of `taps` covers.
constexpr int64_t WindowExtent(int64_t taps, int64_t dilation) { return dilation * (taps - 1) + 1; }

// Number of positions of a window of `extent` along a dimension of `size`, padded by `before` and `after`. A
// window that sticks out at the end is dropped; 0 if none fits. The sums must fit 64 bits.
constexpr int64_t WindowPositions(int64_t size, int64_t before, int64_t after, int64_t extent,
                                  int64_t stride) {
  const int64_t room = size + before + after - extent;
  return room < 0 ? 0 : room / stride + 1;
}

static_assert(WindowPositions(224, 3, 3, WindowExtent(7, 1), 2) == 112);
static_assert(WindowPositions(5, 0, 0, WindowExtent(3, 2), 1) == 1);
static_assert(WindowPositions(4, 0, 0, WindowExtent(3, 2), 1) == 0);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_WINDOW_POSITIONS_H_
