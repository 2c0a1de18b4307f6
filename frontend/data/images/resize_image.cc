#include "sinter/frontend/data/images/resize_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

absl::Status CheckSizes(const char* what, int64_t height, int64_t width) {
  if (height >= 1 && width >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is asked for ", height, " x ", width, " pixels; both sizes must be at least 1"));
}

// The weights of the source pixels of each target pixel along one side.
struct Filter {
  struct Target {
    int64_t first = 0;  // Source pixel.
    std::vector<float> weights;
  };
  std::vector<Target> targets;

  Filter(int64_t from, int64_t to) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double reach = std::max(scale, 1.0);  // Half of the triangle's base.
    for (int64_t i = 0; i < to; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      Target target;
      target.first = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
      const int64_t end = std::min(from, static_cast<int64_t>(center + reach + 0.5));
      std::vector<double> weights;
      double sum = 0;
      for (int64_t x = target.first; x < end; ++x) {
        weights.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(x) + 0.5 - center) / reach)));
        sum += weights.back();
      }
      for (const double weight : weights) target.weights.push_back(static_cast<float>(weight / sum));
      targets.push_back(std::move(target));
    }
  }
};

template <typename T>
T RoundTo(float value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
  } else {
    return value;
  }
}

// Resizes columns, then rows: both loops run along values that lie side by side, so that the compiler
// vectorizes them. For the second one, kSide rows are interleaved.
template <typename T>
void ResizePlane(const T* from, int64_t width, const Filter& across, const Filter& down, T* to) {
  constexpr size_t kSide = 8;
  const size_t out_width = across.targets.size(), out_height = down.targets.size();
  std::vector<float> sums(static_cast<size_t>(width)), block(sums.size() * kSide);
  for (size_t y = 0; y < out_height; y += kSide) {
    const size_t rows = std::min(kSide, out_height - y);
    for (size_t row = 0; row < rows; ++row) {
      std::ranges::fill(sums, 0.0f);
      const T* pixel = from + down.targets[y + row].first * width;
      for (const float weight : down.targets[y + row].weights) {
        for (float& sum : sums) sum += weight * static_cast<float>(*pixel++);
      }
      for (size_t x = 0; x < sums.size(); ++x) block[x * kSide + row] = sums[x];
    }
    for (size_t x = 0; x < out_width; ++x) {
      const float* values = block.data() + static_cast<size_t>(across.targets[x].first) * kSide;
      std::array<float, kSide> pixels = {};
      for (const float weight : across.targets[x].weights) {
        for (float& pixel : pixels) pixel += weight * *values++;
      }
      for (size_t row = 0; row < rows; ++row) to[(y + row) * out_width + x] = RoundTo<T>(pixels[row]);
    }
  }
}

template <typename T>
void Resize(const HostTensor& image, HostTensor& out) {
  const int64_t channels = image.shape()[0], height = image.shape()[1], width = image.shape()[2];
  const Filter across(width, out.shape()[2]), down(height, out.shape()[1]);
  const T* from = static_cast<const T*>(image.data());
  T* to = static_cast<T*>(out.mutable_data());
  for (int64_t c = 0; c < channels; ++c) {
    ResizePlane(from + c * height * width, width, across, down, to + c * out.shape()[1] * out.shape()[2]);
  }
}

}  // namespace

absl::Status CheckImage(const HostTensor& image, const char* what) {
  const bool has_type = image.dtype() == DType::kU8 || image.dtype() == DType::kF32;
  if (has_type && image.rank() == 3 && image.num_elements() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " takes an image, u8 or f32 [channels, height, width]; it was given ", image.ToString()));
}

absl::StatusOr<HostTensor> ResizeImage(const HostTensor& image, int64_t height, int64_t width) {
  SINTER_RETURN_IF_ERROR(CheckImage(image, "ResizeImage"));
  SINTER_RETURN_IF_ERROR(CheckSizes("ResizeImage", height, width));
  if (height == image.shape()[1] && width == image.shape()[2]) return image.Clone();
  SINTER_ASSIGN_OR_RETURN(HostTensor out,
                          HostTensor::Empty(image.dtype(), {image.shape()[0], height, width}));
  image.dtype() == DType::kU8 ? Resize<uint8_t>(image, out) : Resize<float>(image, out);
  return out;
}

absl::StatusOr<HostTensor> ResizeShorterSide(const HostTensor& image, int64_t size) {
  SINTER_RETURN_IF_ERROR(CheckImage(image, "ResizeShorterSide"));
  SINTER_RETURN_IF_ERROR(CheckSizes("ResizeShorterSide", size, size));
  const int64_t height = image.shape()[1], width = image.shape()[2], shorter = std::min(height, width);
  return ResizeImage(image, size * height / shorter, size * width / shorter);
}

absl::StatusOr<HostTensor> CropImage(const HostTensor& image, int64_t top, int64_t left, int64_t height,
                                     int64_t width) {
  SINTER_RETURN_IF_ERROR(CheckImage(image, "CropImage"));
  SINTER_RETURN_IF_ERROR(CheckSizes("CropImage", height, width));
  const int64_t channels = image.shape()[0], rows = image.shape()[1], columns = image.shape()[2];
  SINTER_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Zeros(image.dtype(), {channels, height, width}));
  const int64_t first = std::max<int64_t>(left, 0), end = std::min(left + width, columns),
                size = SizeOf(image.dtype());
  if (first >= end) return out;
  const auto* from = static_cast<const std::byte*>(image.data());
  auto* to = static_cast<std::byte*>(out.mutable_data());
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + height, rows); ++y) {
      std::memcpy(to + ((c * height + y - top) * width + first - left) * size,
                  from + ((c * rows + y) * columns + first) * size,
                  static_cast<size_t>((end - first) * size));
    }
  }
  return out;
}

absl::StatusOr<HostTensor> FlipImage(const HostTensor& image) {
  SINTER_RETURN_IF_ERROR(CheckImage(image, "FlipImage"));
  SINTER_ASSIGN_OR_RETURN(HostTensor out, image.Clone());
  const int64_t width = out.shape()[2], rows = out.num_elements() / width;
  const auto reverse = [&](auto* values) {
    for (int64_t row = 0; row < rows; ++row) std::reverse(values + row * width, values + (row + 1) * width);
  };
  if (out.dtype() == DType::kU8) {
    reverse(static_cast<uint8_t*>(out.mutable_data()));
  } else {
    reverse(static_cast<float*>(out.mutable_data()));
  }
  return out;
}

}  // namespace sinter::data
