// Language models of an LSTM and of a GRU. The state goes on from one call to the next, in variables, and
// gradients end at the begin of a call (truncated back-propagation through time).
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

// Words to scores of the next words, with recurrent layers of kind R between, whose state is an S.
template <typename R, typename S>
class LanguageModel : public nn::LayerOf<std::pair<Tensor, S>(const Tensor& words, const S& state)> {
 public:
  LanguageModel(int64_t vocabulary, int64_t width, double dropout)
      : embedding_(this->Child("embedding", nn::Embedding(vocabulary, width, {.weight = nn::Normal(0.1)}))),
        recurrent_(this->Child("recurrent", R(width, {.layers = 2, .dropout = dropout}))),
        head_(this->Child("head", nn::Linear(vocabulary))) {}

 protected:
  std::pair<Tensor, S> Forward(const Tensor& words, const S& state) override {
    auto [y, last] = recurrent_(embedding_(words), {.first = state});
    return {head_(y), last};
  }

 private:
  nn::Embedding embedding_;
  R recurrent_;
  nn::Linear head_;
};

Tensor LossOf(const Tensor& logits, const Tensor& texts) {
  return sn::SoftmaxCrossEntropy(logits, texts[{sn::Range{}, sn::Range{1, {}}}]);
}

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(8, 16), time = flags.Size(16, 32), vocabulary = flags.Size(40, 1000);
  const int64_t width = flags.Size(32, 128);
  const sn::Shape state = {2, batch, width};
  sn::Graph graph("recurrent_lm", {.seed = flags.seed});
  using Lstm = LanguageModel<nn::Lstm, nn::LstmState>;
  using Gru = LanguageModel<nn::Gru, Tensor>;
  auto lstm = nn::Make<Lstm>(vocabulary, width, flags.Dropout(0.2)).Named("lstm");
  auto gru = nn::Make<Gru>(vocabulary, width, flags.Dropout(0.2)).Named("gru");

  graph.Function("lstm", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor texts = b.Input("texts", sn::I32, {batch, time + 1});
    sn::Variable h = b.MakeVariable("state/lstm_h", sn::F32, state, {.trainable = false});
    sn::Variable c = b.MakeVariable("state/lstm_c", sn::F32, state, {.trainable = false});
    auto [logits, last] = lstm(texts[{sn::Range{}, sn::Range{0, -1}}], {b.Read(h), b.Read(c)});
    Tensor loss = LossOf(logits, texts);
    optim::Adam{.learning_rate = 0.01}.Minimize(loss, {.hooks = {flags.Watch(b), optim::ClipNorm(1)}});
    b.Assign(h, last.h);
    b.Assign(c, last.c);
    b.Output("loss", loss);
  });
  graph.Function("gru", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor texts = b.Input("texts", sn::I32, {batch, time + 1});
    sn::Variable h = b.MakeVariable("state/gru_h", sn::F32, state, {.trainable = false});
    auto [logits, last] = gru(texts[{sn::Range{}, sn::Range{0, -1}}], b.Read(h));
    Tensor loss = LossOf(logits, texts);
    optim::Adam{.learning_rate = 0.01}.Minimize(loss, {.hooks = {flags.Watch(b), optim::ClipNorm(1)}});
    b.Assign(h, last);
    b.Output("loss", loss);
  });
  // Writes a text on the device: each word is drawn with its probability, by Gumbel's trick.
  graph.Function("write", sn::Mode::kEval, [&](sn::Builder& b) {
    auto word = [&](std::pair<Tensor, Tensor> now, const Tensor&) {
      auto [logits, next] = gru(now.first, now.second);
      Tensor noise = -sn::Log(-sn::Log(b.RandomUniform(sn::F32, {1, 1, vocabulary}, 1e-6, 1)));
      Tensor drawn = sn::ArgMax(logits + noise, -1);
      return std::pair(std::pair(drawn, next), drawn[{0, 0}]);
    };
    std::pair first(b.Zeros(sn::I32, {1, 1}), b.Zeros(sn::F32, {2, 1, width}));
    b.Output("text", sn::Scan(first, sn::Steps{20}, word).second);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  for (int64_t step = 0; step < flags.steps; ++step) {
    const sn::HostTensor texts = data.Texts(batch, time, vocabulary);
    SINTER_RETURN_IF_ERROR(trainer.Step("lstm", {{"texts", texts}}).status());
    SINTER_RETURN_IF_ERROR(trainer.Step("gru", {{"texts", texts}}).status());
  }
  SINTER_ASSIGN_OR_RETURN(sn::Outputs out, trainer.session().Run("write", {}));
  SINTER_ASSIGN_OR_RETURN(auto text, out["text"].Span<int32_t>());
  for (int32_t word : text) std::printf("%d ", word);
  std::printf("\n");
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
