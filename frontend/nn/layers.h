// The layers. Sizes of inputs are inferred at the first use (module.h).
//
//   auto net = nn::Sequential{nn::Conv2d(20, 3), nn::Relu(), nn::AvgPool(2), nn::Flatten(), nn::Linear(10)};
//   Tensor logits = net(images);                      // parameters "0.weight", "0.bias", "4.weight",
//   "4.bias"
#ifndef SINTER_FRONTEND_NN_LAYERS_H_
#define SINTER_FRONTEND_NN_LAYERS_H_

#include <functional>
#include <initializer_list>

#include "sinter/frontend/nn/module.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn {

struct LinearOptions {
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
// x [..., in] to [..., out]: x W + b with weight [in, out], bias [out].
class Linear : public Module {
 public:
  explicit Linear(int64_t out_features, const LinearOptions& options = {});
};

struct ConvOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 4> padding = {0, 0, 0, 0};  // Top, bottom, left, right.
  std::array<int64_t, 2> dilations = {1, 1};
  int64_t groups = 1;
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
// Images [N, in, H, W] to [N, out, H', W']; weight [out, in / groups, k, k], bias [out].
class Conv2d : public Module {
 public:
  Conv2d(int64_t out_channels, int64_t kernel, const ConvOptions& options = {});
  Conv2d(int64_t out_channels, std::array<int64_t, 2> kernel, const ConvOptions& options = {});
};

// Strides default to the window.
class MaxPool : public Module {
 public:
  explicit MaxPool(int64_t window, const Pool2dOptions& options = {});
};
class AvgPool : public Module {
 public:
  explicit AvgPool(int64_t window, const Pool2dOptions& options = {});
};

// Images [N, C, H, W] to the means of their channels [N, C].
class GlobalAvgPool : public Module {
 public:
  GlobalAvgPool();
};

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  // From 0 to 1: running = (1 - momentum) * running + momentum * batch
};
// Over all dimensions but 1. Parameters scale and offset; state running_mean, running_variance (unbiased),
// which functions in Mode::kTrain update and functions in Mode::kEval use.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(const BatchNormOptions& options = {});
};
// Over the last dimension. Parameters scale and offset.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(double epsilon = 1e-5);
};
// Over the last dimension. Parameter scale.
class RmsNorm : public Module {
 public:
  explicit RmsNorm(double epsilon = 1e-5);
};

struct EmbeddingOptions {
  DType dtype = DType::kF32;
  Initializer weight = Normal(1);
};
// Integer ids [...] to vectors [..., width]; weight [count, width].
class Embedding : public Module {
 public:
  Embedding(int64_t count, int64_t width, const EmbeddingOptions& options = {});
};

// In functions in Mode::kTrain only.
class Dropout : public Module {
 public:
  explicit Dropout(double probability);
};

// Dimensions from `first_dim` on become one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t first_dim = 1);
};

// Any function of a tensor and the user's line as a layer; `name` describes it in errors and reports.
class Lambda : public Module {
 public:
  Lambda(std::string name, std::function<Tensor(const Tensor&, Where)> function);
};

class Relu : public Module {
 public:
  Relu();
};
class LeakyRelu : public Module {
 public:
  explicit LeakyRelu(double alpha = 0.01);
};
class Elu : public Module {
 public:
  explicit Elu(double alpha = 1.0);
};
class Gelu : public Module {
 public:
  Gelu();
};
class GeluTanh : public Module {
 public:
  GeluTanh();
};
class Silu : public Module {
 public:
  Silu();
};
class Sigmoid : public Module {
 public:
  Sigmoid();
};
class Tanh : public Module {
 public:
  Tanh();
};
class Softplus : public Module {
 public:
  Softplus();
};

// One after the other; children are named "0", "1", ...
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<Module> modules);
  explicit Sequential(const std::vector<Module>& modules);
};

// x plus what a Sequential of the modules makes of x, which must have x's type; children are named as there.
class Residual : public Module {
 public:
  Residual(std::initializer_list<Module> modules);
  explicit Residual(const std::vector<Module>& modules);
  // What `shortcut` makes of x takes the place of x in the sum; this child is named "shortcut".
  //   nn::Residual({nn::Conv2d(64, 3, {.strides = {2, 2}, .padding = {1, 1, 1, 1}}), nn::BatchNorm()},
  //                nn::Conv2d(64, 1, {.strides = {2, 2}}))
  Residual(const std::vector<Module>& modules, const Module& shortcut);
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_LAYERS_H_
