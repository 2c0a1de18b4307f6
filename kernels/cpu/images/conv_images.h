// Images in the form that the tiled convolutions read: channels last, with padding around them.
//
//   const Frame frame = FrameOfInput(conv);
//   const float* images = ImagesOf<E>(x, conv, frame, workspace, parallel);
//   images[n * frame.image() + (y * frame.columns + x) * frame.channels + c]
#ifndef SINTER_KERNELS_CPU_IMAGES_CONV_IMAGES_H_
#define SINTER_KERNELS_CPU_IMAGES_CONV_IMAGES_H_

#include <cstdint>
#include <cstring>

#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/kernels/cpu/matmul/matmul_panels.h"
#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

// Rows [top, top + rows) and columns [left, left + columns) of images; values outside the images are zero.
struct Frame {
  int64_t height = 0, width = 0, channels = 0;  // Size of the images.
  int64_t top = 0, left = 0, rows = 0, columns = 0;

  // Elements from one row, or one image, of the frame to the next.
  int64_t row() const { return columns * channels; }
  int64_t image() const { return rows * row(); }
  bool IsWhole() const { return top == 0 && left == 0 && rows == height && columns == width; }
};

// Copies images to frames [batch, rows, columns, channels] of the compute type.
template <typename E>
void CopyImages(const typename E::Storage* from, int64_t batch, bool channels_last, const Frame& f,
                typename E::Compute* to, const Parallel& parallel) {
  using C = typename E::Compute;
  const int64_t plane = f.height * f.width, first = Most(f.left, 0);
  const int64_t count = Most(Least(f.left + f.columns, f.width) - first, 0);
  parallel.For(batch * f.rows, 1 + (1 << 14) / (f.row() + 1), [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t n = unit / f.rows, y = unit % f.rows + f.top;
      C* const row = to + unit * f.row();
      if (y < 0 || y >= f.height || count == 0) {
        std::memset(row, 0, static_cast<size_t>(f.row()) * sizeof(C));
        continue;
      }
      C* const inner = row + (first - f.left) * f.channels;
      std::memset(row, 0, static_cast<size_t>(inner - row) * sizeof(C));
      C* const after = inner + count * f.channels;
      std::memset(after, 0, static_cast<size_t>(row + f.row() - after) * sizeof(C));
      const auto* const image = from + n * plane * f.channels;
      if (channels_last) {
        ConvertRow<E>(image + (y * f.width + first) * f.channels, count * f.channels, inner);
      } else {
        PackTransposed<E>(image + y * f.width + first, plane, f.channels, count, inner, f.channels);
      }
    }
  });
}

// Returns the frame of the input images that contains all windows of the result.
inline Frame FrameOfInput(const Conv& c) {
  Frame f = {
      .height = c.in_h, .width = c.in_w, .channels = c.in_channels, .top = -c.pad_top, .left = -c.pad_left};
  f.rows = (c.out_h - 1) * c.stride_h + (c.kernel_h - 1) * c.dilation_h + 1;
  f.columns = (c.out_w - 1) * c.stride_w + (c.kernel_w - 1) * c.dilation_w + 1;
  // If no window reaches outside the images, the whole images are the frame, so that no copy is needed, even
  // if the windows leave out a border.
  if (f.top == 0 && f.left == 0 && f.rows <= f.height && f.columns <= f.width)
    f.rows = f.height, f.columns = f.width;
  return f;
}

// Returns the frame of the result's gradient that contains all pixels to which an input pixel contributes.
inline Frame FrameOfGradient(const Conv& c) {
  const auto first = [](int64_t pad, int64_t kernel, int64_t dilation, int64_t stride) {
    const int64_t place = pad - (kernel - 1) * dilation;
    return place >= 0 ? place / stride : -CeilDiv(-place, stride);
  };
  const int64_t top = first(c.pad_top, c.kernel_h, c.dilation_h, c.stride_h);
  const int64_t left = first(c.pad_left, c.kernel_w, c.dilation_w, c.stride_w);
  return {.height = c.out_h,
          .width = c.out_w,
          .channels = c.out_channels,
          .top = top,
          .left = left,
          .rows = (c.in_h - 1 + c.pad_top) / c.stride_h - top + 1,
          .columns = (c.in_w - 1 + c.pad_left) / c.stride_w - left + 1};
}

// Returns the images of a frame: the originals if they have the right form, else a copy in `to`.
template <typename E>
const typename E::Compute* ImagesOf(const void* images, const Conv& c, const Frame& f, void* to,
                                    const Parallel& parallel) {
  using S = typename E::Storage;
  using C = typename E::Compute;
  if constexpr (sizeof(S) == sizeof(C)) {
    if (c.channels_last && f.IsWhole()) return static_cast<const C*>(images);
  }
  CopyImages<E>(static_cast<const S*>(images), c.batch, c.channels_last, f, static_cast<C*>(to), parallel);
  return static_cast<const C*>(to);
}

// Bytes that ImagesOf needs at `to`; a multiple of 64.
template <typename E>
size_t ImagesBytes(const Conv& c, const Frame& f) {
  const bool in_place =
      sizeof(typename E::Storage) == sizeof(typename E::Compute) && c.channels_last && f.IsWhole();
  if (in_place) return 0;
  const size_t bytes = static_cast<size_t>(c.batch * f.image()) * sizeof(typename E::Compute);
  return (bytes + 63) / 64 * 64;
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_CONV_IMAGES_H_
