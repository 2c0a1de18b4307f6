#include "sinter/bench/workloads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/status.h"

namespace sinter::bench {

namespace {

// measure.py, element by element.
float UnitFloat(uint64_t seed, uint64_t index) {
  uint64_t z = ((seed << 32) + index) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z = z ^ (z >> 31);
  return static_cast<float>(z >> 40) / static_cast<float>(1 << 24);
}

HostTensor MustMake(DType dtype, const Shape& shape) {
  absl::StatusOr<HostTensor> tensor = HostTensor::Empty(dtype, shape);
  SINTER_CHECK(tensor.ok()) << tensor.status();
  return *std::move(tensor);
}

constexpr int64_t kRows = 4096, kColumns = 4096, kChainElements = 1 << 24;
constexpr int64_t kGptLayers = 4, kGptHeads = 4, kGptWidth = 128, kGptContext = 128, kGptBatch = 32,
                  kGptVocabulary = 65;

// The list of parameters that workloads.py makes, in its order: a parameter's seed is its place from 1.
class Parameters {
 public:
  explicit Parameters(TrainingWorkload& workload) : workload_(workload) {}

  Variable Weight(const Shape& shape, int64_t fan_in) {
    float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in)));
    return Add(Uniform(workload_.parameters.size() + 1, shape, scale));
  }
  Variable Filled(const Shape& shape, float value) {
    HostTensor tensor = MustMake(DType::kF32, shape);
    std::fill_n(static_cast<float*>(tensor.mutable_data()), tensor.num_elements(), value);
    return Add(std::move(tensor));
  }

 private:
  Variable Add(HostTensor value) {
    std::string name = absl::StrCat("p", workload_.parameters.size());
    Variable variable = workload_.graph.Variable(name, DType::kF32, value.shape());
    workload_.parameters.push_back({std::move(name), std::move(value)});
    return variable;
  }

  TrainingWorkload& workload_;
};

struct TrainedModel {
  std::function<Tensor(Builder&, const Tensor& x)> logits;
  std::function<void(const Tensor& loss)> minimize;
};

Tensor Data(Builder& b, std::string_view name, const HostTensor& value, const WorkloadOptions& options) {
  if (!options.data_are_variables) return b.Input(name, value.dtype(), value.shape());
  return b.Read(b.MakeVariable(name, value.dtype(), value.shape(), {.trainable = false}));
}

void AddFunctions(TrainingWorkload& workload, const TrainedModel& model) {
  for (bool train : {true, false}) {
    auto body = [&](Builder& b) {
      Tensor x = Data(b, "x", workload.x, workload.options), y = Data(b, "y", workload.y, workload.options);
      Tensor loss = SoftmaxCrossEntropy(model.logits(b, x), y, Reduction::kMean);
      if (train) model.minimize(loss);
      b.Output("loss", loss);
    };
    workload.graph.Function(train ? "train" : "eval", train ? Mode::kTrain : Mode::kEval, body);
  }
}

TrainingWorkload Lenet(const WorkloadOptions& options) {
  TrainingWorkload w{
      .name = "lenet", .graph = Graph("lenet"), .parameters = {}, .x = {}, .y = {}, .options = options};
  Parameters p(w);
  std::vector<Variable> v = {
      p.Weight({20, 1, 3, 3}, 9), p.Filled({20}, 0),  p.Weight({50, 20, 5, 5}, 500), p.Filled({50}, 0),
      p.Weight({800, 128}, 800),  p.Filled({128}, 0), p.Weight({128, 10}, 128),      p.Filled({10}, 0)};
  w.x = Uniform(1001, {256, 1, 28, 28});
  w.y = Integers(1002, {256}, 10);
  TrainedModel model;
  model.logits = [v, math = options.math](Builder& b, const Tensor& x) {
    auto conv = [&](const Tensor& images, size_t i) {
      Tensor bias = Reshape(b.Read(v[i + 1]), {v[i + 1].shape()[0], 1, 1});
      return AvgPool2d(Relu(Conv2d(images, b.Read(v[i]), {.math = math}) + bias), {2, 2});
    };
    Tensor h = Flatten(conv(conv(x, 0), 2));
    h = Relu(MatMul(h, b.Read(v[4]), {.math = math}) + b.Read(v[5]));
    return MatMul(h, b.Read(v[6]), {.math = math}) + b.Read(v[7]);
  };
  model.minimize = [](const Tensor& loss) { optim::Sgd{.learning_rate = 0.2}.Minimize(loss); };
  AddFunctions(w, model);
  return w;
}

TrainingWorkload Mlp6(const WorkloadOptions& options) {
  TrainingWorkload w{
      .name = "mlp6", .graph = Graph("mlp6"), .parameters = {}, .x = {}, .y = {}, .options = options};
  Parameters p(w);
  const std::vector<int64_t> widths = {784, 2000, 2000, 2000, 2000, 2000, 10};
  std::vector<Variable> v;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    v.push_back(p.Weight({widths[i], widths[i + 1]}, widths[i]));
    v.push_back(p.Filled({widths[i + 1]}, 0));
  }
  w.x = Uniform(1001, {100, 784});
  w.y = Integers(1002, {100}, 10);
  TrainedModel model;
  model.logits = [v, math = options.math](Builder& b, Tensor x) {
    for (size_t i = 0; i < v.size(); i += 2) {
      x = MatMul(x, b.Read(v[i]), {.math = math}) + b.Read(v[i + 1]);
      if (i + 2 < v.size()) x = Relu(x);
    }
    return x;
  };
  model.minimize = [](const Tensor& loss) { optim::Sgd{.learning_rate = 0.01}.Minimize(loss); };
  AddFunctions(w, model);
  return w;
}

Tensor Attention(Builder& b, const Tensor& x, const Tensor& wqkv, const Tensor& bqkv, MathMode math) {
  int64_t depth = kGptWidth / kGptHeads;
  Tensor qkv = MatMul(x, wqkv, {.math = math}) + bqkv;
  qkv = Transpose(Reshape(qkv, {kGptBatch, kGptContext, 3, kGptHeads, depth}), {2, 0, 3, 1, 4});
  std::vector<Tensor> parts = Split(qkv, {1, 1, 1}, 0);
  for (Tensor& part : parts) part = Squeeze(part, 0);
  Tensor scores = MatMul(parts[0], parts[1], {.transpose_b = true, .math = math}) *
                  (1.0 / std::sqrt(static_cast<double>(depth)));
  Tensor rows = b.Iota(I32, {kGptContext, kGptContext}, 0),
         columns = b.Iota(I32, {kGptContext, kGptContext}, 1);
  Tensor weights = Softmax(Select(columns <= rows, scores, -1e9));
  return Reshape(Transpose(MatMul(weights, parts[2], {.math = math}), {0, 2, 1, 3}), x.shape());
}

TrainingWorkload CharGpt(const WorkloadOptions& options) {
  TrainingWorkload w{
      .name = "char_gpt", .graph = Graph("char_gpt"), .parameters = {}, .x = {}, .y = {}, .options = options};
  Parameters p(w);
  constexpr int64_t d = kGptWidth;
  std::vector<Variable> v = {p.Weight({kGptVocabulary, d}, d), p.Weight({kGptContext, d}, d)};
  for (int64_t i = 0; i < kGptLayers; ++i) {
    v.push_back(p.Filled({d}, 1));
    v.push_back(p.Filled({d}, 0));
    v.push_back(p.Weight({d, 3 * d}, d));
    v.push_back(p.Filled({3 * d}, 0));
    v.push_back(p.Weight({d, d}, d));
    v.push_back(p.Filled({d}, 0));
    v.push_back(p.Filled({d}, 1));
    v.push_back(p.Filled({d}, 0));
    v.push_back(p.Weight({d, 4 * d}, d));
    v.push_back(p.Filled({4 * d}, 0));
    v.push_back(p.Weight({4 * d, d}, 4 * d));
    v.push_back(p.Filled({d}, 0));
  }
  v.push_back(p.Filled({d}, 1));
  v.push_back(p.Filled({d}, 0));
  w.x = Integers(1001, {kGptBatch, kGptContext}, kGptVocabulary);
  w.y = Integers(1002, {kGptBatch, kGptContext}, kGptVocabulary);
  TrainedModel model;
  model.logits = [v, math = options.math](Builder& b, const Tensor& tokens) {
    auto at = [&](size_t i) { return b.Read(v[i]); };
    Tensor table = at(0);
    Tensor x = Gather(table, tokens, 0) + at(1);
    for (size_t i = 2; i + 2 < v.size(); i += 12) {
      Tensor a = Attention(b, LayerNorm(x, at(i), at(i + 1)), at(i + 2), at(i + 3), math);
      x = x + MatMul(a, at(i + 4), {.math = math}) + at(i + 5);
      Tensor hidden =
          GeluTanh(MatMul(LayerNorm(x, at(i + 6), at(i + 7)), at(i + 8), {.math = math}) + at(i + 9));
      x = x + MatMul(hidden, at(i + 10), {.math = math}) + at(i + 11);
    }
    return MatMul(LayerNorm(x, at(v.size() - 2), at(v.size() - 1)), table,
                  {.transpose_b = true, .math = math});
  };
  model.minimize = [](const Tensor& loss) {
    optim::AdamW{.learning_rate = 6e-4, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1}
        .Minimize(loss);
  };
  AddFunctions(w, model);
  return w;
}

}  // namespace

HostTensor Uniform(uint64_t seed, const Shape& shape, float scale) {
  HostTensor tensor = MustMake(DType::kF32, shape);
  float* values = static_cast<float*>(tensor.mutable_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    values[i] = (UnitFloat(seed, static_cast<uint64_t>(i)) * 2 - 1) * scale;
  }
  return tensor;
}

HostTensor Integers(uint64_t seed, const Shape& shape, int64_t bound) {
  HostTensor tensor = MustMake(DType::kI32, shape);
  int32_t* values = static_cast<int32_t*>(tensor.mutable_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    float unit = (UnitFloat(seed, static_cast<uint64_t>(i)) * 2 - 1) * 0.5f + 0.5f;
    values[i] =
        static_cast<int32_t>(std::min(static_cast<int64_t>(unit * static_cast<float>(bound)), bound - 1));
  }
  return tensor;
}

absl::StatusOr<TrainingWorkload> MakeTrainingWorkload(std::string_view name, const WorkloadOptions& options) {
  if (name == "lenet") return Lenet(options);
  if (name == "mlp6") return Mlp6(options);
  if (name == "char_gpt") return CharGpt(options);
  return absl::NotFoundError(
      absl::StrCat("no training workload ", std::string(name), "; there are lenet, mlp6, char_gpt"));
}

absl::Status SetParameters(Session& session, const TrainingWorkload& workload) {
  for (const NamedTensor& p : workload.parameters)
    SINTER_RETURN_IF_ERROR(session.WriteVariable(p.name, p.tensor));
  if (!workload.options.data_are_variables) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(session.WriteVariable("x", workload.x));
  return session.WriteVariable("y", workload.y);
}

absl::Status SetInputs(Session& session, BoundFunction& run, const StreamingWorkload& workload) {
  for (const NamedTensor& input : workload.inputs) {
    SINTER_RETURN_IF_ERROR(!workload.options.data_are_variables
                               ? run.SetInput(input.name, input.tensor)
                               : session.WriteVariable(input.name, input.tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<StreamingWorkload> MakeStreamingWorkload(std::string_view name,
                                                        const WorkloadOptions& options) {
  StreamingWorkload w{.name = std::string(name), .graph = Graph(name), .inputs = {}, .options = options};
  if (name == "chain_f32") {
    w.inputs.push_back({"x", Uniform(1, {kChainElements})});
    w.inputs.push_back({"z", Uniform(2, {kChainElements})});
    w.minimal_bytes = 12.0 * kChainElements;
  } else if (name == "softmax_f32" || name == "layer_norm_f32") {
    w.inputs.push_back({"x", Uniform(1, {kRows, kColumns})});
    w.minimal_bytes = 8.0 * kRows * kColumns;
  } else {
    return absl::NotFoundError(
        absl::StrCat("no streaming workload ", w.name, "; there are chain_f32, softmax_f32, layer_norm_f32"));
  }
  if (name == "layer_norm_f32") {
    w.inputs.push_back({"gain", Uniform(2, {kColumns})});
    w.inputs.push_back({"bias", Uniform(3, {kColumns})});
  }
  w.graph.Function("run", [&](Builder& b) {
    std::vector<Tensor> t;
    for (const NamedTensor& input : w.inputs) t.push_back(Data(b, input.name, input.tensor, options));
    if (name == "chain_f32") {
      b.Output("result", GeluTanh(1.5 * t[0] + 0.5) * Sigmoid(t[1]) + t[0]);
    } else if (name == "softmax_f32") {
      b.Output("result", Softmax(t[0]));
    } else {
      b.Output("result", LayerNorm(t[0], t[1], t[2]));
    }
  });
  return w;
}

}  // namespace sinter::bench
