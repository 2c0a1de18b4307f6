// Times attention with its gradients in bf16, in the forms that models use, for bench/peers/attention.py.
// Prints one result a line in the format of bench/peers/README.md.
//
//   sinter_bench_attention --device gpu:0 --batch 4 --positions 2048 --heads 16 --width 128
//
// `mib` is the memory of a step beside q, k, v and their gradients.
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "sinter/bench/timing.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

struct Options {
  std::string device = "cpu:0", form;
  int64_t batch = 4, positions = 2048, heads = 16, width = 128;
  double seconds = 1;
};

struct Form {
  std::string name;
  std::function<sn::AttentionOptions(sn::Builder&)> options;
  int64_t key_heads = 0, queries = 0, width = 0;  // 0: those of the program's options.
};

// Returns a mask that is read in each run, so that no pass knows its values.
sn::Tensor UnknownMask(sn::Builder& b, const sn::Shape& shape) {
  return b.Read(b.MakeVariable("mask", sn::I1, shape, {.init = {.a = 1}, .trainable = false}));
}

std::vector<Form> Forms(const Options& o) {
  const auto causal = [](sn::Builder&) { return sn::AttentionOptions{.causal = true}; };
  return {
      {"causal", causal},
      {"grouped causal", causal, o.heads / 4},
      {"last half causal", causal, 0, o.positions / 2},
      {"width 256 causal", causal, 0, 0, 256},
      {"window 256 causal", [](sn::Builder&) { return sn::AttentionOptions{.causal = true, .window = 256}; }},
      {"mask of pairs",
       [&](sn::Builder& b) {
         return sn::AttentionOptions{.mask = UnknownMask(b, {o.positions, o.positions})};
       }},
      {"mask of keys",
       [&](sn::Builder& b) {
         return sn::AttentionOptions{.mask = UnknownMask(b, {o.batch, 1, 1, o.positions})};
       }},
  };
}

sn::Graph Build(const Form& form, const Options& o) {
  const int64_t width = form.width == 0 ? o.width : form.width;
  const int64_t queries = form.queries == 0 ? o.positions : form.queries;
  const int64_t key_heads = form.key_heads == 0 ? o.heads : form.key_heads;
  sn::Graph graph("attention");
  graph.Function("f", sn::Mode::kTrain, [&](sn::Builder& b) {
    const auto variable = [&](const char* name, const sn::Shape& shape) {
      return b.MakeVariable(name, sn::BF16, shape,
                            {.init = {.kind = sn::VariableInit::Kind::kNormal, .b = 1}, .trainable = false});
    };
    const sn::Shape like_q = {o.batch, queries, o.heads, width};
    const sn::Shape like_k = {o.batch, o.positions, key_heads, width};
    const sn::Tensor q = b.Read(variable("q", like_q)), k = b.Read(variable("k", like_k));
    const sn::Tensor v = b.Read(variable("v", like_k)), g = b.Read(variable("g", like_q));
    const sn::Tensor y = sn::Attention(q, k, v, form.options(b));
    const std::vector<sn::Tensor> slopes =
        sn::Gradients(sn::Sum(sn::Cast(y, sn::F32) * sn::Cast(g, sn::F32)), {q, k, v});
    b.Assign(variable("dq", like_q), slopes[0]);
    b.Assign(variable("dk", like_k), slopes[1]);
    b.Assign(variable("dv", like_k), slopes[2]);
  });
  return graph;
}

absl::Status Run(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  for (const Form& form : Forms(o)) {
    if (!o.form.empty() && o.form != form.name) continue;
    SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(Build(form, o), {.device = device}));
    const int64_t arena = plan.Function("f")->arena_bytes;
    SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
    SINTER_ASSIGN_OR_RETURN(sn::BoundFunction f, session.Bind("f"));
    SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                            sn::bench::TimeRuns(session, f, device, o.seconds));
    const nlohmann::ordered_json result = {
        {"workload", form.name}, {"peer", "sinter"},        {"mode", "bf16"},
        {"ms", timing.ms},       {"min_ms", timing.min_ms}, {"mib", static_cast<double>(arena) / (1 << 20)}};
    std::cout << result.dump() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times attention with its gradients in the forms that models use."};
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--form", o.form, "one form alone");
  app.add_option("--batch", o.batch)->capture_default_str();
  app.add_option("--positions", o.positions)->capture_default_str();
  app.add_option("--heads", o.heads)->capture_default_str();
  app.add_option("--width", o.width, "of a head")->capture_default_str();
  app.add_option("--seconds", o.seconds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = Run(o); !status.ok()) {
    std::cerr << "sinter_bench_attention: " << status << "\n";
    return 1;
  }
  return 0;
}
