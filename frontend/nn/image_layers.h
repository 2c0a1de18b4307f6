// More layers of images [N, C, H, W], signals [N, C, L] and volumes [N, C, D, H, W]. Conv2d and its pools are
// in layers.h.
//
//   nn::Sequential up{nn::ConvTranspose2d(64, 2, {.strides = {2, 2}}), nn::Relu(), nn::Upsample(2)};
#ifndef SINTER_FRONTEND_NN_IMAGE_LAYERS_H_
#define SINTER_FRONTEND_NN_IMAGE_LAYERS_H_

#include "sinter/frontend/nn/layers.h"

namespace sinter::nn {

struct ConvTransposeOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 4> padding = {0, 0, 0, 0};   // Top, bottom, left, right.
  std::array<int64_t, 2> output_padding = {0, 0};  // Below the stride.
  std::array<int64_t, 2> dilations = {1, 1};
  int64_t groups = 1;
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
// The transposed convolution, which enlarges images (ops/images.h). Parameters: weight [in, out / groups,
// kh, kw] and bias [out].
class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(int64_t out_channels, int64_t kernel, const ConvTransposeOptions& options = {});
  ConvTranspose2d(int64_t out_channels, std::array<int64_t, 2> kernel,
                  const ConvTransposeOptions& options = {});
};

struct SignalConvOptions {
  int64_t stride = 1;
  std::array<int64_t, 2> padding = {0, 0};  // In front and behind.
  int64_t output_padding = 0;               // Rows behind a transposed convolution; 0 otherwise.
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
// Maps signals [N, in, L] to [N, out, L']. Parameters: weight [out, in / groups, k] and bias [out].
class Conv1d : public Module {
 public:
  Conv1d(int64_t out_channels, int64_t kernel, const SignalConvOptions& options = {});
};
// The transposed convolution of signals. Parameters: weight [in, out / groups, k] and bias [out].
class ConvTranspose1d : public Module {
 public:
  ConvTranspose1d(int64_t out_channels, int64_t kernel, const SignalConvOptions& options = {});
};

struct VolumeConvOptions {
  std::array<int64_t, 3> strides = {1, 1, 1};
  std::array<int64_t, 6> padding = {0, 0, 0, 0, 0, 0};  // Front, back, top, bottom, left, right.
  std::array<int64_t, 3> output_padding = {0, 0, 0};    // Elements behind a transposed one.
  std::array<int64_t, 3> dilations = {1, 1, 1};
  int64_t groups = 1;
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
// Maps volumes [N, in, D, H, W] to [N, out, D', H', W']. Parameters: weight [out, in / groups, kd, kh, kw]
// and bias [out].
class Conv3d : public Module {
 public:
  Conv3d(int64_t out_channels, int64_t kernel, const VolumeConvOptions& options = {});
  Conv3d(int64_t out_channels, std::array<int64_t, 3> kernel, const VolumeConvOptions& options = {});
};
// The transposed convolution of volumes. Parameters: weight [in, out / groups, kd, kh, kw] and bias [out].
class ConvTranspose3d : public Module {
 public:
  ConvTranspose3d(int64_t out_channels, int64_t kernel, const VolumeConvOptions& options = {});
  ConvTranspose3d(int64_t out_channels, std::array<int64_t, 3> kernel, const VolumeConvOptions& options = {});
};

// Pools to images of this size (ops/images.h).
class AdaptiveAvgPool : public Module {
 public:
  explicit AdaptiveAvgPool(std::array<int64_t, 2> size);
};
class AdaptiveMaxPool : public Module {
 public:
  explicit AdaptiveMaxPool(std::array<int64_t, 2> size);
};
// Pools to signals of this size.
class AdaptiveAvgPool1d : public Module {
 public:
  explicit AdaptiveAvgPool1d(int64_t size);
};
class AdaptiveMaxPool1d : public Module {
 public:
  explicit AdaptiveMaxPool1d(int64_t size);
};
// Pools to volumes of this size.
class AdaptiveAvgPool3d : public Module {
 public:
  explicit AdaptiveAvgPool3d(std::array<int64_t, 3> size);
};
class AdaptiveMaxPool3d : public Module {
 public:
  explicit AdaptiveMaxPool3d(std::array<int64_t, 3> size);
};

// Resizes images to `factor` times their height and width, or signals and volumes to `factor` times their
// sizes.
class Upsample : public Module {
 public:
  explicit Upsample(int64_t factor,
                    const ResizeOptions& options = {.interpolation = Interpolation::kNearest});
};

class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(int64_t factor);
};
class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(int64_t factor);
};

// Pools of signals. The stride defaults to the window.
class MaxPool1d : public Module {
 public:
  explicit MaxPool1d(int64_t window, const Pool1dOptions& options = {});
};
class AvgPool1d : public Module {
 public:
  explicit AvgPool1d(int64_t window, const Pool1dOptions& options = {});
};

// Pools of volumes. The strides default to the window.
class MaxPool3d : public Module {
 public:
  explicit MaxPool3d(int64_t window, const Pool3dOptions& options = {});
};
class AvgPool3d : public Module {
 public:
  explicit AvgPool3d(int64_t window, const Pool3dOptions& options = {});
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_IMAGE_LAYERS_H_
