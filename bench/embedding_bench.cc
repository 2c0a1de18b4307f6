// Times a training step of a table of embeddings, with updates of the touched rows or of all. Prints one
// result a line in the format of bench/peers/README.md.
//
//   sinter_bench_embedding --rows 2000000 --width 64 --batch 256 --rule adam
//   sinter_bench_embedding --dense                 # Updates all rows.
//
// The loss is the mean of the squares of the rows that the indices name. The indices are drawn on the device.
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
  std::string rule = "sgd", device = "cpu:0", plan;
  int64_t rows = 2'000'000, width = 64, batch = 256;
  bool dense = false;
  double seconds = 3;
};

template <typename R>
void Minimize(const Options& o, const R& rule, const sn::Tensor& loss) {
  sn::optim::UpdateOptions<R> options;
  options.groups.push_back({.of = sn::Glob("*table"), .touched_rows_only = !o.dense});
  rule.Minimize(loss, options);
}

sn::Graph MakeGraph(const Options& o) {
  sn::Graph graph("embedding", {.seed = 1});
  graph.Function("step", sn::Mode::kTrain, [&](sn::Builder& b) {
    const sn::Variable table =
        b.MakeVariable("table", sn::F32, {o.rows, o.width}, {.init = sn::nn::Normal(1).Resolve(0, 0)});
    const sn::Tensor drawn = b.RandomUniform(sn::F32, {o.batch}, 0, static_cast<double>(o.rows));
    const sn::Tensor loss = sn::Mean(sn::Square(sn::Gather(b.Read(table), sn::Cast(drawn, sn::I32), 0)));
    if (o.rule == "sgd") Minimize(o, sn::optim::Sgd{.learning_rate = 0.1}, loss);
    if (o.rule == "momentum") Minimize(o, sn::optim::Momentum{.learning_rate = 0.1}, loss);
    if (o.rule == "adagrad") Minimize(o, sn::optim::AdaGrad{.learning_rate = 0.1}, loss);
    if (o.rule == "adam") Minimize(o, sn::optim::Adam{.learning_rate = 0.1}, loss);
    b.Output("loss", loss);
  });
  return graph;
}

absl::Status Run(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(MakeGraph(o), {.device = device}));
  if (!o.plan.empty()) SINTER_RETURN_IF_ERROR(plan.Save(o.plan));
  const int64_t arena = plan.Functions()[0].arena_bytes, steps = plan.Functions()[0].steps;
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction step, session.Bind("step"));
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                          sn::bench::TimeRuns(session, step, device, o.seconds));
  const nlohmann::ordered_json result = {
      {"workload", absl::StrCat("embedding ", o.rows, "x", o.width, " B=", o.batch)},
      {"peer", "sinter"},
      {"mode", absl::StrCat(o.rule, o.dense ? ", all rows" : ", touched rows")},
      {"ms", timing.ms},
      {"min_ms", timing.min_ms},
      {"runs", timing.runs},
      {"arena_bytes", arena},
      {"steps", steps}};
  std::cout << result.dump() << std::endl;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times a training step of a table of embeddings."};
  app.add_option("--rule", o.rule, "sgd, momentum, adagrad or adam")
      ->check(CLI::IsMember({"sgd", "momentum", "adagrad", "adam"}));
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--rows", o.rows)->capture_default_str();
  app.add_option("--width", o.width)->capture_default_str();
  app.add_option("--batch", o.batch, "indices of a step")->capture_default_str();
  app.add_flag("--dense", o.dense, "update all rows");
  app.add_option("--seconds", o.seconds)->capture_default_str();
  app.add_option("--plan", o.plan, "file for the plan");
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = Run(o); !status.ok()) {
    std::cerr << "sinter_bench_embedding: " << status << "\n";
    return 1;
  }
  return 0;
}
