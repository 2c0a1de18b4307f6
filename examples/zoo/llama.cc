// A small Llama (Touvron et al., arXiv 2307.09288): RMS norms, turned positions, shared keys and values,
// gated MLPs. It trains on whole texts, and writes with a cache of keys and values in one run on the device.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

struct Sizes {
  int64_t vocabulary, width, layers, heads, kv_heads, context;
};

// Keys and values of the positions so far, [N, context, kv_heads, D], and the position of x, i32 of rank 0.
struct Cache {
  Tensor keys, values, position;
};
using WithCache = std::pair<Tensor, std::optional<Cache>>;
using WithCaches = std::pair<Tensor, std::vector<Cache>>;

nn::Linear Projection(int64_t out) { return nn::Linear(out, {.bias = false, .weight = nn::Normal(0.1)}); }

class Block : public nn::LayerOf<WithCache(const Tensor& x, const std::optional<Cache>& past)> {
 public:
  explicit Block(const Sizes& s)
      : sizes_(s),
        norm1_(Child("norm1", nn::RmsNorm())),
        norm2_(Child("norm2", nn::RmsNorm())),
        q_(Child("q", Projection(s.width))),
        kv_(Child("kv", Projection(2 * s.kv_heads * s.width / s.heads))),
        out_(Child("out", Projection(s.width))),
        up_(Child("up", Projection(6 * s.width))),
        down_(Child("down", Projection(s.width))) {}

 protected:
  WithCache Forward(const Tensor& x, const std::optional<Cache>& past) override {
    const int64_t n = x.dim(0), t = x.dim(1), d = sizes_.width / sizes_.heads;
    const sn::RopeOptions rope = {.first_position = past ? sn::Operand(past->position) : sn::Operand(0)};
    Tensor h = norm1_(x);
    Tensor q = sn::Rope(sn::Reshape(q_(h), {n, t, sizes_.heads, d}), rope);
    std::vector<Tensor> kv = sn::Unbind(sn::Reshape(kv_(h), {n, t, 2, sizes_.kv_heads, d}), 2);
    Tensor keys = sn::Rope(kv[0], rope), values = kv[1];
    sn::AttentionOptions look = {.causal = true};
    std::optional<Cache> next;
    if (past) {
      Tensor places = BuilderOf(x).Iota(sn::I32, {1, sizes_.context, 1, 1}, 1);
      Tensor here = sn::Equal(places, past->position);
      keys = sn::Select(here, keys, past->keys);
      values = sn::Select(here, values, past->values);
      next = {keys, values, past->position + 1};
      look = {.mask = sn::Reshape(places <= past->position, {1, 1, 1, -1})};
    }
    Tensor mixed = sn::Attention(q, keys, values, look);
    Tensor y = x + out_(sn::Reshape(mixed, {n, t, sizes_.width}));
    return {y + down_(sn::SwiGlu(up_(norm2_(y)))), next};
  }

 private:
  Sizes sizes_;
  nn::RmsNorm norm1_, norm2_;
  nn::Linear q_, kv_, out_, up_, down_;
};

// Scores of the next words; with a cache for each block also the caches for the next position.
class Llama : public nn::LayerOf<WithCaches(const Tensor& words, const std::vector<Cache>& past)> {
 public:
  explicit Llama(const Sizes& s)
      : words_(Child("words", nn::Embedding(s.vocabulary, s.width, {.weight = nn::Normal(0.1)}))),
        blocks_(Children("block", s.layers, [&](int64_t) { return nn::Make<Block>(s); })),
        norm_(Child("norm", nn::RmsNorm())),
        head_(Child("head", Projection(s.vocabulary))) {}

 protected:
  WithCaches Forward(const Tensor& words, const std::vector<Cache>& past) override {
    Tensor x = words_(words);
    std::vector<Cache> next;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      auto [y, cache] = blocks_[i](x, past.empty() ? std::nullopt : std::optional(past[i]));
      if (cache) next.push_back(*cache);
      x = y;
    }
    return {head_(norm_(x)), next};
  }

 private:
  nn::Embedding words_;
  std::vector<nn::ModuleFor<Block>> blocks_;
  nn::RmsNorm norm_;
  nn::Linear head_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t batch = flags.Size(8, 4), context = flags.Size(24, 64);
  const Sizes s = {flags.Size(40, 1000), flags.Size(32, 128), flags.Size(2, 4), 4, 2, context};
  sn::Graph graph("llama", {.seed = flags.seed});
  auto llama = nn::Make<Llama>(s);
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor texts = b.Input("texts", sn::I32, {batch, context + 1});
    Tensor logits = llama(texts[{sn::Range{}, sn::Range{0, -1}}], {}).first;
    Tensor loss = sn::SoftmaxCrossEntropy(logits, texts[{sn::Range{}, sn::Range{1, {}}}]);
    optim::AdamW{.learning_rate = 3e-3, .beta2 = 0.95, .weight_decay = 0.1}.Minimize(
        loss, {.hooks = {flags.Watch(b), optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  graph.Function("write", sn::Mode::kEval, [&](sn::Builder& b) {  // The likeliest words, with caches.
    Tensor none = b.Zeros(sn::F32, {1, context, s.kv_heads, s.width / s.heads});
    std::vector<Cache> caches(s.layers, {none, none, b.Zeros(sn::I32, {})});
    auto word = [&](const WithCaches& now, const Tensor&) {
      auto [logits, next] = llama(now.first, now.second);
      return std::pair(WithCaches(sn::ArgMax(logits, -1), next), now.first[{0, 0}]);
    };
    Tensor text = sn::Scan(WithCaches(b.Zeros(sn::I32, {1, 1}), caches), sn::Steps{context}, word).second;
    Tensor again = sn::ArgMax(llama(text[sn::NewAxis], {}).first, -1)[0];  // The same without caches.
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
