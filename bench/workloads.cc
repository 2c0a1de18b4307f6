#include "sinter/bench/workloads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/examples/resnet.h"
#include "sinter/runtime/host/status.h"

namespace sinter::bench {

namespace {

// Returns the same number as measure.py for element `index`.
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
constexpr GptSizes kCharGpt = {
    .layers = 4, .heads = 4, .width = 128, .context = 128, .vocabulary = 65, .batch = 32};

// Creates the parameters of workloads.py in the same order. A parameter's seed is its position, from 1.
class Parameters {
 public:
  explicit Parameters(TrainingWorkload& workload) : workload_(workload) {}

  // `dims`: VariableOptions::dims.
  Variable Weight(const Shape& shape, int64_t fan_in, const std::vector<DimName>& dims = {}) {
    float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in)));
    return Add(Uniform(variables_.size() + 1, shape, scale), dims);
  }
  // Makes a variable drawn from a normal distribution; the workload has no copy of its values.
  Variable Drawn(const Shape& shape, double stddev, const std::vector<DimName>& dims = {}) {
    return Make(shape, {.init = {VariableInit::Kind::kNormal, 0, stddev}, .dims = dims});
  }
  Variable Filled(const Shape& shape, float value, const std::vector<DimName>& dims = {}) {
    HostTensor tensor = MustMake(DType::kF32, shape);
    std::fill_n(static_cast<float*>(tensor.mutable_data()), tensor.num_elements(), value);
    return Add(std::move(tensor), dims);
  }
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  Variable Add(HostTensor value, const std::vector<DimName>& dims) {
    Variable variable = Make(value.shape(), {.dims = dims});
    workload_.parameters.push_back({variable.name(), std::move(value)});
    return variable;
  }
  Variable Make(const Shape& shape, const VariableOptions& options) {
    std::string name = absl::StrCat("p", variables_.size());
    return variables_.emplace_back(workload_.graph.Variable(name, DType::kF32, shape, options));
  }

  TrainingWorkload& workload_;
  std::vector<Variable> variables_;
};

struct TrainedModel {
  std::function<std::vector<Variable>()> parameters;  // Layers create their parameters at their first use.
  std::function<Tensor(Builder&, const Tensor& x)> logits;
  std::function<void(const Tensor& loss)> minimize;
};

Tensor Data(Builder& b, std::string_view name, const HostTensor& value, const WorkloadOptions& options) {
  if (!options.data_are_variables) return b.Input(name, value.dtype(), value.shape());
  std::vector<DimName> dims(value.shape().size());
  dims[0] = kExamplesDim;
  return b.Read(b.MakeVariable(name, value.dtype(), value.shape(), {.trainable = false, .dims = dims}));
}

bool GivesRows(const WorkloadOptions& options) {
  return options.data_are_variables && options.devices > 1 && options.by_rows;
}

Tensor Loss(Builder& b, const TrainingWorkload& w, const TrainedModel& model) {
  Tensor x = Data(b, "x", w.x, w.options), y = Data(b, "y", w.y, w.options);
  if (GivesRows(w.options)) {
    Tensor rows = b.Input("rows", I32, {w.x.shape()[0]});
    x = Gather(x, rows, 0), y = Gather(y, rows, 0);
  }
  // Logits have one row per example or token; labels of texts are [batch, context].
  return SoftmaxCrossEntropy(model.logits(b, x), y.rank() > 1 ? Flatten(y, 0) : y);
}

void AddFunctions(TrainingWorkload& w, const TrainedModel& model) {
  for (bool train : {true, false}) {
    auto body = [&](Builder& b) {
      Tensor loss = Loss(b, w, model);
      if (train) model.minimize(loss);
      b.Output("loss", loss);
    };
    w.graph.Function(train ? "train" : "eval", train ? Mode::kTrain : Mode::kEval, body);
  }
  if (!w.options.gradients) return;
  w.graph.Function("gradients", Mode::kTrain, [&](Builder& b) {
    Tensor loss = Loss(b, w, model);
    b.Output("loss", loss);
    std::vector<Tensor> values;
    const std::vector<Variable> parameters = model.parameters();
    for (const Variable& parameter : parameters) values.push_back(b.Read(parameter));
    std::vector<Tensor> gradients = Gradients(loss, values);
    for (size_t i = 0; i < values.size(); ++i) b.Output(parameters[i].name(), gradients[i]);
  });
}

// Returns a workload without functions, parameters and data. `precision`: unless the options say another.
TrainingWorkload Empty(std::string_view name, const WorkloadOptions& options,
                       Precision precision = Precision::kF32) {
  return {
      .name = std::string(name),
      .graph = Graph(name, {.precision = options.precision.value_or(precision), .float8 = options.float8}),
      .parameters = {},
      .x = {},
      .y = {},
      .rows = {},
      .options = options};
}

TrainingWorkload Lenet(const WorkloadOptions& options) {
  TrainingWorkload w = Empty("lenet", options);
  Parameters p(w);
  std::vector<Variable> v = {
      p.Weight({20, 1, 3, 3}, 9), p.Filled({20}, 0),  p.Weight({50, 20, 5, 5}, 500), p.Filled({50}, 0),
      p.Weight({800, 128}, 800),  p.Filled({128}, 0), p.Weight({128, 10}, 128),      p.Filled({10}, 0)};
  const int64_t batch = 256 * options.devices;
  w.x = Uniform(1001, {batch, 1, 28, 28});
  w.y = Integers(1002, {batch}, 10);
  TrainedModel model{.parameters = [v] { return v; }, .logits = {}, .minimize = {}};
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
  TrainingWorkload w = Empty("mlp6", options);
  Parameters p(w);
  const std::vector<int64_t> widths = {784, 2000, 2000, 2000, 2000, 2000, 10};
  std::vector<Variable> v;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    v.push_back(p.Weight({widths[i], widths[i + 1]}, widths[i]));
    v.push_back(p.Filled({widths[i + 1]}, 0));
  }
  const int64_t batch = 100 * options.devices;
  w.x = Uniform(1001, {batch, 784});
  w.y = Integers(1002, {batch}, 10);
  TrainedModel model{.parameters = [v] { return v; }, .logits = {}, .minimize = {}};
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

// Form of a GPT. All forms are the same model.
struct GptForm {
  GptSizes sizes;
  bool attention_op = false;  // False: attention from matmuls and a softmax.
  MathMode math = MathMode::kIeee;
};

// Computes attention: rows [batch * context, 3 * width] to rows [batch * context, width].
Tensor Mix(Builder& b, const Tensor& rows, const GptForm& form) {
  const GptSizes& s = form.sizes;
  int64_t depth = s.width / s.heads;
  Tensor qkv = Reshape(rows, {s.batch, s.context, 3, s.heads, depth});
  if (form.attention_op) {
    Tensor mixed = Attention(qkv, {.causal = true, .scale = std::nullopt, .math = form.math});
    return Reshape(mixed, {s.batch * s.context, s.width});
  }
  std::vector<Tensor> parts = Split(Transpose(qkv, {2, 0, 3, 1, 4}), {1, 1, 1}, 0);
  for (Tensor& part : parts) part = Squeeze(part, 0);
  Tensor scores = MatMul(parts[0], parts[1], {.transpose_b = true, .math = form.math}) *
                  (1.0 / std::sqrt(static_cast<double>(depth)));
  Tensor to = b.Iota(I32, {s.context, s.context}, 0), from = b.Iota(I32, {s.context, s.context}, 1);
  Tensor weights = Softmax(Select(from <= to, scores, -1e9));
  Tensor mixed = MatMul(weights, parts[2], {.math = form.math});
  return Reshape(Transpose(mixed, {0, 2, 1, 3}), {s.batch * s.context, s.width});
}

// Returns the logits. `v` are the parameters of char_gpt() in workloads.py: token and position tables, twelve
// parameters per block, final scale and offset.
Tensor GptLogits(Builder& b, const std::vector<Variable>& v, const Tensor& tokens, const GptForm& form) {
  const GptSizes& s = form.sizes;
  auto at = [&](size_t i) { return b.Read(v[i]); };
  auto linear = [&](const Tensor& x, size_t i) { return MatMul(x, at(i), {.math = form.math}) + at(i + 1); };
  Tensor table = at(0);
  Tensor x = Reshape(Gather(table, tokens, 0) + at(1), {s.batch * s.context, s.width});
  for (size_t i = 2; i + 2 < v.size(); i += 12) {
    Tensor mixed = Mix(b, linear(LayerNorm(x, at(i), at(i + 1)), i + 2), form);
    x = x + linear(mixed, i + 4);
    x = x + linear(GeluTanh(linear(LayerNorm(x, at(i + 6), at(i + 7)), i + 8)), i + 10);
  }
  Tensor last = LayerNorm(x, at(v.size() - 2), at(v.size() - 1));
  return MatMul(last, table, {.transpose_b = true, .math = form.math});
}

// Creates a matrix for a fan-in.
using MakeWeight = std::function<Variable(const Shape&, int64_t, const std::vector<DimName>&)>;

// Creates the parameters of a GPT. Their dimensions have the names that parallel::Tensor cuts.
std::vector<Variable> GptParameters(Parameters& p, const GptSizes& s, const MakeWeight& weight) {
  const int64_t d = s.width, depth = d / s.heads;
  auto norm = [&] {
    p.Filled({d}, 1);
    p.Filled({d}, 0);
  };
  auto linear = [&](int64_t in, int64_t out, const DimName& in_dim, const DimName& out_dim) {
    weight({in, out}, in, {in_dim, out_dim});
    p.Filled({out}, 0, {out_dim});
  };
  weight({s.vocabulary, d}, d, {"vocabulary", ""});
  weight({s.context, d}, d, {});
  for (int64_t i = 0; i < s.layers; ++i) {
    norm();
    linear(d, 3 * d, "", {{3}, {s.heads, "heads"}, {depth}});
    linear(d, d, {{s.heads, "heads"}, {depth}}, "");
    norm();
    linear(d, 4 * d, "", "mlp");
    linear(4 * d, d, "mlp", "");
  }
  norm();
  return p.variables();
}

TrainingWorkload Gpt(std::string_view name, const GptForm& form, const WorkloadOptions& options) {
  const bool drawn = name == "gpt2";
  TrainingWorkload w = Empty(name, options, drawn ? Precision::kBf16 : Precision::kF32);
  Parameters p(w);
  const GptSizes& s = form.sizes;
  TrainedModel model;
  const std::vector<Variable> v =
      GptParameters(p, s, [&](const Shape& shape, int64_t fan_in, const std::vector<DimName>& dims) {
        return drawn ? p.Drawn(shape, 0.02, dims) : p.Weight(shape, fan_in, dims);
      });
  model.parameters = [v] { return v; };
  w.x = Integers(1001, {s.batch, s.context}, s.vocabulary);
  w.y = Integers(1002, {s.batch, s.context}, s.vocabulary);
  model.logits = [v, form](Builder& b, const Tensor& tokens) { return GptLogits(b, v, tokens, form); };
  model.minimize = [rate = drawn ? options.gpt2_rate : 6e-4](const Tensor& loss) {
    optim::AdamW{.learning_rate = rate, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1}
        .Minimize(loss);
  };
  AddFunctions(w, model);
  return w;
}

TrainingWorkload CharGpt(const WorkloadOptions& options) {
  GptSizes s = kCharGpt;
  s.batch *= options.devices;
  return Gpt("char_gpt", {.sizes = s, .math = options.math}, options);
}

absl::StatusOr<TrainingWorkload> Gpt2(const WorkloadOptions& options) {
  GptSizes s = options.gpt2;
  s.batch *= options.devices;
  for (int64_t size : {s.layers, s.heads, s.width, s.context, s.vocabulary, s.batch}) {
    if (size < 1) return absl::InvalidArgumentError("gpt2 needs sizes of at least 1");
  }
  if (s.width % s.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("gpt2 has ", s.heads, " heads, which must divide the width of ", s.width));
  }
  return Gpt("gpt2", {.sizes = s, .attention_op = true, .math = options.math}, options);
}

absl::StatusOr<TrainingWorkload> Llama(const WorkloadOptions& options) {
  const LlamaSizes& s = options.llama;
  for (int64_t size : {s.layers, s.heads, s.kv_heads, s.width, s.hidden, s.context, s.vocabulary, s.batch}) {
    if (size < 1) return absl::InvalidArgumentError("llama needs sizes of at least 1");
  }
  const nn::Initializer weight = nn::Normal(0.02);
  const nn::Embedding tokens(s.vocabulary, s.width, {.weight = weight});
  const nn::TransformerEncoder blocks(s.layers, s.heads,
                                      {.hidden = s.hidden,
                                       .norm = nn::BlockNorm::kRmsNorm,
                                       .gated = true,
                                       .causal = true,
                                       .kv_heads = s.kv_heads,
                                       .bias = false,
                                       .rope = RopeOptions{.base = 500000},
                                       .weight = weight,
                                       .out_weight = weight,
                                       .math = options.math});
  TrainingWorkload w = Empty("llama", options, Precision::kBf16);
  const Shape shape = {s.batch * options.devices, s.context};
  w.x = Integers(1001, shape, s.vocabulary);
  w.y = Integers(1002, shape, s.vocabulary);
  TrainedModel model;
  model.parameters = [tokens, blocks] {
    std::vector<Variable> parameters = tokens.parameters();
    for (const Variable& parameter : blocks.parameters()) parameters.push_back(parameter);
    return parameters;
  };
  model.logits = [tokens, blocks](Builder&, const Tensor& x) {
    Tensor logits = tokens.Attend(blocks(tokens(x), {}));
    return Reshape(logits, {-1, logits.dim(-1)});
  };
  model.minimize = [rate = options.gpt2_rate](const Tensor& loss) {
    optim::AdamW{.learning_rate = rate, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1}
        .Minimize(loss);
  };
  AddFunctions(w, model);
  return w;
}

absl::StatusOr<TrainingWorkload> ResNet50(const WorkloadOptions& options) {
  const ResNetSizes& s = options.resnet50;
  if (s.image < 1 || s.batch < 1) return absl::InvalidArgumentError("resnet50 needs sizes of at least 1");
  SINTER_ASSIGN_OR_RETURN(
      const nn::Module net,
      examples::ResNet({.layers = s.layers, .width = s.width, .classes = s.classes, .math = options.math}));
  TrainingWorkload w = Empty("resnet50", options, Precision::kBf16);
  const int64_t batch = s.batch * options.devices;
  w.x = Uniform(1001, {batch, 3, s.image, s.image});
  w.y = Integers(1002, {batch}, s.classes);
  TrainedModel model{.parameters = [net] { return net.parameters(); },
                     .logits = [net](Builder&, const Tensor& x) { return net(x); },
                     .minimize = {}};
  model.minimize = [rate = options.resnet50_rate](const Tensor& loss) {
    optim::Momentum{.learning_rate = rate, .momentum = 0.9}.Minimize(loss, {.hooks = {optim::Decay(1e-4)}});
  };
  AddFunctions(w, model);
  return w;
}

absl::StatusOr<TrainingWorkload> MakeWorkload(std::string_view name, const WorkloadOptions& options) {
  if (name == "lenet") return Lenet(options);
  if (name == "mlp6") return Mlp6(options);
  if (name == "char_gpt") return CharGpt(options);
  if (name == "gpt2") return Gpt2(options);
  if (name == "llama") return Llama(options);
  if (name == "resnet50") return ResNet50(options);
  return absl::NotFoundError(absl::StrCat("no training workload ", std::string(name),
                                          "; there are lenet, mlp6, char_gpt, gpt2, llama, resnet50"));
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
  SINTER_ASSIGN_OR_RETURN(TrainingWorkload workload, MakeWorkload(name, options));
  workload.rows = MustMake(DType::kI32, {workload.x.shape()[0]});
  std::iota(static_cast<int32_t*>(workload.rows.mutable_data()),
            static_cast<int32_t*>(workload.rows.mutable_data()) + workload.rows.num_elements(), 0);
  return workload;
}

std::vector<Argument> DataOf(const TrainingWorkload& workload) {
  if (GivesRows(workload.options)) return {{"rows", workload.rows}};
  if (workload.options.data_are_variables) return {};
  return {{"x", workload.x}, {"y", workload.y}};
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
  w.graph.Function("run", Mode::kTrain, [&](Builder& b) {
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
