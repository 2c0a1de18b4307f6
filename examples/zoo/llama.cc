// A small Llama (Touvron et al., arXiv 2307.09288): RMS norms, turned positions, shared keys and values,
// gated MLPs. It trains on whole texts, and writes with caches of keys and values in one run on the device.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

struct Sizes {
  int64_t vocabulary, width, layers, heads, kv_heads;
};

// Maps words, i32 [N, time], to scores of the words behind them, [N, time, vocabulary].
class Llama : public nn::LayerOf<Tensor(const Tensor& words)> {
 public:
  explicit Llama(const Sizes& s)
      : words_(Child("words", nn::Embedding(s.vocabulary, s.width, {.weight = nn::Normal(0.1)}))),
        layers_(Child("layers", nn::TransformerEncoder(s.layers, s.heads,
                                                       {.hidden = 3 * s.width,
                                                        .norm = nn::BlockNorm::kRmsNorm,
                                                        .gated = true,
                                                        .causal = true,
                                                        .kv_heads = s.kv_heads,
                                                        .bias = false,
                                                        .rope = sn::RopeOptions{},
                                                        .weight = nn::Normal(0.1),
                                                        .out_weight = nn::Normal(0.1)}))),
        head_(Child("head", nn::Linear(s.vocabulary, {.bias = false, .weight = nn::Normal(0.1)}))) {}

 protected:
  Tensor Forward(const Tensor& words) override { return head_(layers_(words_(words), {})); }

 private:
  nn::Embedding words_;
  nn::TransformerEncoder layers_;
  nn::Linear head_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(8, 4), context = flags.Size(24, 64);
  const Sizes s = {flags.Size(40, 1000), flags.Size(32, 128), flags.Size(2, 4), 4, 2};
  sn::Graph graph("llama", {.seed = flags.seed});
  auto llama = nn::Make<Llama>(s);
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor texts = b.Input("texts", sn::I32, {batch, context + 1});
    Tensor logits = llama(texts[{sn::Range{}, sn::Range{0, -1}}]);
    Tensor loss = sn::SoftmaxCrossEntropy(logits, texts[{sn::Range{}, sn::Range{1, {}}}]);
    optim::AdamW{.learning_rate = 3e-3, .beta2 = 0.95, .weight_decay = 0.1}.Minimize(
        loss, {.hooks = {flags.Watch(b), optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  graph.Function("write", sn::Mode::kEval, [&](sn::Builder& b) {  // The likeliest words, with caches.
    auto next = [&](const Tensor& word, const Tensor&) {
      const nn::KvCaches caches(b, {.context = context});
      return std::pair(sn::ArgMax(llama(word), -1), word[{0, 0}]);
    };
    Tensor text = sn::Scan(b.Zeros(sn::I32, {1, 1}), sn::Steps{context}, next).second;
    Tensor again = sn::ArgMax(llama(text[sn::NewAxis]), -1)[0];  // The same without caches.
    b.Output("text", text);
    b.Output("same", sn::All(sn::Equal(text[sn::Range{1, {}}], again[sn::Range{0, -1}])));
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  const sn::HostTensor texts = data.Texts(batch, context, s.vocabulary);
  for (int64_t step = 0; step < flags.steps; ++step) {
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"texts", texts}}).status());
  }
  SINTER_ASSIGN_OR_RETURN(sn::Outputs out, trainer.session().Run("write", {}));
  SINTER_ASSIGN_OR_RETURN(const double same, out.Scalar("same"));
  if (same == 0) return absl::InternalError("the text with caches differs from that without");
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
