// Labelled grey images: the result of this folder's loaders.
#ifndef SINTER_FRONTEND_DATA_IMAGE_SET_H_
#define SINTER_FRONTEND_DATA_IMAGE_SET_H_

#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

struct ImageSet {
  HostTensor images;  // u8 [n, height, width], 0 is background.
  HostTensor labels;  // u8 [n].
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_IMAGE_SET_H_
