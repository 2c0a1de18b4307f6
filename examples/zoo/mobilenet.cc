// MobileNetV2 (Sandler et al., arXiv 1801.04381): inverted residuals with depthwise convolutions.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

nn::Module ConvNorm(int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  const int64_t p = kernel / 2;
  return nn::Sequential{nn::Conv2d(out, kernel,
                                   {.strides = {stride, stride},
                                    .padding = {p, p, p, p},
                                    .groups = groups,
                                    .bias = false,
                                    .weight = nn::HeNormal()}),
                        nn::BatchNorm()};
}

// Widens by 1x1, filters each channel by 3x3, narrows by 1x1.
nn::Module InvertedResidual(int64_t in, int64_t out, int64_t stride, int64_t expansion) {
  const int64_t wide = in * expansion;
  std::vector<nn::Module> layers;
  if (expansion > 1) {
    layers.push_back(ConvNorm(wide, 1));
    layers.push_back(nn::Relu6());
  }
  layers.push_back(ConvNorm(wide, 3, stride, /*groups=*/wide));
  layers.push_back(nn::Relu6());
  layers.push_back(ConvNorm(out, 1));
  if (stride == 1 && in == out) return nn::Residual(layers);
  return nn::Sequential(layers);
}

struct Stage {
  int64_t expansion, channels, blocks, stride;
};

nn::Module MobileNetV2(int64_t stem, const std::vector<Stage>& stages, int64_t last, int64_t classes) {
  std::vector<nn::Module> layers = {ConvNorm(stem, 3, 2), nn::Relu6()};
  int64_t in = stem;
  for (const Stage& stage : stages) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      layers.push_back(InvertedResidual(in, stage.channels, i == 0 ? stage.stride : 1, stage.expansion));
      in = stage.channels;
    }
  }
  layers.push_back(ConvNorm(last, 1));
  layers.push_back(nn::Relu6());
  layers.push_back(nn::GlobalAvgPool());
  layers.push_back(nn::Linear(classes));
  return nn::Sequential(layers);
}

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(8, 16), size = flags.Size(32, 64), classes = 10;
  const std::vector<Stage> small = {{1, 8, 1, 1}, {6, 12, 2, 2}, {6, 16, 2, 2}};
  const std::vector<Stage> full = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                   {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  sn::Graph graph("mobilenet", {.seed = flags.seed});
  nn::Module net = MobileNetV2(flags.Size(8, 32), flags.large ? full : small, flags.Size(64, 1280), classes);
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = b.Input("x", sn::F32, {batch, 3, size, size});
    Tensor loss = sn::SoftmaxCrossEntropy(net(x), b.Input("labels", sn::I32, {batch}));
    optim::Momentum{.learning_rate = 0.002}.Minimize(loss, {.hooks = {flags.Watch(b), optim::Decay(4e-5)}});
    b.Output("loss", loss);
  });
  graph.Function("predict", sn::Mode::kEval, [&](sn::Builder& b) {
    b.Output("scores", sn::Softmax(net(b.Input("x", sn::F32, {1, 3, size, size}))));
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  const sn::HostTensor x = data.Normal({batch, 3, size, size}), labels = data.Integers({batch}, classes);
  for (int64_t step = 0; step < flags.steps; ++step) {
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"x", x}, {"labels", labels}}).status());
  }
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
