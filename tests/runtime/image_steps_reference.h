// Simple f64 loops of convolution and pooling for images in either layout, as a reference.
#ifndef SINTER_TESTS_RUNTIME_IMAGE_STEPS_REFERENCE_H_
#define SINTER_TESTS_RUNTIME_IMAGE_STEPS_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "runtime/plan_generated.h"

namespace sinter {

struct ImageIndex {
  bool channels_last;
  int64_t channels, height, width;
  size_t operator()(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return static_cast<size_t>(channels_last ? ((n * height + y) * width + x) * channels + c
                                             : ((n * channels + c) * height + y) * width + x);
  }
};

// Calls f(x, y, w) with offsets: once for each product x[..] * w[..] that is a term of y[..].
template <typename Table, typename F>
void ForConvProducts(const Table& s, F&& f) {
  const bool last = s.layout == fb::ImageLayout::Nhwc;
  const ImageIndex in{last, s.in_channels, s.in_size[0], s.in_size[1]};
  const ImageIndex out{last, s.out_channels, s.out_size[0], s.out_size[1]};
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oc = 0; oc < s.out_channels; ++oc)
      for (int64_t oy = 0; oy < s.out_size[0]; ++oy)
        for (int64_t ox = 0; ox < s.out_size[1]; ++ox)
          for (int64_t i = 0; i < group_in; ++i)
            for (int64_t ky = 0; ky < s.kernel[0]; ++ky)
              for (int64_t kx = 0; kx < s.kernel[1]; ++kx) {
                const int64_t iy = oy * s.strides[0] + ky * s.dilations[0] - s.padding[0];
                const int64_t ix = ox * s.strides[1] + kx * s.dilations[1] - s.padding[2];
                if (iy < 0 || ix < 0 || iy >= s.in_size[0] || ix >= s.in_size[1]) continue;
                f(in(n, oc / group_out * group_in + i, iy, ix), out(n, oc, oy, ox),
                  static_cast<size_t>(((oc * group_in + i) * s.kernel[0] + ky) * s.kernel[1] + kx));
              }
}

// Calls f(x, y, position) for each element x[..] in the window of y[..], in row-major order of the positions.
template <typename Table, typename F>
void ForPoolElements(const Table& s, F&& f) {
  const bool last = s.layout == fb::ImageLayout::Nhwc;
  const ImageIndex in{last, s.channels, s.in_size[0], s.in_size[1]};
  const ImageIndex out{last, s.channels, s.out_size[0], s.out_size[1]};
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t oy = 0; oy < s.out_size[0]; ++oy)
        for (int64_t ox = 0; ox < s.out_size[1]; ++ox)
          for (int64_t ky = 0; ky < s.window[0]; ++ky)
            for (int64_t kx = 0; kx < s.window[1]; ++kx) {
              const int64_t iy = oy * s.strides[0] + ky - s.padding[0],
                            ix = ox * s.strides[1] + kx - s.padding[2];
              if (iy < 0 || ix < 0 || iy >= s.in_size[0] || ix >= s.in_size[1]) continue;
              f(in(n, c, iy, ix), out(n, c, oy, ox), ky * s.window[1] + kx);
            }
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_IMAGE_STEPS_REFERENCE_H_
