#include "sinter/frontend/nn/feature_layers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"

namespace sinter::nn {
namespace {

class MaxoutLayer : public Layer {
 public:
  MaxoutLayer(int64_t out, int64_t pieces, const LinearOptions& options)
      : out_(out), pieces_(pieces), linear_(Child("linear", Linear(out * pieces, options))) {}
  std::string Describe() const override { return absl::StrCat("Maxout(", out_, ", ", pieces_, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (out_ < 1 || pieces_ < 1) return Fail(x, "needs at least one output feature and one piece");
    const Tensor all = linear_(x);
    if (!all.ok()) return {};
    Shape shape = all.shape();
    shape.back() = out_;
    shape.push_back(pieces_);
    return Max(Reshape(all, shape), {-1});
  }

 private:
  int64_t out_, pieces_;
  Linear linear_;
};

class HighwayLayer : public Layer {
 public:
  explicit HighwayLayer(const HighwayOptions& options) : options_(options) {}
  std::string Describe() const override { return "Highway"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() < 1) return Fail(x, "takes a tensor of rank 1 or more");
    if (!plain_) {
      LinearOptions gate = options_.linear;
      gate.bias_init = Constant(options_.gate_bias);
      plain_.emplace(Child("plain", Linear(x.dim(-1), options_.linear)));
      gate_.emplace(Child("gate", Linear(x.dim(-1), gate)));
    }
    const Tensor plain = (*plain_)(x), gate = (*gate_)(x);
    if (!plain.ok() || !gate.ok()) return {};
    const Tensor open = sinter::Sigmoid(gate);
    const Tensor active = options_.activation ? options_.activation(plain) : sinter::Relu(plain);
    return open * active + (1.0 - open) * x;
  }

 private:
  HighwayOptions options_;
  std::optional<Linear> plain_, gate_;
};

class BilinearLayer : public LayerOf<Tensor(const Tensor&, const Tensor&)> {
 public:
  BilinearLayer(int64_t out, const BilinearOptions& options) : out_(out), options_(options) {}
  std::string Describe() const override { return absl::StrCat("Bilinear(", out_, ")"); }

 protected:
  Tensor Forward(const Tensor& x, const Tensor& y) override {
    Shape rest = x.shape(), other = y.shape();
    if (rest.empty() || other.empty()) return Fail(x, "takes tensors of rank 1 or more");
    rest.pop_back();
    other.pop_back();
    if (rest != other || x.dtype() != y.dtype()) {
      return Fail(x, absl::StrCat("takes pairs that differ only in their last dimension, got ", x.ToString(),
                                  " and ", y.ToString()));
    }
    if (out_ < 1) return Fail(x, "needs at least one output feature");
    const int64_t n = x.dim(-1), m = y.dim(-1), rows = x.size() / std::max<int64_t>(n, 1);
    const auto fan_in = static_cast<double>(n * m), fan_out = static_cast<double>(out_);
    const Tensor weight = MakeParameter(x, "weight", {out_, n, m}, options_.weight, fan_in, fan_out);
    if (!weight.ok()) return {};
    // [rows, out * m], then times y.
    const Tensor by_x = MatMul(Reshape(x, {rows, n}), Reshape(Transpose(weight, {1, 0, 2}), {n, out_ * m}),
                               {.math = options_.math});
    Tensor z = Squeeze(
        MatMul(Reshape(by_x, {rows, out_, m}), Reshape(y, {rows, m, 1}), {.math = options_.math}), -1);
    if (options_.bias) z = z + MakeParameter(x, "bias", {out_}, options_.bias_init, fan_in, fan_out);
    rest.push_back(out_);
    return Reshape(z, rest);
  }
  std::string DescribeInputs(const Tensor& x) const override { return absl::StrCat(x.dim(-1), " inputs"); }

 private:
  int64_t out_;
  BilinearOptions options_;
};

class EmbeddingBagLayer : public Layer {
 public:
  EmbeddingBagLayer(int64_t count, int64_t width, const EmbeddingBagOptions& options)
      : count_(count), width_(width), options_(options) {}
  std::string Describe() const override { return absl::StrCat("EmbeddingBag(", count_, ", ", width_, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    if ((x.dtype() != DType::kI32 && x.dtype() != DType::kI64) || x.rank() < 1) {
      return Fail(x, "takes i32 or i64 ids [..., n]; Cast(ids, I32) first");
    }
    if (count_ < 1 || width_ < 1) return Fail(x, "needs at least one vector of a width of at least 1");
    const Tensor like = BuilderOf(x).Full(options_.dtype, {}, 0);
    const Tensor weight =
        MakeParameter(like, "weight", {count_, width_}, options_.weight, static_cast<double>(count_),
                      static_cast<double>(width_), {"vocabulary", {}});
    if (!weight.ok()) return {};
    if (!options_.padding_id) return Pooled(Gather(weight, x, 0));
    const Tensor counts = ExpandDims(NotEqual(x, *options_.padding_id), -1);
    return Counted(Gather(weight, Select(Squeeze(counts, -1), x, 0), 0), counts);
  }

 private:
  Tensor Pooled(const Tensor& vectors) const {
    switch (options_.pooling) {
      case Pooling::kSum:
        return Sum(vectors, {-2});
      case Pooling::kMean:
        return Mean(vectors, {-2});
      case Pooling::kMax:
        return Max(vectors, {-2});
    }
    return {};
  }
  // The same for bags of which only some ids count.
  Tensor Counted(const Tensor& vectors, const Tensor& counts) const {
    const Tensor number = Sum(Cast(counts, vectors.dtype()), {-2});
    if (options_.pooling != Pooling::kMax) {
      const Tensor sum = Sum(Select(counts, vectors, 0.0), {-2});
      return options_.pooling == Pooling::kSum ? sum : sum / Maximum(number, 1.0);
    }
    const double lowest = vectors.dtype() == DType::kF16 ? -65504 : -1e38;
    return Select(number > 0.0, Max(Select(counts, vectors, lowest), {-2}), 0.0);
  }

  int64_t count_, width_;
  EmbeddingBagOptions options_;
};

class SpatialDropoutLayer : public Layer {
 public:
  explicit SpatialDropoutLayer(double probability) : probability_(probability) {}
  std::string Describe() const override { return absl::StrCat("SpatialDropout(", probability_, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    const std::string wrong = OutOfBounds("a probability", probability_, {.low = 0, .high = 1});
    if (!wrong.empty()) return Fail(x, wrong);
    if (!IsFloat(x.dtype()) || x.rank() < 2) return Fail(x, "takes floats [N, C, ...]");
    if (ModeOf(x) == Mode::kEval) return x;
    Shape channels(static_cast<size_t>(x.rank()), 1);
    channels[0] = x.dim(0);
    channels[1] = x.dim(1);
    return x * sinter::Dropout(BuilderOf(x).Ones(x.dtype(), channels), probability_);
  }

 private:
  double probability_;
};

}  // namespace

Identity::Identity() : Module(Lambda("Identity", [](const Tensor& x) { return x; })) {}
Maxout::Maxout(int64_t out_features, int64_t pieces, const LinearOptions& options)
    : Module(std::make_shared<MaxoutLayer>(out_features, pieces, options)) {}
Highway::Highway(const HighwayOptions& options) : Module(std::make_shared<HighwayLayer>(options)) {}
Bilinear::Bilinear(int64_t out_features, const BilinearOptions& options)
    : ModuleOf(std::make_shared<BilinearLayer>(out_features, options)) {}
EmbeddingBag::EmbeddingBag(int64_t count, int64_t width, const EmbeddingBagOptions& options)
    : Module(std::make_shared<EmbeddingBagLayer>(count, width, options)) {}
SpatialDropout::SpatialDropout(double probability)
    : Module(std::make_shared<SpatialDropoutLayer>(probability)) {}

}  // namespace sinter::nn
