// Images sampled at places that are tensors, and pools whose places can be undone.
//
//   Tensor grid = AffineGrid(theta, {32, 32});           // A spatial transformer (arXiv 1506.02025).
//   Tensor moved = GridSample(images, grid);
//
// Images are floats [N, C, H, W], signals [N, C, L] and volumes [N, C, D, H, W].
#ifndef SINTER_FRONTEND_OPS_SAMPLING_H_
#define SINTER_FRONTEND_OPS_SAMPLING_H_

#include <array>
#include <cstdint>

#include "sinter/frontend/ops/images.h"

namespace sinter {

// The places of the pixels of images of this size under the affine maps theta [N, 2, 3]: [N, H, W, 2], x
// before y. The image's corners are -1 and 1: the centres of the corner pixels with align_corners, else their
// outer edges.
Tensor AffineGrid(const Tensor& theta, std::array<int64_t, 2> size, bool align_corners = false,
                  Where where = Where::current());
// The same for volumes: theta [N, 3, 4] gives [N, D, H, W, 3], x before y before z.
Tensor AffineGrid3d(const Tensor& theta, std::array<int64_t, 3> size, bool align_corners = false,
                    Where where = Where::current());

// Values outside of an image: zeros, the pixels at the edge, or the image mirrored at its edges (at the
// centres of the edge pixels with align_corners).
enum class OutsidePixels { kZeros, kBorder, kReflection };
struct GridSampleOptions {
  Interpolation interpolation = Interpolation::kBilinear;  // Or kNearest, ties to even.
  OutsidePixels outside = OutsidePixels::kZeros;
  bool align_corners = false;
};
// The image at the places of a grid [N, H', W', 2], as of AffineGrid: [N, C, H', W']. Gradients flow to the
// image and, for kBilinear, to the grid. Volumes have a grid [N, D', H', W', 3], as of AffineGrid3d.
Tensor GridSample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {},
                  Where where = Where::current());

// MaxPool2d and the places of the largest pixels, i32 of the result's shape: y * W + x in the image. Makes
// every window, so it takes memory for the windows' elements. The same for signals, whose places are those
// along L, and for volumes, with (z * H + y) * W + x.
struct MaxPoolPlaces {
  Tensor values, places;
};
MaxPoolPlaces MaxPool2dWithPlaces(const Tensor& x, std::array<int64_t, 2> window,
                                  const Pool2dOptions& options = {}, Where where = Where::current());
MaxPoolPlaces MaxPool1dWithPlaces(const Tensor& x, int64_t window, const Pool1dOptions& options = {},
                                  Where where = Where::current());
MaxPoolPlaces MaxPool3dWithPlaces(const Tensor& x, std::array<int64_t, 3> window,
                                  const Pool3dOptions& options = {}, Where where = Where::current());
// Puts the elements of x [N, C, h, w] at their places, i32 or i64 of its shape, in images of this size, among
// zeros. Elements at one place are averaged: those of overlapping windows are equal. The same for signals
// and for volumes.
Tensor MaxUnpool2d(const Tensor& x, const Tensor& places, std::array<int64_t, 2> size,
                   Where where = Where::current());
Tensor MaxUnpool1d(const Tensor& x, const Tensor& places, int64_t size, Where where = Where::current());
Tensor MaxUnpool3d(const Tensor& x, const Tensor& places, std::array<int64_t, 3> size,
                   Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_SAMPLING_H_
