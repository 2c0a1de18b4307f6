#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Resize, one dimension after the other: weighted sums of elements whose places and weights are constants.
namespace sinter::onnx {
namespace {

// The forms of the standard, by its names.
struct ResizeForm {
  std::string mode, coordinates, rounding;
  double cubic = -0.75;
  bool exclude_outside = false;
  double extrapolation = 0;
};

// The weights of one result: elements from `first` on.
struct Taps {
  std::vector<int64_t> places;
  std::vector<double> weights;
  bool is_outside = false;  // The result is the extrapolation value.
};

// The place in x of result i, as of `coordinate_transformation_mode`.
double PlaceOf(const ResizeForm& form, int64_t i, int64_t from, int64_t to, double scale, double start,
               double end) {
  const auto at = static_cast<double>(i);
  if (form.coordinates == "align_corners") {
    // By the exact length, before it was rounded down.
    const double length = scale * static_cast<double>(from);
    return to == 1 ? 0 : at * static_cast<double>(from - 1) / (length - 1);
  }
  if (form.coordinates == "asymmetric") return at / scale;
  if (form.coordinates == "pytorch_half_pixel") return to > 1 ? (at + 0.5) / scale - 0.5 : 0;
  if (form.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / scale;
  if (form.coordinates == "tf_crop_and_resize") {
    const auto last = static_cast<double>(from - 1);
    return to > 1 ? start * last + at * (end - start) * last / static_cast<double>(to - 1)
                  : 0.5 * (start + end) * last;
  }
  if (form.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(to) / (scale * static_cast<double>(from));
    const double centre = static_cast<double>(from) / 2;
    return centre * (1 - adjustment) + (at + 0.5) / scale - 0.5;
  }
  return (at + 0.5) / scale - 0.5;  // half_pixel
}

int64_t Nearest(const ResizeForm& form, double place) {
  if (form.rounding == "floor") return static_cast<int64_t>(std::floor(place));
  if (form.rounding == "ceil") return static_cast<int64_t>(std::ceil(place));
  if (form.rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(place + 0.5));
  return static_cast<int64_t>(std::ceil(place - 0.5));  // round_prefer_floor
}

// The four weights of a cubic convolution at a fraction behind the second tap.
std::vector<double> CubicWeights(double t, double a) {
  const auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

Taps TapsOf(const ResizeForm& form, double place, int64_t size) {
  Taps taps;
  taps.is_outside =
      form.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(size - 1));
  if (form.mode == "nearest") {
    taps.places = {std::clamp<int64_t>(Nearest(form, place), 0, size - 1)};
    taps.weights = {1};
    return taps;
  }
  const double floor = std::floor(place), t = place - floor;
  const auto first = static_cast<int64_t>(floor);
  const bool cubic = form.mode == "cubic";
  taps.weights = cubic ? CubicWeights(t, form.cubic) : std::vector<double>{1 - t, t};
  double sum = 0;
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const int64_t at = first + static_cast<int64_t>(k) - (cubic ? 1 : 0);
    if (form.exclude_outside && (at < 0 || at >= size)) taps.weights[k] = 0;
    taps.places.push_back(std::clamp<int64_t>(at, 0, size - 1));
    sum += taps.weights[k];
  }
  if (form.exclude_outside && sum != 0) {
    for (double& weight : taps.weights) weight /= sum;
  }
  return taps;
}

// x with dimension `dim` made of the taps.
Tensor ResizeAlong(Node& node, const Tensor& x, int64_t dim, const std::vector<Taps>& all, double outside) {
  const size_t width = all.empty() ? 0 : all[0].places.size();
  const auto size = static_cast<int64_t>(all.size());
  Tensor y;
  for (size_t k = 0; k < width; ++k) {
    std::vector<int64_t> places;
    std::vector<double> weights;
    for (const Taps& taps : all) {
      places.push_back(taps.places[k]);
      weights.push_back(taps.weights[k]);
    }
    Tensor part = Gather(x, node.Constant({size}, places), dim);
    if (width > 1) part = part * AlongAxis(node.Constant({size}, weights, x.dtype()), dim, x.rank());
    y = k == 0 ? part : y + part;
  }
  if (std::ranges::any_of(all, [](const Taps& taps) { return taps.is_outside; })) {
    std::vector<int64_t> flags;
    for (const Taps& taps : all) flags.push_back(taps.is_outside ? 1 : 0);
    const Tensor flag = AlongAxis(node.Constant({size}, flags, DType::kI1), dim, x.rank());
    y = Select(flag, node.Number(outside, x.dtype()), y);
  }
  return y;
}

// Sizes of the result, and the factors from x to it.
struct ResizeSizes {
  Shape sizes;
  std::vector<double> scales;
};

absl::StatusOr<ResizeSizes> SizesOf(Node& node, const Shape& from, const Shape& axes, size_t of_scales,
                                    size_t of_sizes) {
  ResizeSizes result{from, std::vector<double>(from.size(), 1)};
  std::vector<double> scales;
  Shape sizes;
  if (node.HasAttr("scales")) {
    scales = node.Reals("scales");
  } else if (node.Has(of_scales)) {
    SINTER_ASSIGN_OR_RETURN(scales, node.Reals(of_scales));
  }
  if (scales.empty() && node.Has(of_sizes)) {
    SINTER_ASSIGN_OR_RETURN(sizes, node.Ints(of_sizes));
  }
  if (std::max(scales.size(), sizes.size()) != axes.size()) return node.Bad("scales or sizes do not fit x");
  const std::string policy = node.Text("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (size_t i = 0; i < sizes.size() && policy != "stretch"; ++i) {
    const double scale =
        static_cast<double>(sizes[i]) / static_cast<double>(from[static_cast<size_t>(axes[i])]);
    common = i == 0 ? scale : policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    if (from[d] < 1) return node.Unsupported("OP_FORM", "x has no elements");
    const auto size = static_cast<double>(from[d]);
    result.scales[d] = !scales.empty() ? scales[i]
                       : common > 0    ? common
                                       : static_cast<double>(sizes[i]) / size;
    result.sizes[d] = !scales.empty() ? static_cast<int64_t>(std::floor(size * scales[i]))
                      : common > 0    ? static_cast<int64_t>(std::floor(size * common + 0.5))
                                      : sizes[i];
    if (!(result.scales[d] > 0) || result.sizes[d] < 1 || result.sizes[d] > 1 << 20) {
      return node.Bad("a scale or a size is out of range");
    }
  }
  return result;
}

absl::StatusOr<Values> ResizeTo(Node& node, const ResizeForm& form, const Shape& axes, const ResizeSizes& to,
                                const std::vector<double>& region) {
  Tensor x = node.In(0);
  const DType dtype = x.dtype();
  if (!IsFloat(dtype) && form.mode != "nearest") x = Cast(x, DType::kF32);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    const int64_t size = x.dim(axes[i]);
    const double start = region.empty() ? 0 : region[i], end = region.empty() ? 1 : region[i + axes.size()];
    if (to.sizes[d] == size && to.scales[d] == 1 && form.coordinates != "tf_crop_and_resize") continue;
    std::vector<Taps> all;
    for (int64_t k = 0; k < to.sizes[d]; ++k) {
      all.push_back(TapsOf(form, PlaceOf(form, k, size, to.sizes[d], to.scales[d], start, end), size));
    }
    x = ResizeAlong(node, x, axes[i], all, form.extrapolation);
  }
  return Values(x.dtype() == dtype ? x : Cast(x, dtype));
}

Shape AllAxes(Node& node) {
  Shape axes;
  for (size_t i = 0; i < node.shape(0).size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

absl::StatusOr<Values> ResizeOf(Node& node) {
  ResizeForm form{.mode = node.Text("mode", "nearest"),
                  .coordinates = node.Text("coordinate_transformation_mode", "half_pixel"),
                  .rounding = node.Text("nearest_mode", "round_prefer_floor"),
                  .cubic = node.Real("cubic_coeff_a", -0.75),
                  .exclude_outside = node.Int("exclude_outside", 0) != 0,
                  .extrapolation = node.Real("extrapolation_value", 0)};
  if (node.Int("antialias", 0) != 0) return node.Unsupported("OP_FORM", "antialias");
  if (form.mode != "nearest" && form.mode != "linear" && form.mode != "cubic")
    return node.Bad("an unknown mode");
  const bool old = node.version() < 11;
  if (old) form.coordinates = "asymmetric";
  if (old) form.rounding = "floor";
  Shape axes = node.HasAttr("axes") ? node.Axes(node.Ints("axes"), static_cast<int64_t>(node.shape(0).size()))
                                    : AllAxes(node);
  SINTER_ASSIGN_OR_RETURN(const ResizeSizes sizes, SizesOf(node, node.shape(0), axes, old ? 1 : 2, 3));
  std::vector<double> region;
  if (form.coordinates == "tf_crop_and_resize") {
    SINTER_ASSIGN_OR_RETURN(region, node.Reals(1));
    if (region.size() != 2 * axes.size()) return node.Bad("roi does not fit x");
  }
  return ResizeTo(node, form, axes, sizes, region);
}

absl::StatusOr<Values> UpsampleOf(Node& node) {
  const std::string mode = node.Text("mode", "nearest");
  const ResizeForm form{
      .mode = mode == "bilinear" ? "linear" : mode, .coordinates = "asymmetric", .rounding = "floor"};
  if (form.mode != "nearest" && form.mode != "linear") return node.Bad("an unknown mode");
  if (node.HasAttr("height_scale")) return node.Unsupported("OP_FORM", "the scales of version 1");
  const Shape axes = AllAxes(node);
  SINTER_ASSIGN_OR_RETURN(const ResizeSizes sizes, SizesOf(node, node.shape(0), axes, 1, 3));
  return ResizeTo(node, form, axes, sizes, {});
}

constexpr OpRecord kResizes[] = {
    {"Resize", 10, ResizeOf},
    {"Upsample", 1, UpsampleOf},
};

}  // namespace

std::span<const OpRecord> ResizeOps() { return kResizes; }

}  // namespace sinter::onnx
