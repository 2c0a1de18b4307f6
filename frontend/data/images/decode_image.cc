#include "sinter/frontend/data/images/decode_image.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

constexpr std::array<uint8_t, 3> kJpegBegin = {0xff, 0xd8, 0xff};
constexpr std::array<uint8_t, 8> kPngBegin = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

template <size_t n>
bool BeginsWith(std::span<const std::byte> bytes, const std::array<uint8_t, n>& begin) {
  return bytes.size() >= n &&
         std::equal(begin.begin(), begin.end(), reinterpret_cast<const uint8_t*>(bytes.data()));
}

absl::Status CheckPixels(const std::string& name, int64_t height, int64_t width,
                         const DecodeOptions& options) {
  if (height * width <= options.max_pixels) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(name, ": the image has ", height, " x ", width,
                                                   " pixels, the limit is ", options.max_pixels,
                                                   " (DecodeOptions::max_pixels)"));
}

// Interleaved pixels.
struct Pixels {
  std::vector<uint8_t> values;
  int64_t height = 0;
  int64_t width = 0;
  int samples = 0;  // Samples of a pixel.
};

absl::StatusOr<Pixels> DecodeJpeg(std::span<const std::byte> bytes, const std::string& name,
                                  const DecodeOptions& options) {
  const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitDecompress(), tjDestroy);
  if (handle == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat(name, ": libjpeg-turbo does not start"));
  const auto damaged = [&] {
    return absl::DataLossError(absl::StrCat(name, ": damaged JPEG: ", tjGetErrorStr2(handle.get())));
  };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, space = 0;
  if (tjDecompressHeader3(handle.get(), data, bytes.size(), &width, &height, &subsampling, &space) != 0)
    return damaged();
  if (space == TJCS_CMYK || space == TJCS_YCCK) {
    return absl::UnimplementedError(absl::StrCat(name, ": a JPEG in CMYK; convert it to RGB"));
  }
  SINTER_RETURN_IF_ERROR(CheckPixels(name, height, width, options));
  tjscalingfactor scale = {1, 1};
  for (int eighths = 8; options.shorter_side > 0 && scale.denom < eighths; scale.denom *= 2) {
    const tjscalingfactor half = {1, 2 * scale.denom};
    if (TJSCALED(std::min(width, height), half) < options.shorter_side) break;
  }
  Pixels pixels;
  pixels.width = TJSCALED(width, scale);
  pixels.height = TJSCALED(height, scale);
  pixels.samples = options.channels;
  pixels.values.resize(static_cast<size_t>(pixels.width * pixels.height * pixels.samples));
  // Returns an error also for what libjpeg only warns of, such as an early end.
  if (tjDecompress2(handle.get(), data, bytes.size(), pixels.values.data(), static_cast<int>(pixels.width), 0,
                    static_cast<int>(pixels.height), options.channels == 1 ? TJPF_GRAY : TJPF_RGB,
                    TJFLAG_ACCURATEDCT) != 0) {
    return damaged();
  }
  return pixels;
}

absl::StatusOr<Pixels> DecodePng(std::span<const std::byte> bytes, const std::string& name,
                                 const DecodeOptions& options) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_imagep)> owner(&image, png_image_free);
  const auto damaged = [&] {
    return absl::DataLossError(absl::StrCat(name, ": damaged PNG: ", image.message));
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return damaged();
  Pixels pixels;
  pixels.height = image.height;
  pixels.width = image.width;
  SINTER_RETURN_IF_ERROR(CheckPixels(name, pixels.height, pixels.width, options));
  // libpng would mix the pixels of an alpha channel with a background.
  const bool has_alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  pixels.samples = has_alpha ? 4 : 3;
  pixels.values.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, pixels.values.data(), 0, nullptr) == 0) return damaged();
  if (PNG_IMAGE_FAILED(image)) return damaged();
  return pixels;
}

// The weights of ITU-R BT.601, times 2^16.
uint8_t Grey(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + (1u << 15)) >> 16);
}

absl::StatusOr<HostTensor> ToPlanes(const Pixels& pixels, int channels) {
  SINTER_ASSIGN_OR_RETURN(HostTensor image,
                          HostTensor::Empty(DType::kU8, {channels, pixels.height, pixels.width}));
  auto* const out = static_cast<uint8_t*>(image.mutable_data());
  const int64_t count = pixels.height * pixels.width;
  const uint8_t* from = pixels.values.data();
  if (pixels.samples == 1) {
    std::copy_n(from, count, out);
    return image;
  }
  for (int64_t i = 0; i < count; ++i, from += pixels.samples) {
    if (channels == 1) {
      out[i] = Grey(from);
      continue;
    }
    for (int c = 0; c < 3; ++c) out[c * count + i] = from[c];
  }
  return image;
}

}  // namespace

absl::StatusOr<HostTensor> DecodeImage(std::span<const std::byte> bytes, const std::string& name,
                                       const DecodeOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("images are decoded to 1 or 3 channels, not to ", options.channels));
  }
  absl::StatusOr<Pixels> pixels = absl::InvalidArgumentError(
      absl::StrCat(name, ": no JPEG or PNG image: it has ", bytes.size(), " bytes and begins otherwise"));
  if (BeginsWith(bytes, kJpegBegin)) pixels = DecodeJpeg(bytes, name, options);
  if (BeginsWith(bytes, kPngBegin)) pixels = DecodePng(bytes, name, options);
  if (!pixels.ok()) return pixels.status();
  return ToPlanes(*pixels, options.channels);
}

absl::StatusOr<HostTensor> ReadImage(const std::string& path, const DecodeOptions& options) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  return DecodeImage(file.bytes(), path, options);
}

}  // namespace sinter::data
