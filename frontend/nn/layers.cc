#include "sinter/frontend/nn/layers.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/nn/quantized_weights.h"

namespace sinter::nn {

namespace {

std::string Channels(const Tensor& x) { return absl::StrCat(x.dim(1), " channels"); }

class LinearLayer : public Layer {
 public:
  LinearLayer(int64_t out, const LinearOptions& options) : out_(out), options_(options) {}
  std::string Describe() const override { return absl::StrCat("Linear(", out_, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() < 1) return Fail(x, "takes a tensor of rank 1 or more");
    if (out_ < 1) return Fail(x, "needs at least one output feature");
    int64_t in = x.dim(-1);
    Shape shape = x.shape();
    // A matmul of two matrices is one library call for every rank of x.
    Tensor rows = x.rank() == 2 ? x : Reshape(x, {x.size() / std::max<int64_t>(in, 1), in});
    Tensor y;
    if (stored_weights() != nullptr) {
      ParameterMaker maker(*this, rows, {}, Where::current());
      y = internal_quantized_weights::MultiplyStored(maker, *stored_weights(), rows, out_);
    } else {
      Tensor weight = MakeParameter(x, "weight", {in, out_}, options_.weight, in, out_,
                                    {options_.in_dim, options_.out_dim});
      if (weight.ok()) y = MatMul(rows, weight, {.math = options_.math});
    }
    if (!y.ok()) return {};
    if (options_.bias) {
      Tensor bias = MakeParameter(x, "bias", {out_}, options_.bias_init, in, out_, {options_.out_dim});
      y = y + bias;
    }
    shape.back() = out_;
    return x.rank() == 2 ? y : Reshape(y, shape);
  }
  std::string DescribeInputs(const Tensor& x) const override { return absl::StrCat(x.dim(-1), " inputs"); }

 private:
  int64_t out_;
  LinearOptions options_;
};

class Conv2dLayer : public Layer {
 public:
  Conv2dLayer(int64_t out, std::array<int64_t, 2> kernel, const ConvOptions& options)
      : out_(out), kernel_(kernel), options_(options) {}
  std::string Describe() const override {
    return absl::StrCat("Conv2d(", out_, ", ", kernel_[0], "x", kernel_[1], ")");
  }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() != 4) return Fail(x, "takes images of shape [N, C, H, W]");
    if (options_.groups < 1 || x.dim(1) % options_.groups != 0) {
      return Fail(
          x, absl::StrCat("has ", options_.groups, " groups, which must divide the ", x.dim(1), " channels"));
    }
    if (out_ < 1 || kernel_[0] < 1 || kernel_[1] < 1) {
      return Fail(x, "needs at least one output channel and a window of 1x1 or more");
    }
    int64_t in = x.dim(1) / options_.groups;
    double area = static_cast<double>(kernel_[0] * kernel_[1]);
    double fan_in = static_cast<double>(in) * area, fan_out = static_cast<double>(out_) * area;
    Tensor weight =
        MakeParameter(x, "weight", {out_, in, kernel_[0], kernel_[1]}, options_.weight, fan_in, fan_out);
    sinter::Conv2dOptions conv{options_.strides, options_.padding, options_.dilations, options_.groups,
                               options_.math};
    Tensor y = sinter::Conv2d(x, weight, conv);
    if (!y.ok() || !options_.bias) return y;
    Tensor bias = MakeParameter(x, "bias", {out_}, options_.bias_init, fan_in, fan_out);
    Call call("Conv2d", Where::current(), {y, bias});
    if (!call.ok()) return {};
    return call.Done(call.expr(0) + call.b().broadcastAlong(call.expr(1), call.expr(0), {1}));
  }
  std::string DescribeInputs(const Tensor& x) const override { return Channels(x); }

 private:
  int64_t out_;
  std::array<int64_t, 2> kernel_;
  ConvOptions options_;
};

// A norm with a scale and an offset, or without.
class NormLayer : public Layer {
 protected:
  explicit NormLayer(bool affine) : affine_(affine) {}
  // Returns the parameter of this name and size, or the constant with which it would start.
  Tensor Factor(const Tensor& x, const char* name, int64_t size, double first) {
    if (!affine_) return BuilderOf(x).Full(x.dtype(), {size}, first);
    const auto fan = static_cast<double>(size);
    return MakeParameter(x, name, {size}, Constant(first), fan, fan);
  }

 private:
  bool affine_;
};

class BatchNormLayer : public NormLayer {
 public:
  explicit BatchNormLayer(const BatchNormOptions& options) : NormLayer(options.affine), options_(options) {}
  std::string Describe() const override { return "BatchNorm"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() < 2) return Fail(x, "takes a tensor of rank 2 or more, channels at dimension 1");
    std::string wrong = OutOfBounds("a momentum", options_.momentum, {.low = 0, .high = 1});
    if (!wrong.empty()) return Fail(x, wrong);
    int64_t channels = x.dim(1);
    // Makes the variables in turn and stops at the first error, so that an error that concerns all of them is
    // reported once.
    Tensor scale = Factor(x, "scale", channels, 1), offset;
    Variable mean, variance;
    if (scale.ok()) offset = Factor(x, "offset", channels, 0);
    if (offset.ok()) mean = MakeState(x, "running_mean", {channels}, 0);
    if (mean.ok()) variance = MakeState(x, "running_variance", {channels}, 1);
    if (!variance.ok()) return {};
    Tensor old_mean = ReadState(x, mean), old_variance = ReadState(x, variance);
    if (ModeOf(x) == Mode::kEval) {
      return BatchNormInference(x, scale, offset, old_mean, old_variance, 1, options_.epsilon);
    }
    BatchNormResult batch = BatchNormTraining(x, scale, offset, 1, options_.epsilon);
    if (!batch.result.ok()) return {};
    double count = static_cast<double>(x.size()) / static_cast<double>(std::max<int64_t>(channels, 1));
    double unbiased = count > 1 ? count / (count - 1) : 1.0;
    Update(x, mean, old_mean, batch.mean, 1.0);
    Update(x, variance, old_variance, batch.variance, unbiased);
    return batch.result;
  }
  std::string DescribeInputs(const Tensor& x) const override { return Channels(x); }

 private:
  void Update(const Tensor& x, const Variable& variable, const Tensor& old, const Tensor& batch,
              double factor) {
    WriteState(x, variable,
               old * (1 - options_.momentum) + StopGradient(batch) * (options_.momentum * factor));
  }

  BatchNormOptions options_;
};

class LayerNormLayer : public NormLayer {
 public:
  LayerNormLayer(const NormLayerOptions& options, bool rms)
      : NormLayer(options.affine), epsilon_(options.epsilon), rms_(rms) {}
  std::string Describe() const override { return rms_ ? "RmsNorm" : "LayerNorm"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() < 1) return Fail(x, "takes a tensor of rank 1 or more");
    const Tensor scale = Factor(x, "scale", x.dim(-1), 1);
    if (!scale.ok()) return {};
    if (rms_) return sinter::RmsNorm(x, scale, epsilon_);
    return sinter::LayerNorm(x, scale, Factor(x, "offset", x.dim(-1), 0), epsilon_);
  }
  std::string DescribeInputs(const Tensor& x) const override {
    return absl::StrCat("a width of ", x.dim(-1));
  }

 private:
  double epsilon_;
  bool rms_;
};

class GroupNormLayer : public NormLayer {
 public:
  // No groups: one for each channel.
  GroupNormLayer(std::optional<int64_t> groups, const NormLayerOptions& options)
      : NormLayer(options.affine), groups_(groups), epsilon_(options.epsilon) {}
  std::string Describe() const override {
    return groups_ ? absl::StrCat("GroupNorm(", *groups_, ")") : "InstanceNorm";
  }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() < 2) return Fail(x, "takes a tensor of rank 2 or more, channels at dimension 1");
    const int64_t channels = x.dim(1);
    Tensor scale = Factor(x, "scale", channels, 1), offset;
    if (scale.ok()) offset = Factor(x, "offset", channels, 0);
    return offset.ok() ? sinter::GroupNorm(x, groups_.value_or(channels), scale, offset, epsilon_) : Tensor();
  }
  std::string DescribeInputs(const Tensor& x) const override { return Channels(x); }

 private:
  std::optional<int64_t> groups_;
  double epsilon_;
};

class PReluLayer : public Layer {
 public:
  explicit PReluLayer(const PReluOptions& options) : options_(options) {}
  std::string Describe() const override { return "PRelu"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (!options_.per_channel) {
      const Tensor slope = MakeParameter(x, "slope", {}, Constant(options_.initial), 1, 1);
      return slope.ok() ? sinter::PRelu(x, slope) : Tensor();
    }
    if (x.rank() < 2) return Fail(x, "takes a tensor of rank 2 or more, channels at dimension 1");
    const Tensor slope = MakeParameter(x, "slope", {x.dim(1)}, Constant(options_.initial), 1, 1);
    if (!slope.ok()) return {};
    Shape each(static_cast<size_t>(x.rank() - 1), 1);
    each[0] = x.dim(1);
    return sinter::PRelu(x, Reshape(slope, each));
  }
  std::string DescribeInputs(const Tensor& x) const override {
    return options_.per_channel ? Channels(x) : x.ToString();
  }

 private:
  PReluOptions options_;
};

class EmbeddingLayer : public Layer {
 public:
  EmbeddingLayer(int64_t count, int64_t width, const EmbeddingOptions& options)
      : count_(count), width_(width), options_(options) {}
  std::string Describe() const override { return absl::StrCat("Embedding(", count_, ", ", width_, ")"); }

  Tensor Attend(const Tensor& x, Where where) {
    const CallScope scope(*this, {x}, where);
    if (!scope.ok()) return {};
    if (!IsFloat(x.dtype()) || x.rank() < 1 || x.dim(-1) != width_) {
      return Fail(x, absl::StrCat("attends to floats [..., ", width_, "]"), where);
    }
    const Tensor weight = Vectors(x);
    if (!weight.ok()) return {};
    Shape shape = x.shape();
    const Tensor rows = Reshape(x, {x.size() / width_, width_});
    shape.back() = count_;
    return Reshape(MatMul(rows, Transpose(Cast(weight, x.dtype()), {1, 0})), shape);
  }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.dtype() != DType::kI32 && x.dtype() != DType::kI64) {
      return Fail(x, "takes i32 or i64 ids; Cast(ids, I32) first");
    }
    const Tensor weight = Vectors(x);
    if (!weight.ok()) return {};
    const Tensor rows = Gather(weight, x, 0);
    if (!options_.padding_id) return rows;
    return Select(ExpandDims(Equal(x, *options_.padding_id), -1), StopGradient(rows), rows);
  }

 private:
  Tensor Vectors(const Tensor& x) {
    if (count_ < 1 || width_ < 1) return Fail(x, "needs at least one vector of a width of at least 1");
    const std::optional<int64_t>& padding = options_.padding_id;
    if (padding && (*padding < 0 || *padding >= count_)) {
      return Fail(x,
                  absl::StrCat("has a padding_id of ", *padding, "; expected an id from 0 to ", count_ - 1));
    }
    const auto fan_in = static_cast<double>(count_), fan_out = static_cast<double>(width_);
    // MakeParameter() takes the element type from a tensor. The ids are integers, so a float stands in
    // for them.
    Tensor like = Builder(x.function()).Full(options_.dtype, {}, 0);
    return MakeParameter(like, "weight", {count_, width_},
                         padding
                             ? internal_initializer::WithZeroRow(options_.weight, *padding, fan_in, fan_out)
                             : options_.weight,
                         fan_in, fan_out, {"vocabulary", {}});
  }

  int64_t count_, width_;
  EmbeddingOptions options_;
};

// A layer without parameters.
class FunctionLayer : public Layer {
 public:
  FunctionLayer(std::string name, std::function<Tensor(const Tensor&)> function)
      : name_(std::move(name)), function_(std::move(function)) {}
  std::string Describe() const override { return name_; }

 protected:
  Tensor Forward(const Tensor& x) override { return function_(x); }

 private:
  std::string name_;
  std::function<Tensor(const Tensor&)> function_;
};

class DropoutLayer : public Layer {
 public:
  explicit DropoutLayer(double probability) : probability_(probability) {}
  std::string Describe() const override { return absl::StrCat("Dropout(", probability_, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    // Checked in every mode, so that a function in kEval reports the error too.
    std::string wrong = OutOfBounds("a probability", probability_, {.low = 0, .high = 1});
    if (!wrong.empty()) return Fail(x, wrong);
    return ModeOf(x) == Mode::kTrain ? sinter::Dropout(x, probability_) : x;
  }

 private:
  double probability_;
};

class GlobalAvgPoolLayer : public Layer {
 public:
  std::string Describe() const override { return "GlobalAvgPool"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() != 4) return Fail(x, "takes images of shape [N, C, H, W]");
    return Mean(x, {2, 3}, {});
  }
};

class SequentialLayer : public Layer {
 public:
  explicit SequentialLayer(const std::vector<Module>& modules) : modules_(modules) {
    for (size_t i = 0; i < modules_.size(); ++i) AddChildAt(i, modules_[i].layer());
  }
  std::string Describe() const override { return absl::StrCat("Sequential(", modules_.size(), ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    Tensor y = x;
    for (const Module& module : modules_) y = module(y);
    return y;
  }
  size_t size() const { return modules_.size(); }

 private:
  std::vector<Module> modules_;
};

class ResidualLayer : public SequentialLayer {
 public:
  using SequentialLayer::SequentialLayer;
  ResidualLayer(const std::vector<Module>& modules, const Module& shortcut)
      : SequentialLayer(modules), shortcut_(shortcut) {
    AddChild("shortcut", shortcut.layer());
  }
  std::string Describe() const override { return absl::StrCat("Residual(", size(), ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    Tensor y = SequentialLayer::Forward(x);
    Tensor kept = shortcut_ ? (*shortcut_)(x) : x;
    if (!y.ok() || !kept.ok()) return {};
    // A sum with broadcasting would not be a residual.
    if (y.shape() != kept.shape() || y.dtype() != kept.dtype()) return FailToAdd(x, y, kept);
    return kept + y;
  }

 private:
  Tensor FailToAdd(const Tensor& x, const Tensor& y, const Tensor& kept) {
    if (shortcut_) {
      return Fail(x, absl::StrCat("got ", y.ToString(), " from its modules and ", kept.ToString(),
                                  " from its shortcut; they must be of one shape and element type"));
    }
    return Fail(x, absl::StrCat("got ", y.ToString(),
                                " from its modules; they must keep shape and element type, or the residual "
                                "needs a shortcut of the same"));
  }

  std::optional<Module> shortcut_;
};

Module FromFunction(std::string name, std::function<Tensor(const Tensor&)> function) {
  return Module(std::make_shared<FunctionLayer>(std::move(name), std::move(function)));
}

}  // namespace

Linear::Linear(int64_t out_features, const LinearOptions& options)
    : Module(std::make_shared<LinearLayer>(out_features, options)) {}
Conv2d::Conv2d(int64_t out_channels, int64_t kernel, const ConvOptions& options)
    : Conv2d(out_channels, std::array<int64_t, 2>{kernel, kernel}, options) {}
Conv2d::Conv2d(int64_t out_channels, std::array<int64_t, 2> kernel, const ConvOptions& options)
    : Module(std::make_shared<Conv2dLayer>(out_channels, kernel, options)) {}
MaxPool::MaxPool(int64_t window, const Pool2dOptions& options)
    : Module(FromFunction(absl::StrCat("MaxPool(", window, ")"),
                          [=](const Tensor& x) { return MaxPool2d(x, {window, window}, options); })) {}
AvgPool::AvgPool(int64_t window, const Pool2dOptions& options)
    : Module(FromFunction(absl::StrCat("AvgPool(", window, ")"),
                          [=](const Tensor& x) { return AvgPool2d(x, {window, window}, options); })) {}
GlobalAvgPool::GlobalAvgPool() : Module(std::make_shared<GlobalAvgPoolLayer>()) {}
BatchNorm::BatchNorm(const BatchNormOptions& options) : Module(std::make_shared<BatchNormLayer>(options)) {}
LayerNorm::LayerNorm(double epsilon) : LayerNorm(NormLayerOptions{.epsilon = epsilon}) {}
LayerNorm::LayerNorm(const NormLayerOptions& options)
    : Module(std::make_shared<LayerNormLayer>(options, /*rms=*/false)) {}
RmsNorm::RmsNorm(double epsilon) : RmsNorm(NormLayerOptions{.epsilon = epsilon}) {}
RmsNorm::RmsNorm(const NormLayerOptions& options)
    : Module(std::make_shared<LayerNormLayer>(options, /*rms=*/true)) {}
Embedding::Embedding(int64_t count, int64_t width, const EmbeddingOptions& options)
    : Module(std::make_shared<EmbeddingLayer>(count, width, options)) {}
Tensor Embedding::Attend(const Tensor& x, Where where) const {
  return static_cast<EmbeddingLayer&>(*layer()).Attend(x, where);
}
Dropout::Dropout(double probability) : Module(std::make_shared<DropoutLayer>(probability)) {}
Flatten::Flatten(int64_t first_dim)
    : Module(FromFunction("Flatten", [=](const Tensor& x) { return sinter::Flatten(x, first_dim); })) {}
Lambda::Lambda(std::string name, std::function<Tensor(const Tensor&)> function)
    : Module(FromFunction(std::move(name), std::move(function))) {}
Relu::Relu() : Module(FromFunction("Relu", [](const Tensor& x) { return sinter::Relu(x); })) {}
LeakyRelu::LeakyRelu(double alpha)
    : Module(FromFunction("LeakyRelu", [=](const Tensor& x) { return sinter::LeakyRelu(x, alpha); })) {}
Elu::Elu(double alpha)
    : Module(FromFunction("Elu", [=](const Tensor& x) { return sinter::Elu(x, alpha); })) {}
Gelu::Gelu() : Module(FromFunction("Gelu", [](const Tensor& x) { return sinter::Gelu(x); })) {}
GeluTanh::GeluTanh()
    : Module(FromFunction("GeluTanh", [](const Tensor& x) { return sinter::GeluTanh(x); })) {}
Silu::Silu() : Module(FromFunction("Silu", [](const Tensor& x) { return sinter::Silu(x); })) {}
Sigmoid::Sigmoid() : Module(FromFunction("Sigmoid", [](const Tensor& x) { return sinter::Sigmoid(x); })) {}
Tanh::Tanh() : Module(FromFunction("Tanh", [](const Tensor& x) { return sinter::Tanh(x); })) {}
Softplus::Softplus()
    : Module(FromFunction("Softplus", [](const Tensor& x) { return sinter::Softplus(x); })) {}
Relu6::Relu6() : Module(FromFunction("Relu6", [](const Tensor& x) { return sinter::Relu6(x); })) {}
HardSigmoid::HardSigmoid()
    : Module(FromFunction("HardSigmoid", [](const Tensor& x) { return sinter::HardSigmoid(x); })) {}
HardSwish::HardSwish()
    : Module(FromFunction("HardSwish", [](const Tensor& x) { return sinter::HardSwish(x); })) {}
Selu::Selu() : Module(FromFunction("Selu", [](const Tensor& x) { return sinter::Selu(x); })) {}
Mish::Mish() : Module(FromFunction("Mish", [](const Tensor& x) { return sinter::Mish(x); })) {}
Softsign::Softsign()
    : Module(FromFunction("Softsign", [](const Tensor& x) { return sinter::Softsign(x); })) {}
Glu::Glu(int64_t dim) : Module(FromFunction("Glu", [=](const Tensor& x) { return sinter::Glu(x, dim); })) {}
SwiGlu::SwiGlu(int64_t dim)
    : Module(FromFunction("SwiGlu", [=](const Tensor& x) { return sinter::SwiGlu(x, dim); })) {}
PRelu::PRelu(const PReluOptions& options) : Module(std::make_shared<PReluLayer>(options)) {}
GroupNorm::GroupNorm(int64_t groups, double epsilon)
    : GroupNorm(groups, NormLayerOptions{.epsilon = epsilon}) {}
GroupNorm::GroupNorm(int64_t groups, const NormLayerOptions& options)
    : Module(std::make_shared<GroupNormLayer>(groups, options)) {}
InstanceNorm::InstanceNorm(double epsilon) : InstanceNorm(NormLayerOptions{.epsilon = epsilon}) {}
InstanceNorm::InstanceNorm(const NormLayerOptions& options)
    : Module(std::make_shared<GroupNormLayer>(std::nullopt, options)) {}
LocalResponseNorm::LocalResponseNorm(int64_t size, const LocalResponseNormOptions& options)
    : Module(FromFunction(absl::StrCat("LocalResponseNorm(", size, ")"),
                          [=](const Tensor& x) { return sinter::LocalResponseNorm(x, size, options); })) {}
Sequential::Sequential(std::initializer_list<Module> modules) : Sequential(std::vector<Module>(modules)) {}
Sequential::Sequential(const std::vector<Module>& modules)
    : Module(std::make_shared<SequentialLayer>(modules)) {}
Residual::Residual(std::initializer_list<Module> modules) : Residual(std::vector<Module>(modules)) {}
Residual::Residual(const std::vector<Module>& modules) : Module(std::make_shared<ResidualLayer>(modules)) {}
Residual::Residual(const std::vector<Module>& modules, const Module& shortcut)
    : Module(std::make_shared<ResidualLayer>(modules, shortcut)) {}

}  // namespace sinter::nn
