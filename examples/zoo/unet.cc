// A U-Net (Ronneberger et al., arXiv 1505.04597) with group norms, which finds the discs in noisy images.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

nn::Module Convolutions(int64_t width) {
  const nn::ConvOptions same = {.padding = {1, 1, 1, 1}, .bias = false};
  return nn::Sequential{nn::Conv2d(width, 3, same), nn::GroupNorm(4), nn::Silu(),
                        nn::Conv2d(width, 3, same), nn::GroupNorm(4), nn::Silu()};
}

// Doubles x and joins it to the tensor of this size from the way down.
class Up : public nn::LayerOf<Tensor(const Tensor& x, const Tensor& skip)> {
 public:
  explicit Up(int64_t width)
      : up_(Child("up", nn::ConvTranspose2d(width, 2, {.strides = {2, 2}}))),
        mix_(Child("mix", Convolutions(width))) {}

 protected:
  Tensor Forward(const Tensor& x, const Tensor& skip) override { return mix_(sn::Concat({up_(x), skip}, 1)); }

 private:
  nn::ConvTranspose2d up_;
  nn::Module mix_;
};

class UNet : public nn::Layer {
 public:
  UNet(int64_t width, int64_t levels)
      : downs_(Children("down", levels, [&](int64_t i) { return Convolutions(width << i); })),
        bottom_(Child("bottom", Convolutions(width << levels))),
        ups_(Children("up", levels, [&](int64_t i) { return nn::Make<Up>(width << i); })),
        head_(Child("head", nn::Conv2d(1, 1))) {}

 protected:
  Tensor Forward(const Tensor& images) override {
    Tensor x = images;
    std::vector<Tensor> skips;
    for (const nn::Module& down : downs_) {
      skips.push_back(down(x));
      x = sn::MaxPool2d(skips.back(), {2, 2});
    }
    x = bottom_(x);
    for (size_t i = skips.size(); i-- > 0;) x = ups_[i](x, skips[i]);
    return head_(x);
  }

 private:
  std::vector<nn::Module> downs_;
  nn::Module bottom_;
  std::vector<nn::ModuleFor<Up>> ups_;
  nn::Conv2d head_;
};

// Masks [count, 1, size, size] with a disc each.
sn::HostTensor Discs(zoo::Data& data, int64_t count, int64_t size) {
  float x = 0, y = 0, radius = 0;
  return zoo::Fill<float>({count, 1, size, size}, [&](int64_t i) {
    if (i % (size * size) == 0) {
      x = data.bits().Uniform(0.2f, 0.8f);
      y = data.bits().Uniform(0.2f, 0.8f);
      radius = data.bits().Uniform(0.1f, 0.3f);
    }
    const float dx = static_cast<float>(i % size) / static_cast<float>(size) - x;
    const float dy = static_cast<float>(i / size % size) / static_cast<float>(size) - y;
    return dx * dx + dy * dy < radius * radius;
  });
}

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = 4, size = flags.Size(32, 48), width = flags.Size(8, 16);
  sn::Graph graph("unet", {.seed = flags.seed});
  nn::Module net = nn::Make<UNet>(width, flags.Size(2, 3));
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = b.Input("x", sn::F32, {batch, 1, size, size});
    Tensor mask = b.Input("mask", sn::F32, {batch, 1, size, size});
    Tensor logits = net(x), p = sn::Sigmoid(logits);
    Tensor dice = 1 - (2 * sn::Sum(p * mask) + 1) / (sn::Sum(p) + sn::Sum(mask) + 1);
    Tensor loss = sn::BceWithLogitsLoss(logits, mask) + dice;
    optim::AdamW{.learning_rate = 1e-3}.Minimize(loss, {.hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  const sn::HostTensor mask = Discs(data, batch, size);
  SINTER_ASSIGN_OR_RETURN(auto discs, mask.Span<float>());
  for (int64_t step = 0; step < flags.steps; ++step) {
    const sn::HostTensor x = zoo::Fill<float>(
        mask.shape(), [&](int64_t i) { return discs[i] + data.bits().Uniform(-0.5f, 0.5f); });
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"x", x}, {"mask", mask}}).status());
  }
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
