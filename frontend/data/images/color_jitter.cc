#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/images/augment.h"
#include "sinter/frontend/data/images/map_image.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// Pixels of 1 or 3 planes, in [0, 1].
struct Planes {
  std::span<float> values;
  size_t plane = 0;
  size_t channels = 0;

  float GreyAt(size_t i) const {
    if (channels == 1) return values[i];
    return 0.299f * values[i] + 0.587f * values[plane + i] + 0.114f * values[2 * plane + i];
  }
};

float Clamp01(float value) { return std::clamp(value, 0.0f, 1.0f); }

void ChangeBrightness(const Planes& planes, float factor) {
  for (float& value : planes.values) value = Clamp01(value * factor);
}

void ChangeContrast(const Planes& planes, float factor) {
  double sum = 0;
  for (size_t i = 0; i < planes.plane; ++i) sum += planes.GreyAt(i);
  const auto mean = static_cast<float>(sum / static_cast<double>(planes.plane));
  for (float& value : planes.values) value = Clamp01(mean + (value - mean) * factor);
}

void ChangeSaturation(const Planes& planes, float factor) {
  for (size_t i = 0; i < planes.plane; ++i) {
    const float grey = planes.GreyAt(i);
    for (size_t c = 0; c < 3; ++c) {
      float& value = planes.values[c * planes.plane + i];
      value = Clamp01(grey + (value - grey) * factor);
    }
  }
}

// Turns the hue of HSV (Smith, "Color Gamut Transform Pairs", 1978) by `turn` of the circle.
std::array<float, 3> TurnHue(float r, float g, float b, float turn) {
  const float high = std::max({r, g, b}), range = high - std::min({r, g, b});
  if (range <= 0) return {r, g, b};
  float sixth = 0;  // The hue, in sixths of the circle.
  if (high == r) {
    sixth = (g - b) / range;
  } else if (high == g) {
    sixth = 2 + (b - r) / range;
  } else {
    sixth = 4 + (r - g) / range;
  }
  sixth += 6 * turn;
  const auto channel = [&](float offset) {
    float k = std::fmod(offset + sixth, 6.0f);
    if (k < 0) k += 6;
    return high - range * std::clamp(std::min(k, 4 - k), 0.0f, 1.0f);
  };
  return {channel(5), channel(3), channel(1)};
}

void ChangeHue(const Planes& planes, float turn) {
  float* const v = planes.values.data();
  for (size_t i = 0; i < planes.plane; ++i) {
    const std::array<float, 3> rgb = TurnHue(v[i], v[planes.plane + i], v[2 * planes.plane + i], turn);
    for (size_t c = 0; c < 3; ++c) v[c * planes.plane + i] = Clamp01(rgb[c]);
  }
}

absl::Status CheckJitter(const ColorJitterOptions& o, const HostTensor& image) {
  if (o.brightness < 0 || o.contrast < 0 || o.saturation < 0 || !(o.hue >= 0 && o.hue <= 0.5)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ColorJitter needs brightness, contrast and saturation of at least 0, and hue in [0, 0.5]; got ",
        o.brightness, ", ", o.contrast, ", ", o.saturation, " and ", o.hue));
  }
  const int64_t channels = image.shape()[0];
  if (channels == 3 || (channels == 1 && o.saturation == 0 && o.hue == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ColorJitter takes images of 3 channels, or of 1 without saturation "
                   "and hue; it was given ",
                   image.ToString()));
}

void Jitter(const ColorJitterOptions& options, const Planes& planes, SplitMix& bits) {
  std::array<int, 4> order = {0, 1, 2, 3};
  for (size_t i = 4; i > 1; --i) std::swap(order[i - 1], order[bits.Below(i)]);
  const auto factor = [&](double range) {
    return std::max(0.0f, bits.Uniform(static_cast<float>(1 - range), static_cast<float>(1 + range)));
  };
  for (const int which : order) {
    if (which == 0 && options.brightness > 0) ChangeBrightness(planes, factor(options.brightness));
    if (which == 1 && options.contrast > 0) ChangeContrast(planes, factor(options.contrast));
    if (which == 2 && options.saturation > 0) ChangeSaturation(planes, factor(options.saturation));
    const auto hue = static_cast<float>(options.hue);
    if (which == 3 && hue > 0) ChangeHue(planes, bits.Uniform(-hue, hue));
  }
}

}  // namespace

MapFunction ColorJitter(ColorJitterOptions options) {
  return MapImage("ColorJitter", options.field,
                  [options](HostTensor image, SplitMix& bits) -> absl::StatusOr<HostTensor> {
                    SINTER_RETURN_IF_ERROR(CheckJitter(options, image));
                    const auto channels = static_cast<size_t>(image.shape()[0]);
                    const bool is_bytes = image.dtype() == DType::kU8;
                    SINTER_ASSIGN_OR_RETURN(HostTensor pixels, HostTensor::Empty(DType::kF32, image.shape()));
                    SINTER_ASSIGN_OR_RETURN(const std::span<float> values, pixels.MutableSpan<float>());
                    const auto* bytes = static_cast<const uint8_t*>(image.data());
                    const auto* floats = static_cast<const float*>(image.data());
                    for (size_t i = 0; i < values.size(); ++i) {
                      values[i] = is_bytes ? static_cast<float>(bytes[i]) / 255.0f : floats[i];
                    }
                    Jitter(options, {values, values.size() / channels, channels}, bits);
                    if (!is_bytes) return pixels;
                    SINTER_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Empty(DType::kU8, image.shape()));
                    SINTER_ASSIGN_OR_RETURN(const std::span<uint8_t> to, out.MutableSpan<uint8_t>());
                    for (size_t i = 0; i < values.size(); ++i) {
                      to[i] = static_cast<uint8_t>(std::lrint(values[i] * 255.0f));
                    }
                    return out;
                  });
}

}  // namespace sinter::data
