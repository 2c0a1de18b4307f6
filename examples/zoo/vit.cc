// A vision transformer (Dosovitskiy et al., arXiv 2010.11929), which reads drawn digits in patches.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

nn::Module Block(int64_t width, int64_t heads) {
  return nn::Sequential{nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(heads)},
                        nn::Residual{nn::LayerNorm(), nn::Linear(4 * width), nn::Gelu(), nn::Linear(width)}};
}

class VisionTransformer : public nn::Layer {
 public:
  VisionTransformer(int64_t width, int64_t heads, int64_t blocks)
      : width_(width),
        patches_(Child("patches", nn::Conv2d(width, 4, {.strides = {4, 4}}))),
        blocks_(Children("block", blocks, [&](int64_t) { return Block(width, heads); })),
        norm_(Child("norm", nn::LayerNorm())),
        head_(Child("head", nn::Linear(10))) {}

 protected:
  Tensor Forward(const Tensor& images) override {
    // [N, width, h, w] to [N, h * w, width].
    Tensor x = sn::Transpose(sn::Flatten(patches_(images), 2), {0, 2, 1});
    const double fan = static_cast<double>(width_);
    Tensor token = MakeParameter(x, "class_token", {1, 1, width_}, nn::Normal(0.02), fan, fan);
    Tensor places = MakeParameter(x, "positions", {x.dim(1) + 1, width_}, nn::Normal(0.02), fan, fan);
    x = sn::Concat({sn::BroadcastTo(token, {x.dim(0), 1, width_}), x}, 1) + places;
    for (const nn::Module& block : blocks_) x = block(x);
    return head_(norm_(x)[{sn::Range{}, 0}]);
  }

 private:
  int64_t width_;
  nn::Conv2d patches_;
  std::vector<nn::Module> blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = 16, width = flags.Size(32, 128);
  sn::Graph graph("vit", {.seed = flags.seed});
  nn::Module net = nn::Make<VisionTransformer>(width, 4, flags.Size(2, 4));
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = b.Input("x", sn::F32, {batch, 1, 28, 28});
    Tensor labels = b.Input("labels", sn::I32, {batch});
    Tensor logits = net(x);
    Tensor loss = sn::SoftmaxCrossEntropy(logits, labels, {.label_smoothing = 0.1});
    auto no_decay = [](optim::AdamW& o) { o.weight_decay = 0; };
    optim::AdamW{.learning_rate = optim::WarmupCosine(1e-3, 5, 100, 1e-5), .weight_decay = 0.05}.Minimize(
        loss, {.groups = {{.of = sn::RankBelow(2), .with = no_decay}},
               .hooks = {flags.Watch(b), optim::ClipNorm(1)}});
    b.Output("loss", loss);
    b.Output("right", sn::Mean(sn::Cast(sn::Equal(sn::ArgMax(logits, 1), labels), sn::F32)));
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  SINTER_ASSIGN_OR_RETURN(zoo::Digits digits, zoo::MakeDigits(batch));
  for (int64_t step = 0; step < flags.steps; ++step) {
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"x", digits.images}, {"labels", digits.labels}}).status());
  }
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
