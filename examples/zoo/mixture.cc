// A language model with a mixture of experts (GShard, Lepikhin et al., arXiv 2006.16668): each word goes to
// two of the experts, each of which has room for so many words.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

// The result, and the loss that keeps the experts equally busy.
using Mixed = std::pair<Tensor, Tensor>;

class Mixture : public nn::LayerOf<Mixed(const Tensor& x)> {
 public:
  Mixture(int64_t experts, int64_t hidden)
      : experts_(experts), hidden_(hidden), router_(Child("router", nn::Linear(experts, {.bias = false}))) {}

 protected:
  Mixed Forward(const Tensor& x) override {
    Tensor words = sn::Reshape(x, {-1, x.dim(-1)});
    const int64_t n = words.dim(0), width = words.dim(1), room = 2 * 2 * n / experts_;
    Tensor p = sn::Softmax(router_(words));
    auto [best, chosen] = sn::TopK(p, 2);
    best = best / sn::Sum(best, {1}, {.keep_dims = true});
    // First choices take their places in the experts before second choices do.
    Tensor taken = sn::OneHot(sn::Reshape(sn::Transpose(chosen, {1, 0}), {-1}), experts_);  // [2 n, experts]
    Tensor place = sn::Sum(taken * (sn::CumSum(taken, 0) - 1), {1});
    Tensor seats = sn::OneHot(sn::Cast(place, sn::I32), room);  // No seat beyond the room.
    Tensor send = sn::Reshape(sn::Einsum("ke,kr->ker", {taken, seats}), {2, n, experts_, room});
    Tensor combine = sn::Einsum("nk,kner->ner", {best, send});

    Tensor in = sn::Einsum("ner,nd->erd", {sn::Sum(send, {0}), words});
    Tensor up = Weight(x, "up", {experts_, width, hidden_}),
           down = Weight(x, "down", {experts_, hidden_, width});
    Tensor out = sn::MatMul(sn::Gelu(sn::MatMul(in, up)), down);
    Tensor y = sn::Einsum("ner,erd->nd", {combine, out});

    Tensor share = sn::Mean(sn::OneHot(chosen[{sn::Ellipsis, 0}], experts_), {0});
    return {sn::Reshape(y, x.shape()), experts_ * sn::Sum(share * sn::Mean(p, {0}))};
  }

 private:
  Tensor Weight(const Tensor& x, const char* name, const sn::Shape& shape) {
    const auto in = static_cast<double>(shape[1]), out = static_cast<double>(shape[2]);
    return MakeParameter(x, name, shape, nn::LeCunNormal(), in, out);
  }

  int64_t experts_, hidden_;
  nn::Linear router_;
};

class Model : public nn::LayerOf<Mixed(const Tensor& words)> {
 public:
  Model(int64_t vocabulary, int64_t width, int64_t experts)
      : words_(Child("words", nn::Embedding(vocabulary, width, {.weight = nn::Normal(0.5)}))),
        attention_(
            Child("attention", nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(4, {.causal = true})})),
        norm_(Child("norm", nn::LayerNorm())),
        mixture_(Child("mixture", nn::Make<Mixture>(experts, 4 * width))),
        head_(Child("head", nn::Sequential{nn::LayerNorm(), nn::Linear(vocabulary)})) {}

 protected:
  Mixed Forward(const Tensor& words) override {
    Tensor x = attention_(words_(words));
    auto [y, balance] = mixture_(norm_(x));
    return {head_(x + y), balance};
  }

 private:
  nn::Embedding words_;
  nn::Residual attention_;
  nn::LayerNorm norm_;
  nn::ModuleFor<Mixture> mixture_;
  nn::Sequential head_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(4, 8), time = flags.Size(16, 64), vocabulary = flags.Size(40, 1000);
  sn::Graph graph("mixture", {.seed = flags.seed});
  auto model = nn::Make<Model>(vocabulary, flags.Size(32, 128), flags.Size(4, 8));
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor texts = b.Input("texts", sn::I32, {batch, time + 1});
    auto [logits, balance] = model(texts[{sn::Range{}, sn::Range{0, -1}}]);
    Tensor loss = sn::SoftmaxCrossEntropy(logits, texts[{sn::Range{}, sn::Range{1, {}}}]) + 0.01 * balance;
    optim::Adam{.learning_rate = 3e-3}.Minimize(loss, {.hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  const sn::HostTensor texts = data.Texts(batch, time, vocabulary);
  for (int64_t step = 0; step < flags.steps; ++step) {
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"texts", texts}}).status());
  }
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
