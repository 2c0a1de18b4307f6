// A DCGAN (Radford et al., arXiv 1511.06434) of drawn digits: two networks with an Adam each.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

nn::ModuleOf<Tensor(const Tensor&)> Generator(int64_t width) {
  const nn::Initializer weight = nn::Normal(0.02);
  const nn::ConvTransposeOptions first = {.bias = false, .weight = weight};
  const nn::ConvTransposeOptions twice = {
      .strides = {2, 2}, .padding = {1, 1, 1, 1}, .bias = false, .weight = weight};
  return nn::Sequential{nn::ConvTranspose2d(2 * width, 7, first),  // 7 x 7
                        nn::BatchNorm(),
                        nn::Relu(),
                        nn::ConvTranspose2d(width, 4, twice),  // 14 x 14
                        nn::BatchNorm(),
                        nn::Relu(),
                        nn::ConvTranspose2d(1, 4, twice),  // 28 x 28
                        nn::Tanh()}
      .Named("generator");
}

nn::ModuleOf<Tensor(const Tensor&)> Discriminator(int64_t width) {
  const nn::Initializer weight = nn::Normal(0.02);
  const nn::ConvOptions half = {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .bias = false, .weight = weight};
  return nn::Sequential{nn::Conv2d(width, 4, half),
                        nn::LeakyRelu(0.2),
                        nn::Conv2d(2 * width, 4, half),
                        nn::BatchNorm(),
                        nn::LeakyRelu(0.2),
                        nn::Conv2d(1, 7, {.bias = false, .weight = weight}),
                        nn::Flatten()}
      .Named("discriminator");
}

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(8, 16), width = flags.Size(8, 32), latent = flags.Size(16, 64);
  sn::Graph graph("dcgan", {.seed = flags.seed});
  nn::Module generator = Generator(width), discriminator = Discriminator(width);
  const optim::Adam adam{.learning_rate = 2e-4, .beta1 = 0.5};
  graph.Function("discriminator", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor real = b.Input("real", sn::F32, {batch, 1, 28, 28});
    Tensor fake = sn::StopGradient(generator(b.Input("noise", sn::F32, {batch, latent, 1, 1})));
    Tensor yes = discriminator(real), no = discriminator(fake);  // In this order, for running statistics.
    Tensor loss = sn::BceWithLogitsLoss(yes, 1) + sn::BceWithLogitsLoss(no, 0);
    adam.Minimize(loss, {.parameters = discriminator.parameters(), .hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });
  graph.Function("generator", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor fake = generator(b.Input("noise", sn::F32, {batch, latent, 1, 1}));
    Tensor loss = sn::BceWithLogitsLoss(discriminator(fake), 1);
    adam.Minimize(loss, {.parameters = generator.parameters(), .hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });
  graph.Function("draw", sn::Mode::kEval, [&](sn::Builder& b) {
    b.Output("images", generator(b.RandomNormal(sn::F32, {16, latent, 1, 1})));
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  SINTER_ASSIGN_OR_RETURN(zoo::Digits digits, zoo::MakeDigits(batch, -1, 1));
  for (int64_t step = 0; step < flags.steps; ++step) {
    const sn::HostTensor noise = data.Normal({batch, latent, 1, 1});
    SINTER_RETURN_IF_ERROR(
        trainer.Step("discriminator", {{"real", digits.images}, {"noise", noise}}).status());
    SINTER_RETURN_IF_ERROR(trainer.Step("generator", {{"noise", noise}}).status());
  }
  SINTER_RETURN_IF_ERROR(trainer.session().Run("draw", {}).status());
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
