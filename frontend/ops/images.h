// Convolutions, pools and other functions of images [N, C, H, W], signals [N, C, L] and volumes [N, C, D, H,
// W].
//
//   Tensor y = AvgPool2d(Conv2d(x, weights, {.padding = {1, 1, 1, 1}}), {2, 2});
//
// Sizes of two numbers are height and width; padding is top, bottom, left, right. Volumes have a depth in
// front of both, and its padding comes first. ops.h includes this header.
#ifndef SINTER_FRONTEND_OPS_IMAGES_H_
#define SINTER_FRONTEND_OPS_IMAGES_H_

#include <array>
#include <cstdint>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// The arithmetic of products of f32.
enum class MathMode { kIeee, kTf32, kBf16x3 };

// Weights are [C_out, C_in / groups, kh, kw].
struct Conv2dOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 4> padding = {0, 0, 0, 0};
  std::array<int64_t, 2> dilations = {1, 1};
  int64_t groups = 1;
  MathMode math = MathMode::kIeee;
};
Tensor Conv2d(const Tensor& x, const Tensor& weights, const Conv2dOptions& options = {},
              Where where = Where::current());
// The transposed convolution: the gradient of Conv2d towards its images, whose sizes are (H - 1) * stride +
// dilation * (kh - 1) + 1 + output_padding - padding. Weights are [C_in, C_out / groups, kh, kw].
struct ConvTranspose2dOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 4> padding = {0, 0, 0, 0};
  std::array<int64_t, 2> output_padding = {0, 0};  // Below the stride: rows and columns at the end.
  std::array<int64_t, 2> dilations = {1, 1};
  int64_t groups = 1;
  MathMode math = MathMode::kIeee;
};
Tensor ConvTranspose2d(const Tensor& x, const Tensor& weights, const ConvTranspose2dOptions& options = {},
                       Where where = Where::current());
// The same for signals: weights are [C_out, C_in / groups, k], or transposed [C_in, C_out / groups, k].
struct Conv1dOptions {
  int64_t stride = 1;
  std::array<int64_t, 2> padding = {0, 0};
  int64_t dilation = 1;
  int64_t groups = 1;
  MathMode math = MathMode::kIeee;
};
Tensor Conv1d(const Tensor& x, const Tensor& weights, const Conv1dOptions& options = {},
              Where where = Where::current());
struct ConvTranspose1dOptions {
  int64_t stride = 1;
  std::array<int64_t, 2> padding = {0, 0};
  int64_t output_padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  MathMode math = MathMode::kIeee;
};
Tensor ConvTranspose1d(const Tensor& x, const Tensor& weights, const ConvTranspose1dOptions& options = {},
                       Where where = Where::current());

// The same for volumes: weights are [C_out, C_in / groups, kd, kh, kw], or transposed [C_in, C_out / groups,
// kd, kh, kw]. Both are convolutions of images whose channels hold the window's depth: a copy of kd times the
// volume where kd is above 1.
struct Conv3dOptions {
  std::array<int64_t, 3> strides = {1, 1, 1};
  std::array<int64_t, 6> padding = {0, 0, 0, 0, 0, 0};
  std::array<int64_t, 3> dilations = {1, 1, 1};
  int64_t groups = 1;
  MathMode math = MathMode::kIeee;
};
Tensor Conv3d(const Tensor& x, const Tensor& weights, const Conv3dOptions& options = {},
              Where where = Where::current());
struct ConvTranspose3dOptions {
  std::array<int64_t, 3> strides = {1, 1, 1};
  std::array<int64_t, 6> padding = {0, 0, 0, 0, 0, 0};
  std::array<int64_t, 3> output_padding = {0, 0, 0};
  std::array<int64_t, 3> dilations = {1, 1, 1};
  int64_t groups = 1;
  MathMode math = MathMode::kIeee;
};
Tensor ConvTranspose3d(const Tensor& x, const Tensor& weights, const ConvTranspose3dOptions& options = {},
                       Where where = Where::current());

// The windows of a convolution: Unfold gives [N, C * kh * kw, windows], Fold adds them up to images [N, C,
// H, W] again.
struct UnfoldOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 4> padding = {0, 0, 0, 0};
  std::array<int64_t, 2> dilations = {1, 1};
};
Tensor Unfold(const Tensor& x, std::array<int64_t, 2> window, const UnfoldOptions& options = {},
              Where where = Where::current());
Tensor Fold(const Tensor& x, std::array<int64_t, 2> image, std::array<int64_t, 2> window,
            const UnfoldOptions& options = {}, Where where = Where::current());

// Windows that do not fit into the padded image are dropped; with ceil_mode, those that begin in the image
// or in the padding in front of it are kept. Strides of 0 mean the window's size. A mean counts padding as
// zeros; without count_include_pad it counts pixels alone. What ceil_mode adds never counts. The gradient of
// MaxPool2d has no gradient of its own: a second derivative through it is an error.
struct Pool2dOptions {
  std::array<int64_t, 2> strides = {0, 0};
  std::array<int64_t, 4> padding = {0, 0, 0, 0};
  bool ceil_mode = false;
  bool count_include_pad = true;  // False: a mean counts pixels alone.
};
Tensor MaxPool2d(const Tensor& x, std::array<int64_t, 2> window, const Pool2dOptions& options = {},
                 Where where = Where::current());
Tensor AvgPool2d(const Tensor& x, std::array<int64_t, 2> window, const Pool2dOptions& options = {},
                 Where where = Where::current());
struct Pool1dOptions {
  int64_t stride = 0;
  std::array<int64_t, 2> padding = {0, 0};
  bool ceil_mode = false;
  bool count_include_pad = true;
};
Tensor MaxPool1d(const Tensor& x, int64_t window, const Pool1dOptions& options = {},
                 Where where = Where::current());
Tensor AvgPool1d(const Tensor& x, int64_t window, const Pool1dOptions& options = {},
                 Where where = Where::current());
struct Pool3dOptions {
  std::array<int64_t, 3> strides = {0, 0, 0};
  std::array<int64_t, 6> padding = {0, 0, 0, 0, 0, 0};
  bool ceil_mode = false;
  bool count_include_pad = true;
};
Tensor MaxPool3d(const Tensor& x, std::array<int64_t, 3> window, const Pool3dOptions& options = {},
                 Where where = Where::current());
Tensor AvgPool3d(const Tensor& x, std::array<int64_t, 3> window, const Pool3dOptions& options = {},
                 Where where = Where::current());
// Pools to images of this size: window i of n in a dimension of H is from floor(i * H / n) to ceil((i + 1) *
// H / n). The same for signals and for volumes.
Tensor AdaptiveAvgPool2d(const Tensor& x, std::array<int64_t, 2> size, Where where = Where::current());
Tensor AdaptiveMaxPool2d(const Tensor& x, std::array<int64_t, 2> size, Where where = Where::current());
Tensor AdaptiveAvgPool1d(const Tensor& x, int64_t size, Where where = Where::current());
Tensor AdaptiveMaxPool1d(const Tensor& x, int64_t size, Where where = Where::current());
Tensor AdaptiveAvgPool3d(const Tensor& x, std::array<int64_t, 3> size, Where where = Where::current());
Tensor AdaptiveMaxPool3d(const Tensor& x, std::array<int64_t, 3> size, Where where = Where::current());

// Other sizes. Pixel i of n lies at (i + 1/2) H / n - 1/2 of a dimension of H, or with align_corners at i (H
// - 1) / (n - 1). kNearest takes pixel floor(i * H / n). kBilinear and kBicubic (with a = -0.75) weigh 2 and
// 4 pixels in each dimension; those outside count as those at the edge. Nothing is smoothed in front, so a
// much smaller result skips pixels. The same for signals and volumes.
enum class Interpolation { kNearest, kBilinear, kBicubic };
struct ResizeOptions {
  Interpolation interpolation = Interpolation::kBilinear;
  bool align_corners = false;
};
Tensor Resize(const Tensor& x, std::array<int64_t, 2> size, const ResizeOptions& options = {},
              Where where = Where::current());
Tensor Resize1d(const Tensor& x, int64_t size, const ResizeOptions& options = {},
                Where where = Where::current());
Tensor Resize3d(const Tensor& x, std::array<int64_t, 3> size, const ResizeOptions& options = {},
                Where where = Where::current());

// [N, C * r * r, H, W] to [N, C, H * r, W * r] (Shi et al., arXiv 1609.05158), and back.
Tensor PixelShuffle(const Tensor& x, int64_t factor, Where where = Where::current());
Tensor PixelUnshuffle(const Tensor& x, int64_t factor, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_IMAGES_H_
