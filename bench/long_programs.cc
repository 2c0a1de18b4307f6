#include "sinter/bench/long_programs.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sinter::bench {

namespace {

constexpr int64_t kBatch = 32, kHidden = 128, kWords = 64, kWidth = 64, kImage = 8, kChannels = 8;

// A GRU cell: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (arXiv 1406.1078).
class GruCell {
 public:
  explicit GruCell(Builder& b) {
    const VariableInit small = {VariableInit::Kind::kUniform, -0.1, 0.1};
    for (const char* part : {"reset", "update", "new"}) {
      of_input_.push_back(
          b.Read(b.MakeVariable(absl::StrCat(part, ".w"), F32, {kHidden, kHidden}, {.init = small})));
      of_state_.push_back(
          b.Read(b.MakeVariable(absl::StrCat(part, ".u"), F32, {kHidden, kHidden}, {.init = small})));
      bias_.push_back(b.Read(b.MakeVariable(absl::StrCat(part, ".b"), F32, {kHidden})));
    }
  }

  Tensor operator()(const Tensor& x, const Tensor& h) const {
    auto linear = [&](size_t i, const Tensor& state) {
      return MatMul(x, of_input_[i]) + MatMul(state, of_state_[i]) + bias_[i];
    };
    Tensor reset = Sigmoid(linear(0, h)), update = Sigmoid(linear(1, h));
    Tensor fresh = Tanh(linear(2, reset * h));
    return update * h + (1.0 - update) * fresh;
  }

 private:
  std::vector<Tensor> of_input_, of_state_, bias_;
};

void Train(Builder& b, const Tensor& loss) {
  optim::Adam{.learning_rate = 1e-3}.Minimize(loss);
  b.Output("loss", loss);
}

void Gru(Builder& b, int64_t steps, bool every_state) {
  Tensor tokens = b.Input("tokens", I32, {steps, kBatch});
  Tensor targets = b.Input("targets", I32, every_state ? Shape{steps, kBatch} : Shape{kBatch});
  Tensor table =
      b.Read(b.MakeVariable("table", F32, {kWords, kHidden}, {.init = {VariableInit::Kind::kNormal, 0, 1}}));
  Tensor embedded = Gather(table, tokens, 0);
  GruCell cell(b);
  Tensor h = b.Zeros(F32, {kBatch, kHidden});
  std::vector<Tensor> states;
  for (int64_t t = 0; t < steps; ++t) {
    h = cell(Squeeze(SliceDim(embedded, 0, t, t + 1), 0), h);
    states.push_back(h);
  }
  Tensor rows = every_state ? Concat(states, 0) : h;
  Train(b, SoftmaxCrossEntropy(nn::Linear(kWords)(rows), Flatten(targets, 0)));
}

void Rnn(Builder& b, int64_t steps) {
  const VariableInit small = {VariableInit::Kind::kUniform, -0.1, 0.1};
  Tensor x = b.Input("x", F32, {steps, kBatch, kHidden}), y = b.Input("y", F32, {kBatch, kHidden});
  Tensor w = b.Read(b.MakeVariable("w", F32, {kHidden, kHidden}, {.init = small}));
  Tensor u = b.Read(b.MakeVariable("u", F32, {kHidden, kHidden}, {.init = small}));
  Tensor h = b.Zeros(F32, {kBatch, kHidden});
  for (int64_t t = 0; t < steps; ++t) {
    h = Tanh(MatMul(Squeeze(SliceDim(x, 0, t, t + 1), 0), w) + MatMul(h, u));
  }
  Train(b, MseLoss(h, y));
}

void Chain(Builder& b, int64_t ops) {
  Tensor x = b.Input("x", F32, {kBatch, kHidden}), y = x;
  for (int64_t i = 0; i < ops; ++i) {
    switch (i % 3) {
      case 0:
        y = Tanh(y);
        break;
      case 1:
        y = y * x;
        break;
      default:
        y = y + 0.5;
    }
  }
  b.Output("y", y);
}

void LayerParameters(Builder& b, int64_t count) {
  Tensor x = b.Input("x", F32, {kBatch, kWidth}), sum = x;
  for (int64_t i = 0; i < count; ++i) {
    Tensor scale = b.Read(b.MakeVariable(absl::StrCat("scale_", i), F32, {kWidth}));
    sum = i % 8 == 7 ? Tanh(sum * scale) : sum + scale;
  }
  Train(b, Mean(Square(sum)));
}

void Layers(Builder& b, int64_t layers, const std::function<Tensor(const Tensor&, int64_t)>& layer) {
  Tensor x = b.Input("x", F32, {kBatch, kWidth}), h = x;
  for (int64_t i = 0; i < layers; ++i) h = layer(h, i);
  Train(b, MseLoss(h, b.Input("y", F32, {kBatch, kWidth})));
}

void Mlp(Builder& b, int64_t layers) {
  Layers(b, layers, [](const Tensor& x, int64_t i) {
    return Relu(nn::Linear(kWidth).Named(absl::StrCat("linear_", i))(x));
  });
}

void Residual(Builder& b, int64_t layers) {
  Layers(b, layers, [](const Tensor& x, int64_t i) {
    Tensor normal = nn::LayerNorm().Named(absl::StrCat("norm_", i))(x);
    return x + nn::Linear(kWidth).Named(absl::StrCat("linear_", i))(Relu(normal));
  });
}

void Convolutions(Builder& b, int64_t layers) {
  Tensor x = b.Input("x", F32, {kBatch, kChannels, kImage, kImage}), h = x;
  for (int64_t i = 0; i < layers; ++i) {
    Tensor normal = nn::BatchNorm().Named(absl::StrCat("norm_", i))(h);
    h = h + nn::Conv2d(kChannels, 3, {.padding = {1, 1, 1, 1}}).Named(absl::StrCat("conv_", i))(Relu(normal));
  }
  Train(b, MseLoss(h, x));
}

void Ports(Builder& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Tensor x = b.Input(absl::StrCat("x", i), F32, {kWidth});
    b.Output(absl::StrCat("y", i), Tanh(x) * 2.0);
  }
}

struct LongProgram {
  std::string_view name;
  void (*build)(Builder&, int64_t length);
};

constexpr LongProgram kPrograms[] = {
    {"gru", [](Builder& b, int64_t steps) { Gru(b, steps, /*every_state=*/false); }},
    {"gru_text", [](Builder& b, int64_t steps) { Gru(b, steps, /*every_state=*/true); }},
    {"rnn", Rnn},
    {"chain", Chain},
    {"parameters", LayerParameters},
    {"mlp", Mlp},
    {"residual", Residual},
    {"convolutions", Convolutions},
    {"ports", Ports},
};

}  // namespace

const std::vector<std::string>& LongProgramNames() {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string>();
    for (const LongProgram& program : kPrograms) all->emplace_back(program.name);
    return all;
  }();
  return *names;
}

absl::StatusOr<Graph> MakeLongProgram(std::string_view name, int64_t length) {
  if (length < 1) return absl::InvalidArgumentError(absl::StrCat("a program of length ", length));
  for (const LongProgram& program : kPrograms) {
    if (program.name != name) continue;
    Graph graph(name);
    graph.Function("train", Mode::kTrain, [&](Builder& b) { program.build(b, length); });
    return graph;
  }
  return absl::NotFoundError(absl::StrCat("no long program ", std::string(name), "; there are ",
                                          absl::StrJoin(LongProgramNames(), ", ")));
}

}  // namespace sinter::bench
