#include "sinter/frontend/nn/attention.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/nn/kv_cache.h"

namespace sinter::nn {

namespace {

std::string WrongHeads(int64_t heads, int64_t width) {
  if (heads >= 1 && width >= 1 && width % heads == 0) return "";
  return absl::StrCat("has ", heads, " heads, which must be at least 1 and divide the width of ", width);
}

// Self-attention of x and the inputs `More` beside it.
template <typename... More>
class SelfAttentionLayer : public LayerOf<Tensor(const Tensor& x, const More&... more)> {
 public:
  SelfAttentionLayer(std::string name, int64_t heads, const MultiHeadAttentionOptions& options)
      : name_(std::move(name)),
        heads_(heads),
        kv_heads_(options.kv_heads == 0 ? heads : options.kv_heads),
        options_(options) {}
  std::string Describe() const override { return absl::StrCat(name_, "(", heads_, ")"); }

 protected:
  Tensor Forward(const Tensor& x, const More&... more) override { return Mix(x, SequenceMask{more...}); }

 private:
  using Base = LayerOf<Tensor(const Tensor& x, const More&... more)>;
  using Base::Child, Base::Fail, Base::ModeOf, Base::path;

  Tensor Mix(const Tensor& x, const SequenceMask& mask) {
    if (x.rank() != 3) return Fail(x, "takes a tensor of shape [batch, time, width]");
    const int64_t width = options_.width == 0 ? x.dim(2) : options_.width;
    if (std::string wrong = WrongHeads(heads_, width); !wrong.empty()) return Fail(x, wrong);
    if (kv_heads_ < 1 || heads_ % kv_heads_ != 0) {
      return Fail(
          x, absl::StrCat("has ", kv_heads_, " heads of keys, which must divide its ", heads_, " heads"));
    }
    MakeProjections(width, x.dim(2));
    const AttentionOptions attention = {.causal = options_.causal,
                                        .scale = options_.scale,
                                        .math = options_.math,
                                        .mask = mask.mask,
                                        .bias = mask.bias,
                                        .key_lengths = mask.key_lengths,
                                        .window = options_.window,
                                        .dropout = ModeOf(x) == Mode::kTrain ? options_.dropout : 0};
    const int64_t batch = x.dim(0), time = x.dim(1), depth = width / heads_;
    const Tensor projected = (*qkv_)(x);
    KvCaches* const caches = KvCaches::Around(x);
    Tensor mixed;
    if (kv_heads_ == heads_ && !options_.rope && !caches) {
      mixed = Attention(Reshape(projected, {batch, time, 3, heads_, depth}), attention);
    } else {
      const Tensor all = Reshape(projected, {batch, time, heads_ + 2 * kv_heads_, depth});
      if (!all.ok()) return {};
      const std::vector<Tensor> parts = Split(all, {heads_, kv_heads_, kv_heads_}, 2);
      std::optional<RopeOptions> rope = options_.rope;
      if (rope && caches) rope->first_position = FirstPosition(x);
      const auto turned = [&](const Tensor& part) { return rope ? Rope(part, *rope) : part; };
      const Tensor q = turned(parts[0]), k = turned(parts[1]);
      mixed = caches ? caches->Attend(path(), q, k, parts[2], attention, Where::current())
                     : Attention(q, k, parts[2], attention);
    }
    return (*out_)(Reshape(mixed, {batch, time, width}));
  }

  // Called at the first use, when the input's width is known. Another width later is an error of the
  // projections.
  void MakeProjections(int64_t width, int64_t in) {
    if (qkv_) return;
    LinearOptions linear{.bias = options_.bias,
                         .weight = options_.weight,
                         .bias_init = options_.bias_init,
                         .math = options_.math};
    const int64_t depth = width / heads_;
    // Heads that share keys cannot be cut by the name of one dimension.
    if (kv_heads_ == heads_) linear.out_dim = {{3}, {heads_, "heads"}, {depth}};
    qkv_.emplace((heads_ + 2 * kv_heads_) * depth, linear);
    linear.weight = options_.out_weight;
    linear.in_dim = {};
    if (kv_heads_ == heads_) linear.in_dim = {{heads_, "heads"}, {depth}};
    linear.out_dim = {};
    out_.emplace(in, linear);
    Child("qkv", *qkv_);
    Child("out", *out_);
  }

  std::string name_;
  int64_t heads_, kv_heads_;
  MultiHeadAttentionOptions options_;
  std::optional<Linear> qkv_, out_;
};

class CrossAttentionLayer : public LayerOf<Tensor(const Tensor& x, const Memory& memory)> {
 public:
  CrossAttentionLayer(int64_t heads, const CrossAttentionOptions& options)
      : heads_(heads), options_(options) {}
  std::string Describe() const override { return absl::StrCat("CrossAttention(", heads_, ")"); }

 protected:
  Tensor Forward(const Tensor& x, const Memory& memory) override {
    KvCaches* const around = KvCaches::Around(x);
    KvCaches* const caches = around && around->KeepsMemory() ? around : nullptr;
    const bool is_read = caches && caches->ReadsMemory();
    if (const std::string wrong = WrongMemory(x, memory, is_read); !wrong.empty()) return Fail(x, wrong);
    const int64_t width = options_.width == 0 ? x.dim(2) : options_.width;
    if (std::string wrong = WrongHeads(heads_, width); !wrong.empty()) return Fail(x, wrong);
    MakeProjections(width, x.dim(2));
    const int64_t depth = width / heads_;
    const Tensor q = Reshape((*q_)(x), {x.dim(0), x.dim(1), heads_, depth});
    if (!q.ok()) return {};
    const AttentionOptions attention = {.scale = options_.scale,
                                        .math = options_.math,
                                        .mask = memory.mask,
                                        .key_lengths = memory.key_lengths,
                                        .dropout = ModeOf(x) == Mode::kTrain ? options_.dropout : 0};
    std::optional<KvCaches::KeysAndValues> given;
    if (!is_read) {
      const Tensor& from = *memory.values;
      const Tensor kv = Reshape((*kv_)(from), {from.dim(0), from.dim(1), 2, heads_, depth});
      if (!kv.ok()) return {};
      const std::vector<Tensor> parts = Unbind(kv, 2);
      given = {parts[0], parts[1]};
    }
    const Tensor mixed = caches ? caches->AttendMemory(path(), q, given, attention, Where::current())
                                : Attention(q, given->k, given->v, attention);
    return (*out_)(Reshape(mixed, {x.dim(0), x.dim(1), width}));
  }

 private:
  // Says what is wrong with the input and its memory; empty if nothing is.
  static std::string WrongMemory(const Tensor& x, const Memory& memory, bool is_read) {
    if (is_read) {
      if (x.rank() != 3) return "takes a tensor of shape [batch, time, width]";
      if (!memory.values && !memory.key_lengths) return "";
      return "is given a memory in a piece behind the beginning, which sees that of the cache; leave it out";
    }
    if (!memory.values) {
      return "has no memory; give .values, or keep it in a scope nn::KvCaches with .memory";
    }
    const Tensor& from = *memory.values;
    if (x.rank() == 3 && from.rank() == 3 && from.dim(0) == x.dim(0)) return "";
    return absl::StrCat("takes tensors of shape [batch, time, width] and [batch, positions, features], got ",
                        x.ToString(), " and ", from.ToString());
  }

  void MakeProjections(int64_t width, int64_t in) {
    if (q_) return;
    LinearOptions linear{.bias = options_.bias,
                         .weight = options_.weight,
                         .bias_init = options_.bias_init,
                         .math = options_.math};
    const int64_t depth = width / heads_;
    linear.out_dim = {{heads_, "heads"}, {depth}};
    q_.emplace(width, linear);
    linear.out_dim = {{2}, {heads_, "heads"}, {depth}};
    kv_.emplace(2 * width, linear);
    linear.weight = options_.out_weight;
    linear.in_dim = {{heads_, "heads"}, {depth}};
    linear.out_dim = {};
    out_.emplace(in, linear);
    Child("q", *q_);
    Child("kv", *kv_);
    Child("out", *out_);
  }

  int64_t heads_;
  CrossAttentionOptions options_;
  std::optional<Linear> q_, kv_, out_;
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t heads, const MultiHeadAttentionOptions& options)
    : Module(std::make_shared<SelfAttentionLayer<>>("MultiHeadAttention", heads, options)) {}

MaskedAttention::MaskedAttention(int64_t heads, const MultiHeadAttentionOptions& options)
    : ModuleOf(std::make_shared<SelfAttentionLayer<SequenceMask>>("MaskedAttention", heads, options)) {}

CrossAttention::CrossAttention(int64_t heads, const CrossAttentionOptions& options)
    : ModuleOf(std::make_shared<CrossAttentionLayer>(heads, options)) {}

}  // namespace sinter::nn
