// Other sizes of images, made of the ops that take and move elements.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/window_checks.h"

namespace sinter {
namespace {

// The pixels of which a pixel of the result is made, and their weights: taps[t][i] of result i.
struct Taps {
  std::vector<std::vector<int32_t>> pixels;
  std::vector<std::vector<double>> weights;
};

// Keys, "Cubic convolution interpolation for digital image processing" (1981), with a = -0.75.
double Cubic(double distance) {
  constexpr double a = -0.75;
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

// Returns the place of pixel i of `to` among `from`.
double SourceOf(int64_t i, int64_t from, int64_t to, bool align_corners) {
  if (align_corners) return to == 1 ? 0 : static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1);
  return (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
}

Taps TapsOf(int64_t from, int64_t to, const ResizeOptions& options) {
  const int64_t count = options.interpolation == Interpolation::kNearest    ? 1
                        : options.interpolation == Interpolation::kBilinear ? 2
                                                                            : 4;
  Taps taps;
  for (int64_t t = 0; t < count; ++t) {
    std::vector<int32_t> pixels;
    std::vector<double> weights;
    for (int64_t i = 0; i < to; ++i) {
      if (count == 1) {
        pixels.push_back(static_cast<int32_t>(std::min(i * from / to, from - 1)));
        continue;
      }
      double source = SourceOf(i, from, to, options.align_corners);
      if (count == 2) source = std::max(source, 0.0);
      const auto first = static_cast<int64_t>(std::floor(source)) - (count / 2 - 1);
      const double distance = source - static_cast<double>(first + t);
      pixels.push_back(static_cast<int32_t>(std::clamp<int64_t>(first + t, 0, from - 1)));
      weights.push_back(count == 2 ? 1 - std::fabs(distance) : Cubic(distance));
    }
    taps.pixels.push_back(std::move(pixels));
    taps.weights.push_back(std::move(weights));
  }
  return taps;
}

// Resizes one dimension of images, which are f32 or f64.
Tensor ResizeAlong(const Tensor& x, int64_t dim, int64_t to, const ResizeOptions& options) {
  if (x.dim(dim) == to) return x;
  Builder b(x.function());
  const Taps taps = TapsOf(x.dim(dim), to, options);
  Shape along(static_cast<size_t>(x.rank() - dim), 1);
  along[0] = to;
  Tensor sum;
  for (size_t t = 0; t < taps.pixels.size(); ++t) {
    const Tensor part = Gather(x, b.Constant(*HostTensor::FromVector<int32_t>({to}, taps.pixels[t])), dim);
    if (taps.weights[t].empty()) return part;
    const Tensor weights =
        Reshape(Cast(b.Constant(*HostTensor::FromVector<double>({to}, taps.weights[t])), x.dtype()), along);
    sum = t == 0 ? part * weights : sum + part * weights;
  }
  return sum;
}

Tensor ResizedTo(const char* name, const Tensor& x, const Shape& sizes, const ResizeOptions& options,
                 Where where) {
  CompositeCall call(name, where, {x});
  if (!call.ok() || !CheckNewSizes(call, x, sizes)) return {};
  if (options.interpolation == Interpolation::kNearest && options.align_corners) {
    return call.Fail("has aligned corners, which the nearest pixel does not know");
  }
  // bf16 and f16 are rounded once.
  const bool is_low = x.dtype() == DType::kBf16 || x.dtype() == DType::kF16;
  const bool is_copy = options.interpolation == Interpolation::kNearest;
  Tensor y = is_low && !is_copy ? Cast(x, F32) : x;
  for (size_t i = 0; i < sizes.size(); ++i)
    y = ResizeAlong(y, static_cast<int64_t>(i) + 2, sizes[i], options);
  return Cast(y, x.dtype());
}

}  // namespace

Tensor Resize(const Tensor& x, std::array<int64_t, 2> size, const ResizeOptions& options, Where where) {
  return ResizedTo("Resize", x, {size[0], size[1]}, options, where);
}
Tensor Resize1d(const Tensor& x, int64_t size, const ResizeOptions& options, Where where) {
  return ResizedTo("Resize1d", x, {size}, options, where);
}
Tensor Resize3d(const Tensor& x, std::array<int64_t, 3> size, const ResizeOptions& options, Where where) {
  return ResizedTo("Resize3d", x, {size[0], size[1], size[2]}, options, where);
}

Tensor PixelShuffle(const Tensor& x, int64_t factor, Where where) {
  CompositeCall call("PixelShuffle", where, {x});
  if (!call.ok()) return {};
  if (x.rank() != 4) return call.Fail("takes images of shape [N, C, H, W]");
  if (factor < 1 || factor > 1 << 15 || x.dim(1) % (factor * factor) != 0) {
    return call.Fail(
        absl::StrCat("has a factor of ", factor, ", whose square must divide the ", x.dim(1), " channels"));
  }
  const int64_t channels = x.dim(1) / (factor * factor);
  const Tensor parts = Reshape(x, {x.dim(0), channels, factor, factor, x.dim(2), x.dim(3)});
  return Reshape(Transpose(parts, {0, 1, 4, 2, 5, 3}),
                 {x.dim(0), channels, x.dim(2) * factor, x.dim(3) * factor});
}

Tensor PixelUnshuffle(const Tensor& x, int64_t factor, Where where) {
  CompositeCall call("PixelUnshuffle", where, {x});
  if (!call.ok()) return {};
  if (x.rank() != 4) return call.Fail("takes images of shape [N, C, H, W]");
  if (factor < 1 || factor > 1 << 15 || x.dim(2) % factor != 0 || x.dim(3) % factor != 0) {
    return call.Fail(absl::StrCat("has a factor of ", factor, ", which must divide images of ",
                                  PairText(x.dim(2), x.dim(3))));
  }
  const int64_t rows = x.dim(2) / factor, columns = x.dim(3) / factor;
  const Tensor parts = Reshape(x, {x.dim(0), x.dim(1), rows, factor, columns, factor});
  return Reshape(Transpose(parts, {0, 1, 3, 5, 2, 4}), {x.dim(0), x.dim(1) * factor * factor, rows, columns});
}

}  // namespace sinter
