// The layers. Input sizes are inferred at the first use (module.h).
//
//   auto net = nn::Sequential{nn::Conv2d(20, 3), nn::Relu(), nn::AvgPool(2), nn::Flatten(), nn::Linear(10)};
//   Tensor logits = net(images);      // Parameters "0.weight", "0.bias", "4.weight", "4.bias".
//
// A name replaces a number, so that another layer in front of it changes no name:
//   nn::Sequential{nn::Conv2d(20, 3).Named("stem"), nn::Relu(), nn::Linear(10).Named("head")};
#ifndef SINTER_FRONTEND_NN_LAYERS_H_
#define SINTER_FRONTEND_NN_LAYERS_H_

#include <functional>
#include <initializer_list>
#include <optional>

#include "sinter/frontend/nn/module.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn {

struct LinearOptions {
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
  // Names of the dimensions of the inputs and of the outputs, for parallel::Tensor (compile/parallel.h). In
  // an MLP the first layer's outputs and the second layer's inputs are "mlp".
  DimName in_dim = {};
  DimName out_dim = {};
};
// Maps x [..., in] to [..., out]: x W + b, with weight [in, out] and bias [out].
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
// Maps images [N, in, H, W] to [N, out, H', W']. Parameters: weight [out, in / groups, kh, kw] and bias
// [out].
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

// Maps images [N, C, H, W] to the means of their channels, [N, C].
class GlobalAvgPool : public Module {
 public:
  GlobalAvgPool();
};

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  // In [0, 1]: running = (1 - momentum) * running + momentum * batch.
  bool affine = true;     // False: no scale and no offset.
};
// Normalises over all dimensions except 1, the channels. Parameters: scale and offset. State: running_mean
// and running_variance (unbiased); functions in Mode::kTrain update them, functions in Mode::kEval use them.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(const BatchNormOptions& options = {});
};
struct NormLayerOptions {
  double epsilon = 1e-5;
  bool affine = true;  // False: no scale and no offset.
};
// Normalises over the last dimension. Parameters: scale and offset.
//   nn::LayerNorm({.affine = false})
class LayerNorm : public Module {
 public:
  explicit LayerNorm(double epsilon = 1e-5);
  explicit LayerNorm(const NormLayerOptions& options);
};
// Normalises over the last dimension. Parameter: scale.
class RmsNorm : public Module {
 public:
  explicit RmsNorm(double epsilon = 1e-5);
  explicit RmsNorm(const NormLayerOptions& options);
};

// Normalises groups of channels of each example, x [N, C, ...]. Parameters: scale and offset.
class GroupNorm : public Module {
 public:
  explicit GroupNorm(int64_t groups, double epsilon = 1e-5);
  GroupNorm(int64_t groups, const NormLayerOptions& options);
};
// Normalises each channel of each example, x [N, C, ...]. Parameters: scale and offset.
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(double epsilon = 1e-5);
  explicit InstanceNorm(const NormLayerOptions& options);
};
class LocalResponseNorm : public Module {
 public:
  explicit LocalResponseNorm(int64_t size, const LocalResponseNormOptions& options = {});
};

struct EmbeddingOptions {
  DType dtype = DType::kF32;
  Initializer weight = Normal(1);
  // An id whose vector starts as zeros and gets no gradient. The plan then has the first values of all
  // vectors.
  std::optional<int64_t> padding_id = {};
};
// Maps integer ids [...] to vectors [..., width]. Parameter: weight [count, width], whose rows are the
// "vocabulary" (parallel::Tensor).
class Embedding : public Module {
 public:
  Embedding(int64_t count, int64_t width, const EmbeddingOptions& options = {});
  // x [..., width] times the vectors: [..., count]. An output layer that shares its weights with the inputs
  // (Press and Wolf, arXiv 1608.05859); freezing and parametrizations hold for both.
  //   Tensor logits = tokens.Attend(blocks(tokens(ids)));
  Tensor Attend(const Tensor& x, Where where = Where::current()) const;
};

// Drops elements in functions in Mode::kTrain; returns its input in Mode::kEval.
class Dropout : public Module {
 public:
  explicit Dropout(double probability);
};

// Joins the dimensions from `first_dim` to the last into one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t first_dim = 1);
};

// Makes a layer of any function of a tensor. `name` describes it in errors and reports.
class Lambda : public Module {
 public:
  Lambda(std::string name, std::function<Tensor(const Tensor&)> function);
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
class Relu6 : public Module {
 public:
  Relu6();
};
class HardSigmoid : public Module {
 public:
  HardSigmoid();
};
class HardSwish : public Module {
 public:
  HardSwish();
};
class Selu : public Module {
 public:
  Selu();
};
class Mish : public Module {
 public:
  Mish();
};
class Softsign : public Module {
 public:
  Softsign();
};
class Glu : public Module {
 public:
  explicit Glu(int64_t dim = -1);
};
class SwiGlu : public Module {
 public:
  explicit SwiGlu(int64_t dim = -1);
};
// x where x > 0, else slope * x. Parameter: slope, one, or one a channel of x [N, C, ...].
struct PReluOptions {
  bool per_channel = false;
  double initial = 0.25;
};
class PRelu : public Module {
 public:
  explicit PRelu(const PReluOptions& options = {});
};

// Applies its modules one after the other. Children are named "0", "1", ..., or by their Named().
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<Module> modules);
  explicit Sequential(const std::vector<Module>& modules);
};

// A Sequential of `count` clones of the module (ModuleOf::Clone), named "0", "1", ...
//   nn::Repeat(12, Block(64))
Sequential Repeat(int64_t count, const Module& module, Copying copying = Copying::kInit,
                  Where where = Where::current());

// Adds to x the result of a Sequential of the modules, which must have x's type. Children are named as in
// Sequential.
class Residual : public Module {
 public:
  Residual(std::initializer_list<Module> modules);
  explicit Residual(const std::vector<Module>& modules);
  // Adds shortcut(x) instead of x. The shortcut's child name is "shortcut".
  //   nn::Residual({nn::Conv2d(64, 3, {.strides = {2, 2}, .padding = {1, 1, 1, 1}}), nn::BatchNorm()},
  //                nn::Conv2d(64, 1, {.strides = {2, 2}}))
  Residual(const std::vector<Module>& modules, const Module& shortcut);
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_LAYERS_H_
