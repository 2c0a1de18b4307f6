// Resizes, crops and flips one image.
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor small, data::ResizeImage(image, 224, 224));
//
// Images are u8 or f32 [channels, height, width]; the result has the same type and channels. InvalidArgument
// for another tensor, and for sizes below 1.
#ifndef SINTER_FRONTEND_DATA_IMAGES_RESIZE_IMAGE_H_
#define SINTER_FRONTEND_DATA_IMAGES_RESIZE_IMAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

// OK for u8 or f32 [channels, height, width] with pixels. `what` begins the message.
absl::Status CheckImage(const HostTensor& image, const char* what);

// Interpolates linearly. Where the image gets smaller, each pixel is a mean over the pixels that it covers,
// weighted by a triangle, so that no patterns appear: Pillow's filter BILINEAR, in f32 arithmetic.
absl::StatusOr<HostTensor> ResizeImage(const HostTensor& image, int64_t height, int64_t width);

// Keeps the ratio of the sides: the shorter one gets `size` pixels, the other is rounded down.
absl::StatusOr<HostTensor> ResizeShorterSide(const HostTensor& image, int64_t size);

// Pixels [top, top + height) x [left, left + width). Those outside of the image are 0.
absl::StatusOr<HostTensor> CropImage(const HostTensor& image, int64_t top, int64_t left, int64_t height,
                                     int64_t width);

// Left becomes right.
absl::StatusOr<HostTensor> FlipImage(const HostTensor& image);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_IMAGES_RESIZE_IMAGE_H_
