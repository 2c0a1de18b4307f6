#include "sinter/frontend/data/images/augment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/images/map_image.h"
#include "sinter/frontend/data/images/resize_image.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// A draw that is uniform in [0, 1), in steps of 2^-53.
double UniformDraw(SplitMix& bits) { return static_cast<double>(bits.Next() >> 11) * 0x1p-53; }

absl::StatusOr<HostTensor> AsFloat(HostTensor image) {
  if (image.dtype() == DType::kF32) return image;
  SINTER_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Empty(DType::kF32, image.shape()));
  SINTER_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, image.Span<uint8_t>());
  SINTER_ASSIGN_OR_RETURN(const std::span<float> to, out.MutableSpan<float>());
  std::ranges::transform(from, to.begin(), [](uint8_t pixel) { return static_cast<float>(pixel) / 255.0f; });
  return out;
}

struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

Box RandomBox(int64_t height, int64_t width, const RandomResizedCropOptions& options, SplitMix& bits) {
  const double area = static_cast<double>(height * width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * (options.min_area + UniformDraw(bits) * (options.max_area - options.min_area));
    const double low = std::log(options.min_ratio), high = std::log(options.max_ratio);
    const double ratio = std::exp(low + UniformDraw(bits) * (high - low));
    const auto w = static_cast<int64_t>(std::lround(std::sqrt(part * ratio)));
    const auto h = static_cast<int64_t>(std::lround(std::sqrt(part / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto top = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(height - h + 1)));
    return {top, static_cast<int64_t>(bits.Below(static_cast<uint64_t>(width - w + 1))), h, w};
  }
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  const double allowed = std::clamp(ratio, options.min_ratio, options.max_ratio);
  const int64_t w =
      ratio > allowed ? std::max<int64_t>(1, std::lround(static_cast<double>(height) * allowed)) : width;
  const int64_t h =
      ratio < allowed ? std::max<int64_t>(1, std::lround(static_cast<double>(width) / allowed)) : height;
  return {(height - h) / 2, (width - w) / 2, h, w};
}

absl::Status CheckResizedCrop(const RandomResizedCropOptions& o) {
  const bool has_area = o.min_area > 0 && o.min_area <= o.max_area && o.max_area <= 1;
  if (has_area && o.min_ratio > 0 && o.min_ratio <= o.max_ratio) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "RandomResizedCrop needs 0 < min_area <= max_area <= 1 and 0 < min_ratio <= max_ratio, got areas ",
      o.min_area, " to ", o.max_area, " and ratios ", o.min_ratio, " to ", o.max_ratio));
}

absl::Status CheckSize(const char* what, int64_t size) {
  if (size >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, "'s size is ", size, ", it must be at least 1"));
}

// Applies `change` to a field of the example.
absl::Status ChangeImage(Example& example, size_t field, const char* what,
                         const std::function<absl::StatusOr<HostTensor>(HostTensor image)>& change) {
  if (field >= example.fields.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " is to change field ", field, ", but the example has ", example.fields.size(), " fields"));
  }
  SINTER_RETURN_IF_ERROR(CheckImage(example.fields[field], what));
  SINTER_ASSIGN_OR_RETURN(example.fields[field], change(std::move(example.fields[field])));
  return absl::OkStatus();
}

}  // namespace

MapFunction MapImage(const char* what, size_t field, ImageFunction change) {
  return
      [what, field, change = std::move(change)](Example example, SplitMix& bits) -> absl::StatusOr<Example> {
        SINTER_RETURN_IF_ERROR(ChangeImage(example, field, what,
                                           [&](HostTensor image) { return change(std::move(image), bits); }));
        return example;
      };
}

MapFunction ResizeTo(int64_t height, int64_t width, size_t field) {
  return MapImage("ResizeTo", field,
                  [=](HostTensor image, SplitMix&) { return ResizeImage(image, height, width); });
}

MapFunction ResizeShorter(int64_t size, size_t field) {
  return MapImage("ResizeShorter", field,
                  [=](HostTensor image, SplitMix&) { return ResizeShorterSide(image, size); });
}

MapFunction CenterCrop(int64_t size, size_t field) {
  return MapImage("CenterCrop", field, [=](HostTensor image, SplitMix&) -> absl::StatusOr<HostTensor> {
    SINTER_RETURN_IF_ERROR(CheckSize("CenterCrop", size));
    // Rounds towards the upper left for images that are larger, and for those that are smaller.
    const auto middle = [&](int64_t all) { return all >= size ? (all - size) / 2 : -((size - all) / 2); };
    return CropImage(image, middle(image.shape()[1]), middle(image.shape()[2]), size, size);
  });
}

MapFunction RandomCrop(int64_t size, RandomCropOptions options) {
  return MapImage(
      "RandomCrop", options.field, [=](HostTensor image, SplitMix& bits) -> absl::StatusOr<HostTensor> {
        SINTER_RETURN_IF_ERROR(CheckSize("RandomCrop", size));
        const int64_t down = image.shape()[1] + 2 * options.padding - size;
        const int64_t across = image.shape()[2] + 2 * options.padding - size;
        if (down < 0 || across < 0 || options.padding < 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("RandomCrop cannot take ", size, " x ", size, " pixels of ", image.ToString(),
                           " with padding ", options.padding, "; resize the image before, or pad it more"));
        }
        const auto top = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(down + 1)));
        const auto left = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(across + 1)));
        return CropImage(image, top - options.padding, left - options.padding, size, size);
      });
}

MapFunction RandomResizedCrop(int64_t size, RandomResizedCropOptions options) {
  return MapImage("RandomResizedCrop", options.field,
                  [=](HostTensor image, SplitMix& bits) -> absl::StatusOr<HostTensor> {
                    SINTER_RETURN_IF_ERROR(CheckSize("RandomResizedCrop", size));
                    SINTER_RETURN_IF_ERROR(CheckResizedCrop(options));
                    const Box box = RandomBox(image.shape()[1], image.shape()[2], options, bits);
                    SINTER_ASSIGN_OR_RETURN(const HostTensor crop,
                                            CropImage(image, box.top, box.left, box.height, box.width));
                    return ResizeImage(crop, size, size);
                  });
}

MapFunction Flip(FlipOptions options) {
  return MapImage("Flip", options.field, [=](HostTensor image, SplitMix& bits) -> absl::StatusOr<HostTensor> {
    if (!(options.probability >= 0 && options.probability <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Flip's probability is ", options.probability, ", it must be in [0, 1]"));
    }
    if (UniformDraw(bits) >= options.probability) return image;
    return FlipImage(image);
  });
}

MapFunction Cutout(int64_t size, size_t field) {
  return MapImage("Cutout", field, [=](HostTensor image, SplitMix& bits) -> absl::StatusOr<HostTensor> {
    SINTER_RETURN_IF_ERROR(CheckSize("Cutout", size));
    const int64_t channels = image.shape()[0], height = image.shape()[1], width = image.shape()[2];
    const int64_t top = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(height))) - size / 2;
    const int64_t left = static_cast<int64_t>(bits.Below(static_cast<uint64_t>(width))) - size / 2;
    SINTER_ASSIGN_OR_RETURN(HostTensor out, image.Clone());
    const auto clear = [&](auto* pixels) {
      const int64_t first = std::max<int64_t>(left, 0), end = std::min(left + size, width);
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + size, height); ++y) {
          std::fill(pixels + (c * height + y) * width + first, pixels + (c * height + y) * width + end, 0);
        }
      }
    };
    if (out.dtype() == DType::kU8) {
      clear(static_cast<uint8_t*>(out.mutable_data()));
    } else {
      clear(static_cast<float*>(out.mutable_data()));
    }
    return out;
  });
}

MapFunction ToFloat(size_t field) {
  return MapImage("ToFloat", field, [](HostTensor image, SplitMix&) { return AsFloat(std::move(image)); });
}

MapFunction Normalize(std::vector<double> mean, std::vector<double> deviation, size_t field) {
  return MapImage(
      "Normalize", field,
      [mean = std::move(mean), deviation = std::move(deviation)](HostTensor image,
                                                                 SplitMix&) -> absl::StatusOr<HostTensor> {
        const auto channels = static_cast<size_t>(image.shape()[0]);
        const bool is_positive = std::ranges::all_of(deviation, [](double d) { return d > 0; });
        if (mean.size() != channels || deviation.size() != channels || !is_positive) {
          return absl::InvalidArgumentError(absl::StrCat(
              "Normalize needs a mean and a deviation above 0 for each channel; it has ", mean.size(),
              " means and ", deviation.size(), " deviations for ", image.ToString()));
        }
        SINTER_ASSIGN_OR_RETURN(HostTensor out, AsFloat(std::move(image)));
        SINTER_ASSIGN_OR_RETURN(const std::span<float> pixels, out.MutableSpan<float>());
        const size_t plane = pixels.size() / channels;
        for (size_t c = 0; c < channels; ++c) {
          const auto shift = static_cast<float>(mean[c]), scale = static_cast<float>(1 / deviation[c]);
          for (float& pixel : pixels.subspan(c * plane, plane)) pixel = (pixel - shift) * scale;
        }
        return out;
      });
}

}  // namespace sinter::data
