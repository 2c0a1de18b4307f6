// Mixes the examples of a batch with each other: functions of LoaderOptions::batch_maps.
//
//   data::Loader::Create(set, {.batch = 128, .batch_maps = {data::Mixup(10, {.alpha = 0.2})}});
//   // x f32 [128, 3, 32, 32]; t f32 [128, 10]: shares of the classes, for SoftmaxCrossEntropy.
//
// Each example is mixed with another one of the batch, by one random permutation of the examples; rows of
// padding stay. The share that an example keeps of itself is one for the batch, drawn from Beta(alpha,
// alpha). Labels, i32 [rows], become shares of the classes, f32 [rows, classes]; rows of padding have shares
// of 0. Ranks mix among their own rows.
//
// Errors: InvalidArgument for images that are not f32, labels that are not i32 [rows] or no class, an alpha
// that is not above 0, and fields that the batch does not have.
#ifndef SINTER_FRONTEND_DATA_IMAGES_MIXES_H_
#define SINTER_FRONTEND_DATA_IMAGES_MIXES_H_

#include <cstddef>
#include <cstdint>

#include "sinter/frontend/data/loader.h"

namespace sinter::data {

struct MixOptions {
  double alpha = 1;  // 1: every share is equally likely. Smaller: shares are closer to 0 and 1.
  size_t field = 0;  // Field of the images.
  size_t label_field = 1;
};

// Adds pixels: share x + (1 - share) other (Zhang et al., "mixup", arXiv 1710.09412). Images are f32 [rows,
// ...].
BatchMap Mixup(int64_t classes, MixOptions options = {});

// Pastes a rectangle of the other image, of 1 - share of the area, at one random place (Yun et al., "CutMix",
// arXiv 1905.04899). The shares of the labels are those of the pixels. Images are f32 [rows, channels,
// height, width].
BatchMap CutMix(int64_t classes, MixOptions options = {});

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_IMAGES_MIXES_H_
