// Times a training step of recurrent layers, for bench/peers/recurrent.py. Prints one result a line in the
// format of bench/peers/README.md.
//
//   sinter_bench_recurrent --device gpu:0 --kind lstm --layers 2 --hidden 512 --time 256 --batch 64 --tf32
//   sinter_bench_recurrent --kind gru --forward     # Only the outputs.
//
// The input has as many features as the layers have units. The loss is the mean of the squared outputs, and
// SGD updates the weights. The data are a variable that stays on the device.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/bench/timing.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

struct Options {
  std::string kind = "lstm", device = "cpu:0", plan;
  int64_t layers = 2, hidden = 512, time = 256, batch = 64;
  bool bidirectional = false, lengths = false, forward = false, tf32 = false, bf16 = false;
  double seconds = 3;
};

sn::Tensor Outputs(const Options& o, const sn::Tensor& x, const std::optional<sn::Tensor>& lengths) {
  const sn::nn::RecurrentOptions options{.layers = o.layers,
                                         .bidirectional = o.bidirectional,
                                         .math = o.tf32 ? sn::MathMode::kTf32 : sn::MathMode::kIeee};
  if (o.kind == "lstm") return sn::nn::Lstm(o.hidden, options)(x, {.lengths = lengths}).first;
  if (o.kind == "gru") return sn::nn::Gru(o.hidden, options)(x, {.lengths = lengths}).first;
  return sn::nn::Rnn(o.hidden, options)(x, {.lengths = lengths}).first;
}

sn::Graph MakeGraph(const Options& o) {
  sn::Graph graph(o.kind, {.seed = 1, .precision = o.bf16 ? sn::Precision::kBf16 : sn::Precision::kF32});
  graph.Function("step", o.forward ? sn::Mode::kEval : sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::VariableOptions data{.init = sn::nn::Uniform(-1, 1).Resolve(0, 0), .trainable = false};
    sn::Tensor x = b.Read(b.MakeVariable("x", sn::F32, {o.batch, o.time, o.hidden}, data));
    std::optional<sn::Tensor> lengths;
    if (o.lengths) lengths = o.time - b.Iota(sn::I32, {o.batch}, 0) * (o.time / (2 * o.batch));
    sn::Tensor y = Outputs(o, x, lengths);
    if (o.forward) {
      b.Output("y", sn::Sum(y));
      return;
    }
    sn::Tensor loss = sn::Mean(sn::Square(y));
    sn::optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

absl::Status Run(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  const auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(MakeGraph(o), {.device = device}));
  const std::chrono::duration<double, std::milli> compiling = std::chrono::steady_clock::now() - start;
  if (!o.plan.empty()) SINTER_RETURN_IF_ERROR(plan.Save(o.plan));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction step, session.Bind("step"));
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                          sn::bench::TimeRuns(session, step, device, o.seconds));
  const nlohmann::ordered_json result = {
      {"workload", absl::StrCat(o.kind, o.bidirectional ? " bidirectional" : "", o.lengths ? " lengths" : "",
                                " ", o.layers, "x", o.hidden, " T=", o.time, " B=", o.batch)},
      {"peer", "sinter"},
      {"mode", absl::StrCat(o.forward ? "forward " : "", o.bf16   ? "bf16"
                                                         : o.tf32 ? "tf32"
                                                                  : "f32")},
      {"ms", timing.ms},
      {"min_ms", timing.min_ms},
      {"runs", timing.runs},
      {"compile_ms", compiling.count()}};
  std::cout << result.dump() << std::endl;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times a training step of recurrent layers."};
  app.add_option("--kind", o.kind, "lstm, gru or rnn")->check(CLI::IsMember({"lstm", "gru", "rnn"}));
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--layers", o.layers)->capture_default_str();
  app.add_option("--hidden", o.hidden, "units of a layer, and features of the input")->capture_default_str();
  app.add_option("--time", o.time, "positions")->capture_default_str();
  app.add_option("--batch", o.batch)->capture_default_str();
  app.add_flag("--bidirectional", o.bidirectional);
  app.add_flag("--lengths", o.lengths, "examples of several lengths");
  app.add_flag("--forward", o.forward, "only the outputs");
  app.add_flag("--tf32", o.tf32, "let products round operands to tf32");
  app.add_flag("--bf16", o.bf16, "compute products in bf16");
  app.add_option("--seconds", o.seconds)->capture_default_str();
  app.add_option("--plan", o.plan, "file for the plan");
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = Run(o); !status.ok()) {
    std::cerr << "sinter_bench_recurrent: " << status << "\n";
    return 1;
  }
  return 0;
}
