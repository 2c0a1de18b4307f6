// Decodes JPEG and PNG images to tensors of bytes.
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor image, data::ReadImage("cat.jpg"));                    // u8 [3, h, w]
//   SINTER_ASSIGN_OR_RETURN(HostTensor grey, data::DecodeImage(bytes, "cat", {.channels = 1}));
//
// The bytes, not the name, decide the format. Pixels are those of the file: the orientation that a camera
// notes (EXIF) is not applied, and an alpha channel is dropped. Samples of 16 bits become 8 bits. Grey is
// 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), or the luminance of a JPEG.
//
// JPEG is decoded by libjpeg-turbo, PNG by libpng. Errors: DataLoss for a damaged or cut file, also if a
// decoder could show a part of it; InvalidArgument for another format or another number of channels;
// Unimplemented for JPEG in CMYK; ResourceExhausted for more pixels than the limit. Messages begin with
// the name.
#ifndef SINTER_FRONTEND_DATA_IMAGES_DECODE_IMAGE_H_
#define SINTER_FRONTEND_DATA_IMAGES_DECODE_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

struct DecodeOptions {
  int channels = 3;  // 3: red, green, blue. 1: grey.
  // If above 0: a JPEG may come out smaller, by 1/2, 1/4 or 1/8, with a shorter side of at least this number,
  // which saves most of the time for a large photograph that is resized anyway.
  int64_t shorter_side = 0;
  int64_t max_pixels = int64_t{1} << 27;  // Limit for the pixels of the file.
};

// u8 [channels, height, width].
absl::StatusOr<HostTensor> DecodeImage(std::span<const std::byte> bytes, const std::string& name,
                                       const DecodeOptions& options = {});

// Also returns the errors of runtime/formats/file.h.
absl::StatusOr<HostTensor> ReadImage(const std::string& path, const DecodeOptions& options = {});

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_IMAGES_DECODE_IMAGE_H_
