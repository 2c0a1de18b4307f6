// Functions of Dataset::Map for images: for training at random, for evaluation fixed.
//
//   data::Dataset train = images.Map(data::RandomCrop(32, {.padding = 4}))
//                             .Map(data::Flip())
//                             .Map(data::Normalize({0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}));
//
// They change one field of the example: `field`, by default the first. It is an image, u8 or f32 [channels,
// height, width]; f32 pixels are in [0, 1]. The type stays, except for ToFloat and Normalize, which give f32.
// The examples of an image set in u8 are smaller, so put ToFloat or Normalize last. Errors: InvalidArgument
// for a field that is no such image, or bad options.
#ifndef SINTER_FRONTEND_DATA_IMAGES_AUGMENT_H_
#define SINTER_FRONTEND_DATA_IMAGES_AUGMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sinter/frontend/data/dataset.h"

namespace sinter::data {

// Resizes the image to height x width, or so that its shorter side gets `size` pixels
// (images/resize_image.h).
MapFunction ResizeTo(int64_t height, int64_t width, size_t field = 0);
MapFunction ResizeShorter(int64_t size, size_t field = 0);

// Takes the middle size x size pixels. Pixels outside of the image are 0.
MapFunction CenterCrop(int64_t size, size_t field = 0);

struct RandomCropOptions {
  int64_t padding = 0;  // Zeros added to each side before.
  size_t field = 0;
};
// Takes size x size pixels at a random place. InvalidArgument if the padded image is smaller.
MapFunction RandomCrop(int64_t size, RandomCropOptions options = {});

struct RandomResizedCropOptions {
  double min_area = 0.08;  // Area of the crop, as a share of the image's.
  double max_area = 1;
  double min_ratio = 3.0 / 4;  // Width / height. Its logarithm is uniform.
  double max_ratio = 4.0 / 3;
  size_t field = 0;
};
// Takes a rectangle of random area and ratio and resizes it to size x size, as Inception's training does
// (Szegedy et al., "Going Deeper with Convolutions", arXiv 1409.4842). After 10 rectangles that do not fit,
// takes the largest in the middle whose ratio is allowed.
MapFunction RandomResizedCrop(int64_t size, RandomResizedCropOptions options = {});

struct FlipOptions {
  double probability = 0.5;
  size_t field = 0;
};
// Exchanges left and right.
MapFunction Flip(FlipOptions options = {});

struct ColorJitterOptions {
  double brightness =
      0;  // Each is multiplied by a factor that is uniform in [1 - this, 1 + this], at least 0.
  double contrast = 0;
  double saturation = 0;
  double hue = 0;  // Turned by a share of the circle that is uniform in [-this, this], at most 0.5.
  size_t field = 0;
};
// Changes brightness (towards black), contrast (towards the mean grey), saturation (towards grey) and hue (in
// HSV), in random order. Pixels stay in range. Images of 1 channel have neither saturation nor hue, which
// must be 0 then.
MapFunction ColorJitter(ColorJitterOptions options);

// Sets a square of size x size pixels to 0. Its middle is uniform over the image, so it may stand out over
// the edge (DeVries and Taylor, arXiv 1708.04552). After Normalize, 0 is the mean.
MapFunction Cutout(int64_t size, size_t field = 0);

// f32 in [0, 1] from u8. An f32 image stays.
MapFunction ToFloat(size_t field = 0);

// (pixel - mean[c]) / deviation[c] of channel c, as f32. u8 is scaled to [0, 1] before. InvalidArgument if
// there are other numbers of means or deviations than channels, or a deviation is not above 0.
MapFunction Normalize(std::vector<double> mean, std::vector<double> deviation, size_t field = 0);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_IMAGES_AUGMENT_H_
