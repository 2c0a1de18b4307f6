// Times the generation of tokens with caches of keys and values, for bench/peers/decode.py. Prints one
// result a line in the format of bench/peers/README.md; `ms` is of one token.
//
//   sinter_bench_decode --device gpu:0 --batch 1 --tokens 32 --bf16
//   sinter_bench_decode --model llama --layers 16 --width 1024 --heads 16 --kv-heads 4 --bits 4 --group 128
//
// Weights are random. A token is the likeliest one; the next one reads it on the device. The caches are long
// from the beginning: their length decides what a step reads, not what is in them.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/bench/timing.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

struct Options {
  std::string model = "gpt2", device = "cpu:0", plan;
  int64_t layers = 12, width = 768, heads = 12, kv_heads = 0, context = 1024, vocabulary = 50304;
  int64_t batch = 1, tokens = 1;
  int64_t group = 0;
  int bits = 16;  // Bits of the weights of nn::Linear.
  bool bf16 = false;
  double seconds = 3;
};

// LayerNorm, learned positions and GELU, or RmsNorm, rotary positions and SwiGLU.
class Model {
 public:
  explicit Model(const Options& o) : o_(o), tokens_(o.vocabulary, o.width) {
    tokens_.Named("tokens");
    const bool is_llama = o.model == "llama";
    const sn::nn::MultiHeadAttentionOptions options{
        .causal = true,
        .bias = !is_llama,
        .kv_heads = o.kv_heads,
        .rope = is_llama ? std::optional(sn::RopeOptions{}) : std::nullopt};
    for (int64_t i = 0; i < o.layers; ++i) {
      attentions_.emplace_back(o.heads, options);
      ups_.emplace_back((is_llama ? 2 : 1) * hidden(), sn::nn::LinearOptions{.bias = !is_llama});
      downs_.emplace_back(o.width, sn::nn::LinearOptions{.bias = !is_llama});
      for (int n = 0; n < 2; ++n)
        norms_.push_back(is_llama ? sn::nn::Module(sn::nn::RmsNorm()) : sn::nn::LayerNorm());
      if (o.bits != 16) {
        const sn::nn::QuantizeWeightsOptions few{.bits = o.bits, .group = o.group};
        attentions_.back() = sn::nn::QuantizeWeights(attentions_.back(), few);
        ups_.back() = sn::nn::QuantizeWeights(ups_.back(), few);
        downs_.back() = sn::nn::QuantizeWeights(downs_.back(), few);
      }
      attentions_.back().Named(absl::StrCat("attention", i));
      ups_.back().Named(absl::StrCat("up", i));
      downs_.back().Named(absl::StrCat("down", i));
      for (int n = 0; n < 2; ++n) norms_[norms_.size() - 2 + n].Named(absl::StrCat("norm", i, ".", n));
    }
    norms_.push_back(is_llama ? sn::nn::Module(sn::nn::RmsNorm()) : sn::nn::LayerNorm());
    norms_.back().Named("norm");
  }

  // Maps i32 [batch] to the next tokens, i32 [batch].
  sn::Tensor Next(sn::Builder& b, const sn::Tensor& ids) {
    const sn::nn::KvCaches caches(b, {.context = o_.context, .dtype = o_.bf16 ? sn::BF16 : sn::F32});
    sn::Tensor x = tokens_(sn::Reshape(ids, {o_.batch, 1}));
    if (o_.model == "gpt2") {
      const sn::Variable table = b.MakeVariable("positions", sn::F32, {o_.context, o_.width});
      x = x + b.Read(table)[sn::Window{sn::nn::FirstPosition(x), 1}];
    }
    for (size_t i = 0; i < attentions_.size(); ++i) {
      x = x + attentions_[i](norms_[2 * i](x));
      x = x + downs_[i](Activated(ups_[i](norms_[2 * i + 1](x))));
    }
    x = sn::Reshape(norms_.back()(x), {o_.batch, o_.width});
    return sn::ArgMax(sn::MatMul(x, b.Read(tokens_.parameters().front()), {.transpose_b = true}), -1);
  }

 private:
  int64_t hidden() const { return o_.model == "llama" ? o_.width * 11 / 4 / 2 * 2 : 4 * o_.width; }
  sn::Tensor Activated(const sn::Tensor& x) const {
    if (o_.model == "gpt2") return sn::GeluTanh(x);
    const std::vector<sn::Tensor> parts = sn::Split(x, {hidden(), hidden()}, -1);
    return sn::Silu(parts[0]) * parts[1];
  }

  const Options& o_;
  sn::nn::Embedding tokens_;
  std::vector<sn::nn::MultiHeadAttention> attentions_;
  std::vector<sn::nn::Linear> ups_, downs_;
  std::vector<sn::nn::Module> norms_;
};

sn::Graph MakeGraph(const Options& o) {
  sn::Graph graph(o.model, {.seed = 1, .precision = o.bf16 ? sn::Precision::kBf16 : sn::Precision::kF32});
  Model model(o);
  graph.Function("step", sn::Mode::kEval, [&](sn::Builder& b) {
    const sn::Variable last = b.MakeVariable("last", sn::I32, {o.batch}, {.trainable = false});
    if (o.tokens == 1) {
      b.Assign(last, model.Next(b, b.Read(last)));
    } else {
      sn::Repeat(o.tokens, [&](const sn::Tensor&) { b.Assign(last, model.Next(b, b.Read(last))); });
    }
    b.Output("last", b.Read(last));
  });
  return graph;
}

absl::Status Run(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  const auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(MakeGraph(o), {.device = device}));
  const std::chrono::duration<double, std::milli> compiling = std::chrono::steady_clock::now() - start;
  if (!o.plan.empty()) SINTER_RETURN_IF_ERROR(plan.Save(o.plan));
  const int64_t arena = plan.Functions()[0].arena_bytes;
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction step, session.Bind("step"));
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                          sn::bench::TimeRuns(session, step, device, o.seconds));
  const auto tokens = static_cast<double>(o.tokens);
  const nlohmann::ordered_json result = {
      {"workload",
       absl::StrCat(o.model, " ", o.layers, "x", o.width, " context ", o.context, " B=", o.batch)},
      {"peer", "sinter"},
      {"mode", absl::StrCat(o.bf16 ? "bf16" : "f32",
                            o.bits == 16 ? "" : absl::StrCat(", weights of ", o.bits, " bits"), ", ",
                            o.tokens, o.tokens == 1 ? " token" : " tokens", " a run")},
      {"ms", timing.ms / tokens},
      {"min_ms", timing.min_ms / tokens},
      {"runs", timing.runs},
      {"arena_bytes", arena},
      {"compile_ms", compiling.count()}};
  std::cout << result.dump() << std::endl;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times the generation of tokens."};
  app.add_option("--model", o.model, "gpt2 or llama")->check(CLI::IsMember({"gpt2", "llama"}));
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--layers", o.layers)->capture_default_str();
  app.add_option("--width", o.width)->capture_default_str();
  app.add_option("--heads", o.heads)->capture_default_str();
  app.add_option("--kv-heads", o.kv_heads, "heads of keys and values; 0: as many as heads");
  app.add_option("--context", o.context, "positions of the caches")->capture_default_str();
  app.add_option("--vocabulary", o.vocabulary)->capture_default_str();
  app.add_option("--batch", o.batch)->capture_default_str();
  app.add_option("--tokens", o.tokens, "tokens in a run")->capture_default_str();
  app.add_option("--bits", o.bits, "of the weights of linear layers: 16 is as they are")
      ->check(CLI::IsMember({16, 8, 4}));
  app.add_option("--group", o.group, "weights with one scale; 0: a row");
  app.add_flag("--bf16", o.bf16, "products and caches in bf16");
  app.add_option("--seconds", o.seconds)->capture_default_str();
  app.add_option("--plan", o.plan, "file for the plan");
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = Run(o); !status.ok()) {
    std::cerr << "sinter_bench_decode: " << status << "\n";
    return 1;
  }
  return 0;
}
