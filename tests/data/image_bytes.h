// Encoded images for tests, by libpng and libjpeg-turbo.
#ifndef SINTER_TESTS_DATA_IMAGE_BYTES_H_
#define SINTER_TESTS_DATA_IMAGE_BYTES_H_

#include <png.h>
#include <turbojpeg.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

// A pattern without symmetry, u8 [channels, height, width].
inline HostTensor Pattern(int64_t channels, int64_t height, int64_t width) {
  std::vector<uint8_t> values;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x)
        values.push_back(static_cast<uint8_t>(x * 37 + y * 59 + c * 101 + x * y * 3));
    }
  }
  return HostTensor::FromVector<uint8_t>({channels, height, width}, values).value();
}

// A smooth image, which JPEG keeps well.
inline HostTensor Ramp(int64_t channels, int64_t height, int64_t width) {
  std::vector<uint8_t> values;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x)
        values.push_back(static_cast<uint8_t>(40 + 60 * c + 50 * x / width + 40 * y / height));
    }
  }
  return HostTensor::FromVector<uint8_t>({channels, height, width}, values).value();
}

// Rows of pixels, with an alpha of 128 if there are 4 samples and 3 channels.
inline std::vector<uint8_t> Interleave(const HostTensor& image, int64_t samples) {
  const int64_t channels = image.shape()[0], plane = image.num_elements() / channels;
  const auto* from = static_cast<const uint8_t*>(image.data());
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t s = 0; s < samples; ++s) pixels.push_back(s < channels ? from[s * plane + i] : 128);
  }
  return pixels;
}

inline std::string PngOf(const HostTensor& image, bool has_alpha = false) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(image.shape()[1]);
  png.width = static_cast<png_uint_32>(image.shape()[2]);
  const int64_t samples = image.shape()[0] + (has_alpha ? 1 : 0);
  png.format = samples == 1 ? PNG_FORMAT_GRAY : samples == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  const std::vector<uint8_t> pixels = Interleave(image, samples);
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&png, nullptr, &size, 0, pixels.data(), 0, nullptr);
  std::string bytes(size, '\0');
  png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

// Returns a JPEG of quality 100 without subsampling.
inline std::string JpegOf(const HostTensor& image) {
  const bool is_grey = image.shape()[0] == 1;
  const std::vector<uint8_t> pixels = Interleave(image, image.shape()[0]);
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, pixels.data(), static_cast<int>(image.shape()[2]), 0,
              static_cast<int>(image.shape()[1]), is_grey ? TJPF_GRAY : TJPF_RGB, &out, &size,
              is_grey ? TJSAMP_GRAY : TJSAMP_444, 100, 0);
  std::string bytes(reinterpret_cast<char*>(out), size);
  tjFree(out);
  tjDestroy(handle);
  return bytes;
}

}  // namespace sinter::data

#endif  // SINTER_TESTS_DATA_IMAGE_BYTES_H_
