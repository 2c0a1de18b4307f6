#include "sinter/frontend/ops/sampling.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/window_checks.h"
#include "sinter/ir/dialect/shape_checks.h"

namespace sinter {
namespace {

// The places of the pixels of a dimension, between -1 and 1.
Tensor PixelPlaces(Builder& b, int64_t size, DType dtype, bool align_corners) {
  const Tensor i = Cast(b.Iota(I32, {size}), dtype);
  const auto n = static_cast<double>(size);
  if (align_corners) return size == 1 ? i * 0.0 : i * (2 / (n - 1)) - 1.0;
  return (i * 2.0 + 1.0) * (1 / n) - 1.0;
}

// x mirrored at low and high until it is between them.
Tensor Mirrored(const Tensor& x, double low, double high) {
  if (high <= low) return x * 0.0 + low;
  const double span = high - low;
  const Tensor turn = Mod(x - low, 2 * span);
  return Select(turn > span, 2 * span - turn, turn) + low;
}

// Returns places between -1 and 1 as pixels of a dimension of this size.
Tensor PixelsOf(const Tensor& place, int64_t size, const GridSampleOptions& o) {
  const auto n = static_cast<double>(size);
  const Tensor pixel = o.align_corners ? (place + 1.0) * ((n - 1) / 2) : (place + 1.0) * (n / 2) - 0.5;
  switch (o.outside) {
    case OutsidePixels::kZeros:
      // Farther away there are only zeros too.
      return Clamp(pixel, -2, n + 1);
    case OutsidePixels::kBorder:
      return Clamp(pixel, 0, n - 1);
    case OutsidePixels::kReflection:
      return Clamp(o.align_corners ? Mirrored(pixel, 0, n - 1) : Mirrored(pixel, -0.5, n - 0.5), 0, n - 1);
  }
  return pixel;
}

// The images [N, C, H * W] at whole pixels, floats [N, 1, P] of x, y and so on: [N, C, P], and zeros outside.
// `sizes` are those of the images, W first.
Tensor At(const Tensor& images, const std::vector<Tensor>& pixels, const Shape& sizes) {
  Tensor is_inside, at;
  for (size_t d = sizes.size(); d-- > 0;) {
    const auto last = static_cast<double>(sizes[d] - 1);
    const Tensor inside = pixels[d] >= 0.0 && pixels[d] <= last;
    is_inside = is_inside.ok() ? inside && is_inside : inside;
    const Tensor pixel = Cast(Clamp(pixels[d], 0, last), I32);
    at = at.ok() ? at * sizes[d] + pixel : pixel;
  }
  const Shape shape = {images.dim(0), images.dim(1), at.dim(2)};
  return Select(is_inside, TakeAlong(images, BroadcastTo(at, shape), 2), 0.0);
}

// Returns images or volumes at the places of the grid: [N, C, P].
Tensor Sampled(const Tensor& x, const Tensor& grid, const GridSampleOptions& o) {
  Shape sizes = SpatialSizes(x);
  const int64_t batch = x.dim(0),
                area = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  std::reverse(sizes.begin(), sizes.end());
  const auto count = static_cast<int64_t>(sizes.size());
  const Tensor images = Reshape(x, {batch, x.dim(1), area});
  const Tensor places = Reshape(grid, {batch, 1, grid.size() / (batch * count), count});
  std::vector<Tensor> pixels, lows, beyond;  // The third are the weights of the pixels beyond.
  for (int64_t d = 0; d < count; ++d) {
    const Tensor pixel = PixelsOf(places[{Ellipsis, d}], sizes[static_cast<size_t>(d)], o);
    pixels.push_back(o.interpolation == Interpolation::kNearest ? Round(pixel) : pixel);
    lows.push_back(Floor(pixel));
    beyond.push_back(pixel - lows.back());
  }
  if (o.interpolation == Interpolation::kNearest) return At(images, pixels, sizes);
  Tensor sum;
  for (int64_t corner = 0; corner < int64_t{1} << count; ++corner) {
    Tensor weight;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool is_beyond = (corner >> d & 1) != 0;
      pixels[d] = is_beyond ? lows[d] + 1.0 : lows[d];
      const Tensor part = is_beyond ? beyond[d] : 1.0 - beyond[d];
      weight = d == 0 ? part : weight * part;
    }
    const Tensor part = At(images, pixels, sizes) * weight;
    sum = corner == 0 ? part : sum + part;
  }
  return sum;
}

// Returns the places of affine maps theta [N, d, d + 1] for d sizes.
Tensor AffinePlaces(const char* name, const Tensor& theta, const Shape& sizes, bool align_corners,
                    Where where) {
  CompositeCall call(name, where, {theta});
  if (!call.ok()) return {};
  const auto count = static_cast<int64_t>(sizes.size());
  if (!IsFloat(theta.dtype()) || theta.rank() != 3 || theta.dim(1) != count || theta.dim(2) != count + 1) {
    return call.Fail(absl::StrCat("takes floats [N, ", count, ", ", count + 1, "]"));
  }
  if (std::ranges::min(sizes) < 1) {
    return call.Fail(absl::StrCat("makes a grid of ", absl::StrJoin(sizes, "x"), "; expected ",
                                  absl::StrJoin(Shape(sizes.size(), 1), "x"), " or more"));
  }
  Builder b(theta.function());
  std::vector<Tensor> axes;  // The last dimension first.
  for (int64_t d = 0; d < count; ++d) {
    const int64_t size = sizes[static_cast<size_t>(count - 1 - d)];
    Shape along(static_cast<size_t>(d) + 1, 1);
    along[0] = size;
    axes.push_back(Reshape(PixelPlaces(b, size, theta.dtype(), align_corners), along));
  }
  std::vector<Tensor> coordinates;
  for (int64_t d = 0; d < count; ++d) {
    Shape spread(sizes.size() + 1, 1);
    spread[0] = theta.dim(0);
    const auto factor = [&](int64_t i) { return Reshape(theta[{Range{}, d, i}], spread); };
    Tensor sum = factor(0) * axes[0];
    for (int64_t i = 1; i < count; ++i) sum = sum + factor(i) * axes[static_cast<size_t>(i)];
    coordinates.push_back(sum + factor(count));
  }
  return Stack(coordinates, -1);
}

double LowestOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::numeric_limits<double>::lowest();
    case DType::kF16:
      return -65504;
    case DType::kBf16:
      return -0x1.fep127;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

// The places of the largest elements of the windows of x, at positions [N, C, h, w].
Tensor PlacesOf(const Tensor& x, std::array<int64_t, 2> window, std::array<int64_t, 2> strides,
                const std::array<int64_t, 4>& padding, const Shape& result) {
  const Tensor padded =
      Pad(x, {0, 0, padding[0], padding[2]}, {0, 0, padding[1], padding[3]}, LowestOf(x.dtype()));
  const Tensor windows = Reshape(Unfold(padded, window, {.strides = strides}),
                                 {x.dim(0), x.dim(1), window[0] * window[1], result[2], result[3]});
  const Tensor largest = ArgMax(windows, 2);
  Builder b(x.function());
  const Tensor row = largest / window[1], column = Rem(largest, window[1]);
  const Tensor y = b.Iota(I32, result, 2) * strides[0] - padding[0] + row;
  return y * x.dim(3) + b.Iota(I32, result, 3) * strides[1] - padding[2] + column;
}

// Puts elements at their places in signals, images or volumes of this size.
Tensor Unpooled(const char* name, const Tensor& x, const Tensor& places, const Shape& size, Where where) {
  CompositeCall call(name, where, {x, places});
  if (!call.ok()) return {};
  const SpatialKind& kind = SpatialKindOf(size.size());
  if (!IsFloat(x.dtype()) || x.shape().size() != size.size() + 2) {
    return call.Fail(absl::StrCat("takes float ", kind.name, " ", kind.shape));
  }
  if ((places.dtype() != DType::kI32 && places.dtype() != DType::kI64) || places.shape() != x.shape()) {
    return call.Fail(absl::StrCat("takes places of type ", TypeString(I32, x.shape())));
  }
  int64_t area = 1;
  for (const int64_t n : size) {
    if (n < 1) {
      return call.Fail(absl::StrCat("makes ", kind.name, " of ", absl::StrJoin(size, "x"), "; expected ",
                                    absl::StrJoin(Shape(size.size(), 1), "x"), " or more"));
    }
    area = ir::MultiplySizes(area, n);
  }
  Shape result = {x.dim(0), x.dim(1)};
  result.insert(result.end(), size.begin(), size.end());
  Builder b(x.function());
  const Tensor zeros = Flatten(b.Zeros(x.dtype(), result), 0);
  if (!zeros.ok()) return {};
  const int64_t images = x.dim(0) * x.dim(1), total = x.size();
  const Tensor at = Reshape(Cast(places, I64), {images, total / std::max<int64_t>(images, 1)}) +
                    b.Iota(I64, {images, 1}) * area;
  const Tensor flat = Reshape(at, {total});
  const Tensor sum = ScatterAdd(zeros, flat, Reshape(x, {total}), 0);
  const Tensor counts = ScatterAdd(zeros, flat, b.Ones(x.dtype(), {total}), 0);
  return Reshape(sum / Maximum(counts, 1.0), result);
}

}  // namespace

Tensor AffineGrid(const Tensor& theta, std::array<int64_t, 2> size, bool align_corners, Where where) {
  return AffinePlaces("AffineGrid", theta, {size[0], size[1]}, align_corners, where);
}
Tensor AffineGrid3d(const Tensor& theta, std::array<int64_t, 3> size, bool align_corners, Where where) {
  return AffinePlaces("AffineGrid3d", theta, {size[0], size[1], size[2]}, align_corners, where);
}

Tensor GridSample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options, Where where) {
  CompositeCall call("GridSample", where, {x, grid});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || (x.rank() != 4 && x.rank() != 5) || std::ranges::min(SpatialSizes(x)) < 1) {
    return call.Fail("takes float images [N, C, H, W] or volumes [N, C, D, H, W] of at least one pixel");
  }
  const bool is_volume = x.rank() == 5;
  if (grid.dtype() != x.dtype() || grid.rank() != x.rank() || grid.dim(0) != x.dim(0) ||
      grid.dim(-1) != x.rank() - 2) {
    return call.Fail(absl::StrCat("takes a grid [", x.dim(0), is_volume ? ", D', H', W', 3]" : ", H', W', 2]",
                                  " of the ", is_volume ? "volumes'" : "images'", " element type"));
  }
  if (options.interpolation == Interpolation::kBicubic) return call.Fail("samples kNearest or kBilinear");
  Shape result = grid.shape();
  result.pop_back();
  result.insert(result.begin() + 1, x.dim(1));
  if (grid.size() == 0) return Builder(x.function()).Zeros(x.dtype(), result);
  return Reshape(Sampled(x, grid, options), result);
}

MaxPoolPlaces MaxPool2dWithPlaces(const Tensor& x, std::array<int64_t, 2> window,
                                  const Pool2dOptions& options, Where where) {
  CompositeCall call("MaxPool2dWithPlaces", where, {x});
  if (!call.ok()) return {};
  const Tensor values = MaxPool2d(x, window, options, where);
  if (!values.ok()) return {};
  const Pool2dOptions whole = WithWholeWindows(x, window, options);
  return {values, PlacesOf(x, window, whole.strides, whole.padding, values.shape())};
}

MaxPoolPlaces MaxPool1dWithPlaces(const Tensor& x, int64_t window, const Pool1dOptions& options,
                                  Where where) {
  CompositeCall call("MaxPool1dWithPlaces", where, {x});
  if (!call.ok()) return {};
  if (x.rank() != 3 || !IsFloat(x.dtype())) return {call.Fail("takes float signals of shape [N, C, L]"), {}};
  // A signal is an image of one row, in which places are those of the signal.
  const auto [values, places] =
      MaxPool2dWithPlaces(ExpandDims(x, 2), {1, window},
                          {.strides = {1, options.stride == 0 ? window : options.stride},
                           .padding = {0, 0, options.padding[0], options.padding[1]},
                           .ceil_mode = options.ceil_mode});
  if (!values.ok()) return {};
  return {Squeeze(values, 2), Squeeze(places, 2)};
}

MaxPoolPlaces MaxPool3dWithPlaces(const Tensor& x, std::array<int64_t, 3> window,
                                  const Pool3dOptions& options, Where where) {
  CompositeCall call("MaxPool3dWithPlaces", where, {x});
  if (!call.ok()) return {};
  if (x.rank() != 5 || !IsFloat(x.dtype())) {
    return {call.Fail("takes float volumes of shape [N, C, D, H, W]"), {}};
  }
  const std::array<int64_t, 3> strides =
      options.strides == std::array<int64_t, 3>{0, 0, 0} ? window : options.strides;
  const std::array<int64_t, 6>& padding = options.padding;
  const int64_t n = x.dim(0), c = x.dim(1), d = x.dim(2), area = x.dim(3) * x.dim(4);
  // First each slice of the depth, then the slices' results along it.
  const MaxPoolPlaces flat =
      MaxPool2dWithPlaces(Reshape(x, {n, c * d, x.dim(3), x.dim(4)}), {window[1], window[2]},
                          {.strides = {strides[1], strides[2]},
                           .padding = {padding[2], padding[3], padding[4], padding[5]},
                           .ceil_mode = options.ceil_mode});
  if (!flat.values.ok()) return {};
  const int64_t h = flat.values.dim(2), w = flat.values.dim(3);
  const MaxPoolPlaces deep = MaxPool2dWithPlaces(Reshape(flat.values, {n, c, d, h * w}), {window[0], 1},
                                                 {.strides = {strides[0], 1},
                                                  .padding = {padding[0], padding[1], 0, 0},
                                                  .ceil_mode = options.ceil_mode});
  if (!deep.values.ok()) return {};
  const Shape shape = {n, c, deep.values.dim(2), h, w};
  const Tensor chosen = Reshape(deep.places, {n, c, deep.places.dim(2) * h * w});
  const Tensor in_slice = TakeAlong(Reshape(flat.places, {n, c, d * h * w}), chosen, 2);
  return {Reshape(deep.values, shape), Reshape(chosen / (h * w) * area + in_slice, shape)};
}

Tensor MaxUnpool1d(const Tensor& x, const Tensor& places, int64_t size, Where where) {
  return Unpooled("MaxUnpool1d", x, places, {size}, where);
}
Tensor MaxUnpool2d(const Tensor& x, const Tensor& places, std::array<int64_t, 2> size, Where where) {
  return Unpooled("MaxUnpool2d", x, places, {size[0], size[1]}, where);
}
Tensor MaxUnpool3d(const Tensor& x, const Tensor& places, std::array<int64_t, 3> size, Where where) {
  return Unpooled("MaxUnpool3d", x, places, {size[0], size[1], size[2]}, where);
}

}  // namespace sinter
