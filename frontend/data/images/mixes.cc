#include "sinter/frontend/data/images/mixes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// Uniform in (0, 1).
double OpenUnit(SplitMix& bits) { return (static_cast<double>(bits.Next() >> 12) + 0.5) * 0x1p-52; }

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
double DrawGamma(double shape, SplitMix& bits) {
  if (shape < 1) return DrawGamma(shape + 1, bits) * std::pow(OpenUnit(bits), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    // A normal number by Box and Muller.
    const double radius = std::sqrt(-2 * std::log(OpenUnit(bits)));
    const double x = radius * std::cos(2 * std::numbers::pi * OpenUnit(bits));
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(OpenUnit(bits)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double DrawBeta(double alpha, SplitMix& bits) {
  const double a = DrawGamma(alpha, bits), b = DrawGamma(alpha, bits);
  // Both are 0 only for an alpha so small that the share is 0 or 1.
  return a + b > 0 ? a / (a + b) : static_cast<double>(bits.Below(2));
}

absl::Status CheckMix(const char* what, const std::vector<HostTensor>& tensors, const MixOptions& options,
                      int rank) {
  if (!(options.alpha > 0) || !std::isfinite(options.alpha)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, "'s alpha is ", options.alpha, ", it must be above 0"));
  }
  if (options.field >= tensors.size() || options.label_field >= tensors.size()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is to mix field ", options.field,
                                                   " with labels in field ", options.label_field,
                                                   ", but a batch has ", tensors.size(), " tensors"));
  }
  const HostTensor& images = tensors[options.field];
  if (images.dtype() == DType::kF32 && (rank == 0 ? images.rank() > 0 : images.rank() == rank))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " takes f32 images, it was given ", images.ToString(),
                                                 "; convert them with ToFloat or Normalize"));
}

absl::StatusOr<HostTensor> MixLabels(const char* what, const HostTensor& labels,
                                     const std::vector<int64_t>& partner, double share, int64_t classes) {
  if (labels.dtype() != DType::kI32 || labels.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " takes labels i32 [rows], it was given ", labels.ToString()));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor mixed,
                          HostTensor::Zeros(DType::kF32, {labels.shape()[0], std::max<int64_t>(classes, 0)}));
  SINTER_ASSIGN_OR_RETURN(const std::span<const int32_t> values, labels.Span<int32_t>());
  SINTER_ASSIGN_OR_RETURN(const std::span<float> shares, mixed.MutableSpan<float>());
  for (size_t row = 0; row < partner.size(); ++row) {
    if (values[row] < 0 || values[row] >= classes) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": row ", row, " has the label ", values[row],
                                                     ", but there are ", classes, " classes"));
    }
  }
  for (size_t row = 0; row < partner.size(); ++row) {
    float* const to = shares.data() + static_cast<int64_t>(row) * classes;
    to[values[row]] += static_cast<float>(share);
    to[values[static_cast<size_t>(partner[row])]] += static_cast<float>(1 - share);
  }
  return mixed;
}

struct Rectangle {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// A rectangle with the image's ratio around a random point, cut at the edges.
Rectangle RandomRectangle(int64_t height, int64_t width, double share, SplitMix& bits) {
  const double side = std::sqrt(1 - share);
  const auto h = static_cast<int64_t>(static_cast<double>(height) * side);
  const auto w = static_cast<int64_t>(static_cast<double>(width) * side);
  const auto y = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(height)));
  const auto x = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(width)));
  const auto within = [](int64_t at, int64_t end) { return std::clamp<int64_t>(at, 0, end); };
  return {within(y - h / 2, height), within(y - h / 2 + h, height), within(x - w / 2, width),
          within(x - w / 2 + w, width)};
}

using BatchTensors = std::vector<HostTensor>;

absl::StatusOr<BatchTensors> MixPixels(BatchTensors tensors, int64_t examples, int64_t classes,
                                       const MixOptions& options, SplitMix& bits) {
  SINTER_RETURN_IF_ERROR(CheckMix("Mixup", tensors, options, 0));
  HostTensor& images = tensors[options.field];
  const double share = DrawBeta(options.alpha, bits);
  const std::vector<int64_t> partner = Permutation(examples, SplitMix(bits.Next()));
  SINTER_ASSIGN_OR_RETURN(HostTensor labels,
                          MixLabels("Mixup", tensors[options.label_field], partner, share, classes));
  SINTER_ASSIGN_OR_RETURN(const HostTensor whole, images.Clone());
  SINTER_ASSIGN_OR_RETURN(const std::span<float> to, images.MutableSpan<float>());
  SINTER_ASSIGN_OR_RETURN(const std::span<const float> from, whole.Span<float>());
  const size_t size = to.size() / static_cast<size_t>(images.shape()[0]);
  const auto own = static_cast<float>(share), other = static_cast<float>(1 - share);
  for (size_t row = 0; row < partner.size(); ++row) {
    const float* const second = from.data() + static_cast<size_t>(partner[row]) * size;
    for (size_t i = 0; i < size; ++i) to[row * size + i] = own * from[row * size + i] + other * second[i];
  }
  tensors[options.label_field] = std::move(labels);
  return tensors;
}

absl::StatusOr<BatchTensors> PasteRectangles(BatchTensors tensors, int64_t examples, int64_t classes,
                                             const MixOptions& options, SplitMix& bits) {
  SINTER_RETURN_IF_ERROR(CheckMix("CutMix", tensors, options, 4));
  HostTensor& images = tensors[options.field];
  const int64_t channels = images.shape()[1], height = images.shape()[2], width = images.shape()[3];
  if (height == 0 || width == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("CutMix is given ", images.ToString(), ", without pixels"));
  }
  const double wanted = DrawBeta(options.alpha, bits);
  const std::vector<int64_t> partner = Permutation(examples, SplitMix(bits.Next()));
  const Rectangle box = RandomRectangle(height, width, wanted, bits);
  const double pasted = static_cast<double>((box.bottom - box.top) * (box.right - box.left));
  const double share = 1 - pasted / static_cast<double>(height * width);
  SINTER_ASSIGN_OR_RETURN(HostTensor labels,
                          MixLabels("CutMix", tensors[options.label_field], partner, share, classes));
  SINTER_ASSIGN_OR_RETURN(const HostTensor whole, images.Clone());
  SINTER_ASSIGN_OR_RETURN(const std::span<float> to, images.MutableSpan<float>());
  SINTER_ASSIGN_OR_RETURN(const std::span<const float> from, whole.Span<float>());
  for (int64_t row = 0; row < examples; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = box.top; y < box.bottom; ++y) {
        const auto at = [&](int64_t image) {
          return ((image * channels + c) * height + y) * width + box.left;
        };
        std::copy_n(from.begin() + at(partner[static_cast<size_t>(row)]), box.right - box.left,
                    to.begin() + at(row));
      }
    }
  }
  tensors[options.label_field] = std::move(labels);
  return tensors;
}

}  // namespace

BatchMap Mixup(int64_t classes, MixOptions options) {
  return [classes, options](BatchTensors tensors, int64_t examples, SplitMix& bits) {
    return MixPixels(std::move(tensors), examples, classes, options, bits);
  };
}

BatchMap CutMix(int64_t classes, MixOptions options) {
  return [classes, options](BatchTensors tensors, int64_t examples, SplitMix& bits) {
    return PasteRectangles(std::move(tensors), examples, classes, options, bits);
  };
}

}  // namespace sinter::data
