// Makes functions of Dataset::Map from functions of images, for Sinter's own sources.
#ifndef SINTER_FRONTEND_DATA_IMAGES_MAP_IMAGE_H_
#define SINTER_FRONTEND_DATA_IMAGES_MAP_IMAGE_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

using ImageFunction = std::function<absl::StatusOr<HostTensor>(HostTensor image, SplitMix& bits)>;

// Applies `change` to the field of each example. InvalidArgument, which begins with `what`, if it is no
// image.
MapFunction MapImage(const char* what, size_t field, ImageFunction change);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_IMAGES_MAP_IMAGE_H_
