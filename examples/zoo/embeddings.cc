// Two models that are mostly tables: word2vec (skip-grams with negative samples, Mikolov et al., arXiv
// 1310.4546) and DLRM, which predicts clicks (Naumov et al., arXiv 1906.00091).
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

class SkipGram : public nn::LayerOf<Tensor(const Tensor& centers, const Tensor& words)> {
 public:
  SkipGram(int64_t vocabulary, int64_t width)
      : centers_(Child("centers", nn::Embedding(vocabulary, width, {.weight = nn::Normal(0.1)}))),
        contexts_(Child("contexts", nn::Embedding(vocabulary, width, {.weight = nn::Normal(0.1)}))) {}

 protected:
  // Scores [N, K] of words [N, K] near the centers [N].
  Tensor Forward(const Tensor& centers, const Tensor& words) override {
    return sn::Einsum("nd,nkd->nk", {centers_(centers), contexts_(words)});
  }

 private:
  nn::Embedding centers_, contexts_;
};

class Dlrm : public nn::LayerOf<Tensor(const Tensor& numbers, const Tensor& ids)> {
 public:
  Dlrm(int64_t tables, int64_t rows, int64_t width)
      : bottom_(Child("bottom",
                      nn::Sequential{nn::Linear(2 * width), nn::Relu(), nn::Linear(width), nn::Relu()})),
        tables_(Children("table", tables, [&](int64_t) { return nn::Embedding(rows, width); })),
        top_(Child("top", nn::Sequential{nn::Linear(2 * width), nn::Relu(), nn::Linear(1)})) {}

 protected:
  // The logits [N] of clicks, from numbers [N, F] and an id [N, tables] for each table.
  Tensor Forward(const Tensor& numbers, const Tensor& ids) override {
    Tensor dense = bottom_(numbers);
    std::vector<Tensor> vectors = {dense};
    for (size_t i = 0; i < tables_.size(); ++i) vectors.push_back(tables_[i](ids[{sn::Ellipsis, i}]));
    Tensor all = sn::Stack(vectors, 1);
    Tensor products = sn::MatMul(all, all, {.transpose_b = true});  // [N, tables + 1, tables + 1]
    std::vector<Tensor> features = {dense};                         // And each product of two vectors.
    for (size_t i = 1; i < vectors.size(); ++i) {
      features.push_back(products[{sn::Ellipsis, i, sn::Range{0, static_cast<int64_t>(i)}}]);
    }
    return sn::Squeeze(top_(sn::Concat(features, 1)), -1);
  }

 private:
  nn::Sequential bottom_;
  std::vector<nn::Embedding> tables_;
  nn::Sequential top_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(64, 256), vocabulary = flags.Size(500, 200000), negatives = 5;
  const int64_t width = flags.Size(16, 64), tables = flags.Size(4, 8), rows = flags.Size(100, 20000);
  sn::Graph graph("embeddings", {.seed = flags.seed});
  auto skip_gram = nn::Make<SkipGram>(vocabulary, width).Named("skip_gram");
  auto dlrm = nn::Make<Dlrm>(tables, rows, width).Named("dlrm");
  graph.Function("word2vec", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor centers = b.Input("centers", sn::I32, {batch});
    Tensor words = b.Input("words", sn::I32, {batch, 1 + negatives});  // The neighbour, then random words.
    Tensor scores = skip_gram(centers, words);
    Tensor near = sn::Softplus(-scores[{sn::Ellipsis, 0}]);
    Tensor far = sn::Sum(sn::Softplus(scores[{sn::Ellipsis, sn::Range{1, {}}}]), {1});
    Tensor loss = sn::Mean(near + far);
    optim::Sgd{.learning_rate = 5}.Minimize(loss, {.hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });
  graph.Function("dlrm", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor numbers = b.Input("numbers", sn::F32, {batch, 13});
    Tensor ids = b.Input("ids", sn::I32, {batch, tables});
    Tensor clicks = b.Input("clicks", sn::F32, {batch});
    Tensor loss = sn::BceWithLogitsLoss(dlrm(numbers, ids), clicks);
    optim::AdaGrad{.learning_rate = 0.02}.Minimize(loss, {.hooks = {flags.Watch(b)}});
    b.Output("loss", loss);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  const sn::HostTensor centers = data.Integers({batch}, vocabulary);
  const sn::HostTensor words = data.Integers({batch, 1 + negatives}, vocabulary);
  const sn::HostTensor numbers = data.Normal({batch, 13}), ids = data.Integers({batch, tables}, rows);
  SINTER_ASSIGN_OR_RETURN(auto values, numbers.Span<float>());
  const sn::HostTensor clicks = zoo::Fill<float>({batch}, [&](int64_t i) { return values[13 * i] > 0; });
  for (int64_t step = 0; step < flags.steps; ++step) {
    SINTER_RETURN_IF_ERROR(trainer.Step("word2vec", {{"centers", centers}, {"words", words}}).status());
    SINTER_RETURN_IF_ERROR(
        trainer.Step("dlrm", {{"numbers", numbers}, {"ids", ids}, {"clicks", clicks}}).status());
  }
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
