#include "sinter/examples/train_gpt2/gpt2.h"

#include <cmath>
#include <optional>
#include <string>

namespace sinter::examples {

namespace {

// Standard deviation of GPT-2's initial weights. Layers that add to the residual stream divide it by sqrt(2 *
// layers).
constexpr double kDeviation = 0.02;

nn::Module Block(const Gpt2Sizes& sizes) {
  const nn::Initializer inner = nn::Normal(kDeviation),
                        outer = nn::Normal(kDeviation / std::sqrt(2.0 * static_cast<double>(sizes.layers)));
  return nn::Sequential{
      nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(
                                        sizes.heads, {.causal = true, .weight = inner, .out_weight = outer})},
      nn::Residual{nn::LayerNorm(), nn::Linear(4 * sizes.width, {.weight = inner, .out_dim = "mlp"}),
                   nn::GeluTanh(), nn::Linear(sizes.width, {.weight = outer, .in_dim = "mlp"})}};
}

optim::AdamW Rule(const Gpt2Training& training, const optim::Hyper& rate) {
  return {.learning_rate = rate,
          .beta1 = 0.9,
          .beta2 = 0.95,
          .epsilon = 1e-8,
          .weight_decay = training.weight_decay};
}

optim::UpdateOptions<optim::AdamW> Options(const Gpt2Training& training) {
  optim::UpdateOptions<optim::AdamW> options;
  if (training.precision == Precision::kF16) options.loss_scale.emplace();
  if (training.clip_norm > 0) options.hooks = {optim::ClipNorm(training.clip_norm)};
  return options;
}

void AddTraining(Graph& graph, Gpt2& model, const Gpt2Sizes& sizes, const Gpt2Training& training) {
  const bool whole = training.parts == 1;
  graph.Function(whole ? "train" : "accumulate", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", I32, {training.batch, sizes.context});
    Tensor y = b.Input("y", I32, {training.batch, sizes.context});
    Tensor loss = model.Loss(b, x, y);
    if (whole) {
      Rule(training, b.Scalar("lr")).Minimize(loss, Options(training));
    } else {
      Rule(training, 0.0).Accumulate(loss, Options(training));
    }
    b.Log("loss", loss);
  });
  if (whole) return;
  graph.Function("update", Mode::kTrain,
                 [&](Builder& b) { Rule(training, b.Scalar("lr")).ApplyAccumulated(b, Options(training)); });
}

}  // namespace

Gpt2::Gpt2(const Gpt2Sizes& sizes)
    : sizes_(sizes), tokens_(sizes.vocabulary, sizes.width, {.weight = nn::Normal(kDeviation)}) {
  tokens_.Named("tokens");
  for (int64_t i = 0; i < sizes.layers; ++i) {
    blocks_.push_back(Block(sizes));
    blocks_.back().Named("block" + std::to_string(i));
  }
  norm_.Named("norm");
}

Tensor Gpt2::Hidden(Builder& b, const Tensor& tokens) {
  const VariableInit init = nn::Normal(kDeviation).Resolve(0, 0);
  Variable positions = b.MakeVariable("positions", F32, {sizes_.context, sizes_.width}, {.init = init});
  Tensor x = tokens_(tokens) + b.Read(positions);
  for (const nn::Module& block : blocks_) x = block(x);
  return Reshape(norm_(x), {-1, sizes_.width});
}

Tensor Gpt2::Logits(Builder& b, const Tensor& rows) {
  return MatMul(rows, b.Read(tokens_.parameters().front()), {.transpose_b = true});
}

Tensor Gpt2::Loss(Builder& b, const Tensor& x, const Tensor& y) {
  return SoftmaxCrossEntropy(Logits(b, Hidden(b, x)), Flatten(y, 0));
}

Graph BuildGpt2(const Gpt2Sizes& sizes, const Gpt2Training& training) {
  Graph graph("gpt2", {.seed = training.seed, .precision = training.precision, .float8 = training.float8});
  Gpt2 model(sizes);
  AddTraining(graph, model, sizes, training);
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", I32, {training.batch, sizes.context});
    Tensor y = b.Input("y", I32, {training.batch, sizes.context});
    b.Output("loss", model.Loss(b, x, y));
  });
  graph.Function("next", Mode::kEval, [&](Builder& b) {
    Tensor rows = model.Hidden(b, b.Input("window", I32, {1, sizes.context}));
    Tensor last = Gather(rows, ExpandDims(b.Input("at", I32, {}), 0), 0);
    b.Output("logits", model.Logits(b, last));
  });
  return graph;
}

}  // namespace sinter::examples
