// Updates by optimisers and hooks, and layers and functions of quantised numbers.
#include "sinter/bench/function_values/cases.h"
#include "sinter/frontend/quantization/quantization.h"

namespace sinter::bench {

namespace {

// Updates of one matrix, whose gradients differ from run to run, as it does.
constexpr int kUpdates = 8;

template <typename R>
FunctionCase Updates(std::string name, R rule, std::vector<optim::Hook> hooks = {}) {
  return {std::move(name),
          {Floats({6, 4})},
          [rule, hooks](const Call& x) {
            const Variable p = x.b.MakeVariable("p", F32, {6, 4});
            rule.Minimize(Sum(Square(x.b.Read(p)) * x[0]), {.hooks = hooks});
            return Results(x.b.Read(p));
          },
          Mode::kTrain,
          kUpdates};
}

const FunctionCase kOptimizers[] = {
    Updates("optim.Sgd", optim::Sgd{.learning_rate = 0.1}),
    Updates("optim.Momentum", optim::Momentum{.learning_rate = 0.02}),
    Updates("optim.Momentum.nesterov", optim::Momentum{.learning_rate = 0.02, .nesterov = true}),
    Updates("optim.Adam", optim::Adam{.learning_rate = 0.1}),
    Updates("optim.Adam.amsgrad", optim::Adam{.learning_rate = 0.1, .beta2 = 0.6, .amsgrad = true}),
    Updates("optim.AdamW", optim::AdamW{.learning_rate = 0.1, .weight_decay = 0.2}),
    Updates("optim.AdaGrad", optim::AdaGrad{.learning_rate = 0.1}),
    Updates("optim.AdaDelta", optim::AdaDelta{.learning_rate = 2}),
    Updates("optim.RmsProp", optim::RmsProp{.learning_rate = 0.02, .momentum = 0.8}),
    Updates("optim.RmsProp.centered", optim::RmsProp{.learning_rate = 0.02, .alpha = 0.7, .centered = true}),
    Updates("optim.Adamax", optim::Adamax{.learning_rate = 0.1}),
    Updates("optim.NAdam", optim::NAdam{.learning_rate = 0.1}),
    Updates("optim.NAdam.constant", optim::NAdam{.learning_rate = 0.1, .momentum_decay = 0}),
    Updates("optim.Rprop", optim::Rprop{.learning_rate = 0.1}),
    Updates("optim.Momentum.dampened",
            optim::Momentum{.learning_rate = 0.1, .momentum = 0.8, .dampening = 0.3}),
    Updates("optim.AdaGrad.decay",
            optim::AdaGrad{.learning_rate = 0.1, .rate_decay = 0.2, .initial_sum = 0.3}),
    Updates("optim.RAdam", optim::RAdam{.learning_rate = 0.1}),
    Updates("optim.Lion", optim::Lion{.learning_rate = 0.05, .weight_decay = 0.3}),
    Updates("optim.Lamb", optim::Lamb{.learning_rate = 0.1}),
    Updates("optim.Adafactor", optim::Adafactor{.learning_rate = 0.1}),
    Updates("optim.Muon", optim::Muon{.learning_rate = 0.1, .weight_decay = 0.2}),
    Updates("optim.Decay", optim::Adam{.learning_rate = 0.1}, {optim::Decay(0.3)}),
    Updates("optim.ClipNorm", optim::Sgd{.learning_rate = 0.1}, {optim::ClipNorm(1)}),
    Updates("optim.ClipValue", optim::Sgd{.learning_rate = 0.1}, {optim::ClipValue(0.5)}),
};

const FunctionCase kFurtherLayers[] = {
    {"nn.Maxout", {Floats({4, 5})}, [](const Call& x) { return nn::Maxout(3, 4)(x[0]); }},
    {"nn.Highway", {Floats({4, 5})}, [](const Call& x) { return nn::Highway()(x[0]); }},
    {"nn.Mlp.gated",
     {Floats({4, 5})},
     [](const Call& x) { return nn::Mlp({.hidden = 7, .gated = true})(x[0]); }},
    {"nn.SinusoidalPositions",
     {Floats({2, 5, 6})},
     [](const Call& x) { return nn::SinusoidalPositions()(x[0]); }},
    {"nn.MultiHeadAttention.grouped",
     {Floats({2, 5, 8})},
     [](const Call& x) { return nn::MultiHeadAttention(2, {.kv_heads = 1, .rope = RopeOptions{}})(x[0]); }},
    {"nn.ConvTranspose1d",
     {Floats({2, 3, 9})},
     [](const Call& x) { return nn::ConvTranspose1d(4, 3, {.stride = 2, .output_padding = 1})(x[0]); }},
    {"nn.ConvTranspose3d",
     {Floats({2, 3, 3, 4, 5})},
     [](const Call& x) { return nn::ConvTranspose3d(2, 3)(x[0]); }},
    {"nn.Pools",
     {Floats({2, 3, 8, 6})},
     [](const Call& x) {
       return Results{nn::MaxPool(2)(x[0]), nn::AvgPool(2)(x[0]), nn::GlobalAvgPool()(x[0]),
                      nn::AdaptiveAvgPool({3, 4})(x[0]), nn::Upsample(2)(x[0])};
     }},
    {"nn.LocalResponseNorm",
     {Floats({2, 7, 4})},
     [](const Call& x) { return nn::LocalResponseNorm(5)(x[0]); }},
    {"Scan",
     {Floats({3}), Floats({6, 3})},
     [](const Call& x) {
       const auto [last, all] = Scan(x[0], x[1], [](const Tensor& state, const Tensor& now) {
         const Tensor next = Tanh(state * 0.9 + now);
         return std::pair(next, next * now);
       });
       return Results{last, all};
     }},
};

const FunctionCase kQuantized[] = {
    {"Quantize",
     {Floats({4, 6}, -3, 3), Floats({4, 1}, 0.01, 0.03)},
     [](const Call& x) { return Quantize(x[0], x[1]); }},
    {"Dequantize",
     {Integers({4, 6}, -128, 128), Floats({}, 0.01, 0.03)},
     [](const Call& x) { return Dequantize(Cast(x[0], I8), x[1]); }},
    {"FakeQuantize",
     {Floats({4, 6}, -3, 3), Floats({}, 0.01, 0.03)},
     [](const Call& x) { return FakeQuantize(x[0], StopGradient(x[1])); }},
    {"QuantizedMatMul",
     {Floats({3, 8}), Integers({5, 8}, -127, 128), Floats({5, 1}, 0.01, 0.03)},
     [](const Call& x) { return QuantizedMatMul(x[0], Cast(x[1], I8), x[2]); }},
};

std::vector<FunctionCase> AllUpdates() {
  std::vector<FunctionCase> all(std::begin(kOptimizers), std::end(kOptimizers));
  all.insert(all.end(), std::begin(kFurtherLayers), std::end(kFurtherLayers));
  all.insert(all.end(), std::begin(kQuantized), std::end(kQuantized));
  return all;
}

}  // namespace

std::span<const FunctionCase> OptimizerFunctions() {
  static const std::vector<FunctionCase> all = AllUpdates();
  return all;
}

}  // namespace sinter::bench
