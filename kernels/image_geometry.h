// Sizes of convolutions and poolings: one description for builder, compiler, runtime and kernels.
//
//   WindowPositions(28, 1, 1, WindowExtent(3, 1), 1) == 28   // 3 taps, padding of 1.
//
// Source: V. Dumoulin and F. Visin, "A guide to convolution arithmetic for deep learning", 2016, relationship
// 15.
#ifndef SINTER_KERNELS_IMAGE_GEOMETRY_H_
#define SINTER_KERNELS_IMAGE_GEOMETRY_H_

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

// A convolution of images [batch, in_channels, in_h, in_w] with weights [out_channels, in_channels / groups,
// kernel_h, kernel_w] to [batch, out_channels, out_h, out_w]. A gradient has the geometry of its forward
// convolution.
struct ConvGeometry {
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0, dilation_h = 1, dilation_w = 1;
  int64_t pad_bottom = 0, pad_right = 0;

  constexpr int64_t taps() const { return kernel_h * kernel_w; }
  constexpr int64_t group_channels() const { return in_channels / groups; }
  constexpr int64_t out_pixels() const { return out_h * out_w; }
  constexpr int64_t padded_h() const { return in_h + pad_top + pad_bottom; }
  constexpr int64_t padded_w() const { return in_w + pad_left + pad_right; }
  constexpr int64_t padded_plane() const { return padded_h() * padded_w(); }
  // Elements of the images, the result and the weights.
  constexpr int64_t image_elements() const { return batch * in_channels * in_h * in_w; }
  constexpr int64_t result_elements() const { return batch * out_channels * out_pixels(); }
  constexpr int64_t weight_elements() const { return out_channels * group_channels() * taps(); }
  constexpr double flops() const {
    return 2.0 * static_cast<double>(result_elements()) * static_cast<double>(group_channels() * taps());
  }
};

static_assert(WindowPositions(224, 3, 3, WindowExtent(7, 1), 2) == 112);
static_assert(WindowPositions(5, 0, 0, WindowExtent(3, 2), 1) == 1);
static_assert(WindowPositions(4, 0, 0, WindowExtent(3, 2), 1) == 0);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_IMAGE_GEOMETRY_H_
