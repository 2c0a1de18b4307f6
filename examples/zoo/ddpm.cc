// A denoising diffusion model (Ho et al., arXiv 2006.11239) of drawn digits. It keeps an average of its
// weights, with which it draws images in one run on the device.
#include <cmath>

#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

using WithTime = Tensor(const Tensor& x, const Tensor& time);

nn::Conv2d Conv3(int64_t width, int64_t stride = 1) {
  return nn::Conv2d(width, 3, {.strides = {stride, stride}, .padding = {1, 1, 1, 1}});
}

class Block : public nn::LayerOf<WithTime> {
 public:
  explicit Block(int64_t width)
      : first_(Child("first", nn::Sequential{Conv3(width), nn::GroupNorm(4)})),
        time_(Child("time", nn::Linear(width))),
        second_(Child("second", nn::Sequential{nn::Silu(), Conv3(width), nn::GroupNorm(4), nn::Silu()})),
        shortcut_(Child("shortcut", nn::Conv2d(width, 1))) {}

 protected:
  Tensor Forward(const Tensor& x, const Tensor& time) override {
    return shortcut_(x) + second_(first_(x) + time_(time)[{sn::Ellipsis, sn::NewAxis, sn::NewAxis}]);
  }

 private:
  nn::Sequential first_;
  nn::Linear time_;
  nn::Sequential second_;
  nn::Conv2d shortcut_;
};

// Predicts the noise in images [N, 1, 28, 28] after times i32 [N].
class Denoiser : public nn::LayerOf<WithTime> {
 public:
  explicit Denoiser(int64_t width)
      : time_(Child("time", nn::Sequential{nn::Linear(4 * width), nn::Silu()})),
        down1_(Child("down1", nn::Make<Block>(width))),
        down2_(Child("down2", nn::Make<Block>(2 * width))),
        middle_(Child("middle", nn::Make<Block>(4 * width))),
        up2_(Child("up2", nn::Make<Block>(2 * width))),
        up1_(Child("up1", nn::Make<Block>(width))),
        head_(Child("head", nn::Conv2d(1, 1))) {}

 protected:
  Tensor Forward(const Tensor& images, const Tensor& times) override {
    sn::Builder b = BuilderOf(images);
    Tensor rates = sn::Exp(b.Iota(sn::F32, {16}) * (-std::log(1e4) / 16));
    Tensor angles = sn::Cast(times, sn::F32)[{sn::Ellipsis, sn::NewAxis}] * rates;
    Tensor time = time_(sn::Concat({sn::Sin(angles), sn::Cos(angles)}, 1));
    Tensor x1 = down1_(images, time);
    Tensor x2 = down2_(sn::AvgPool2d(x1, {2, 2}), time);
    Tensor x = middle_(sn::AvgPool2d(x2, {2, 2}), time);
    const sn::ResizeOptions nearest = {.interpolation = sn::Interpolation::kNearest};
    x = up2_(sn::Concat({sn::Resize(x, {14, 14}, nearest), x2}, 1), time);
    x = up1_(sn::Concat({sn::Resize(x, {28, 28}, nearest), x1}, 1), time);
    return head_(x);
  }

 private:
  nn::Sequential time_;
  nn::ModuleFor<Block> down1_, down2_, middle_, up2_, up1_;
  nn::Conv2d head_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(4, 8), times = flags.Size(50, 100), width = flags.Size(8, 16);
  const auto beta = [&](int64_t t) { return (1e-4 + (0.02 - 1e-4) * t / (times - 1)) * 1000 / times; };
  double kept = 1;
  const sn::HostTensor signal_table =
      zoo::Fill<float>({times}, [&](int64_t t) { return kept *= 1 - beta(t); });
  const sn::HostTensor beta_table = zoo::Fill<float>({times}, beta);
  sn::Graph graph("ddpm", {.seed = flags.seed});
  auto denoiser = nn::Make<Denoiser>(width);
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = b.Input("x", sn::F32, {batch, 1, 28, 28}), time = b.Input("time", sn::I32, {batch});
    Tensor noise = b.Input("noise", sn::F32, {batch, 1, 28, 28});
    Tensor signal = sn::Reshape(b.Constant(signal_table)[time], {batch, 1, 1, 1});
    Tensor noisy = sn::Sqrt(signal) * x + sn::Sqrt(1 - signal) * noise;
    Tensor loss = sn::MseLoss(denoiser(noisy, time), noise);
    optim::Adam{.learning_rate = 1e-3}.Minimize(
        loss, {.hooks = {flags.Watch(b)}, .average = optim::Ema{.decay = 0.9}});
    b.Output("loss", loss);
  });
  graph.Function("draw", sn::Mode::kEval, [&](sn::Builder& b) {
    optim::UseAverages averages(b);
    auto denoise = [&](const Tensor& x, const Tensor& step) {
      Tensor t = times - 1 - step, signal = b.Constant(signal_table)[t], rate = b.Constant(beta_table)[t];
      Tensor noise = denoiser(x, sn::BroadcastTo(sn::Cast(t, sn::I32), {4}));
      Tensor mean = (x - rate / sn::Sqrt(1 - signal) * noise) / sn::Sqrt(1 - rate);
      Tensor fresh = sn::Select(t > 0, sn::Sqrt(rate), 0) * b.RandomNormal(sn::F32, x.shape());
      return std::pair(mean + fresh, sn::None{});
    };
    b.Output("images", sn::Scan(b.RandomNormal(sn::F32, {4, 1, 28, 28}), sn::Steps{times}, denoise).first);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  SINTER_ASSIGN_OR_RETURN(zoo::Digits digits, zoo::MakeDigits(batch, -1, 1));
  for (int64_t step = 0; step < flags.steps; ++step) {
    const sn::HostTensor time = data.Integers({batch}, times), noise = data.Normal({batch, 1, 28, 28});
    SINTER_RETURN_IF_ERROR(
        trainer.Step("train", {{"x", digits.images}, {"time", time}, {"noise", noise}}).status());
  }
  SINTER_RETURN_IF_ERROR(trainer.session().Run("draw", {}).status());
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
