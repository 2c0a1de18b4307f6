// A variational autoencoder of drawn digits (Kingma and Welling, "Auto-Encoding Variational Bayes", arXiv
// 1312.6114): an encoder gives a normal distribution for each image, a decoder draws the image from a sample.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

// The encoder's distribution for each image.
struct Posterior {
  Tensor mean, log_variance;
};

class Encoder : public nn::LayerOf<Posterior(const Tensor& x)> {
 public:
  Encoder(int64_t width, int64_t latent)
      : body_(Child("body", nn::Sequential{nn::Linear(width), nn::Relu(), nn::Linear(width), nn::Relu()})),
        mean_(Child("mean", nn::Linear(latent))),
        log_variance_(Child("log_variance", nn::Linear(latent))) {}

 protected:
  Posterior Forward(const Tensor& x) override {
    Tensor h = body_(x);
    return {mean_(h), log_variance_(h)};
  }

 private:
  nn::Sequential body_;
  nn::Linear mean_, log_variance_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(32, 128), width = flags.Size(64, 512), latent = flags.Size(8, 20);
  sn::Graph graph("vae", {.seed = flags.seed});
  auto encoder = nn::Make<Encoder>(width, latent).Named("encoder");
  auto decoder = nn::Sequential{nn::Linear(width), nn::Relu(), nn::Linear(784)}.Named("decoder");
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = sn::Flatten(b.Input("x", sn::F32, {batch, 1, 28, 28}));
    Tensor noise = b.Input("noise", sn::F32, {batch, latent});
    auto [mean, log_variance] = encoder(x);
    Tensor z = mean + sn::Exp(0.5 * log_variance) * noise;
    Tensor rebuilt = sn::BceWithLogitsLoss(decoder(z), x, sn::Reduction::kSum);
    Tensor divergence = -0.5 * sn::Sum(1 + log_variance - sn::Square(mean) - sn::Exp(log_variance));
    Tensor loss = (rebuilt + divergence) / batch;
    optim::Adam{.learning_rate = 1e-3}.Minimize(loss, {.hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });
  graph.Function("sample", sn::Mode::kEval, [&](sn::Builder& b) {
    b.Output("images", sn::Sigmoid(decoder(b.RandomNormal(sn::F32, {16, latent}))));
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  SINTER_ASSIGN_OR_RETURN(zoo::Digits digits, zoo::MakeDigits(batch));
  for (int64_t step = 0; step < flags.steps; ++step) {
    const sn::HostTensor noise = data.Normal({batch, latent});
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"x", digits.images}, {"noise", noise}}).status());
  }
  SINTER_RETURN_IF_ERROR(trainer.session().Run("sample", {}).status());
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
