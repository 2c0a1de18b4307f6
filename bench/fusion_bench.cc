// Compares the same graph compiled with and without fusion.
//
//   sinter_bench_fusion --benchmark_filter=softmax
//
// GBps is the least number of moved bytes divided by the time. of_copy is this rate divided by the rate of
// memcpy with the same number of threads in the same process.
#include <benchmark/benchmark.h>

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "sinter/bench/timing.h"
#include "sinter/bench/workloads.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

// A graph with one function "run", its inputs, and the least number of bytes that it reads and writes.
struct Case {
  sn::Graph graph;
  std::vector<sn::NamedTensor> inputs;
  double minimal_bytes = 0;
};
using MakeCase = std::function<Case()>;

double Floats(const sn::Shape& shape) {
  double count = 1;
  for (int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

// Eight elementwise ops of x.
Case Chain() {
  constexpr int64_t kElements = 1 << 24;
  Case c{.graph = sn::Graph("chain"), .inputs = {}, .minimal_bytes = 8.0 * kElements};
  c.inputs.push_back({"x", sn::bench::Uniform(1, {kElements})});
  c.graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, {kElements});
    sn::Tensor y = sn::Abs(sn::Maximum(x * 1.5 + 0.25, -0.5) - 0.125);
    b.Output("y", sn::Minimum(sn::Square(y) * 0.75, 4.0));
  });
  return c;
}

Case Softmax() {
  sn::Shape shape = {4096, 4096};
  Case c{.graph = sn::Graph("softmax"), .inputs = {}, .minimal_bytes = 8 * Floats(shape)};
  c.inputs.push_back({"x", sn::bench::Uniform(1, shape)});
  c.graph.Function("run", sn::Mode::kTrain,
                   [&](sn::Builder& b) { b.Output("y", sn::Softmax(b.Input("x", sn::F32, shape))); });
  return c;
}

// Layer norm and the gradients of x, scale and offset. Reads x and the gradient; writes y and dx.
Case LayerNorm() {
  sn::Shape shape = {4096, 1024};
  Case c{.graph = sn::Graph("layer_norm"), .inputs = {}, .minimal_bytes = 16 * Floats(shape)};
  c.inputs.push_back({"x", sn::bench::Uniform(1, shape)});
  c.inputs.push_back({"g", sn::bench::Uniform(2, shape)});
  c.inputs.push_back({"scale", sn::bench::Uniform(3, {1024})});
  c.inputs.push_back({"offset", sn::bench::Uniform(4, {1024})});
  c.graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, shape), g = b.Input("g", sn::F32, shape);
    sn::Tensor scale = b.Input("scale", sn::F32, {1024}), offset = b.Input("offset", sn::F32, {1024});
    sn::Tensor y = sn::LayerNorm(x, scale, offset);
    std::vector<sn::Tensor> d = sn::Gradients(sn::Sum(y * g), {x, scale, offset});
    b.Output("y", y);
    b.Output("dx", d[0]);
    b.Output("dscale", d[1]);
    b.Output("doffset", d[2]);
  });
  return c;
}

// The loss and the gradient of the logits. Reads the logits; writes the gradient.
Case CrossEntropy() {
  sn::Shape shape = {2048, 4096};
  Case c{.graph = sn::Graph("cross_entropy"), .inputs = {}, .minimal_bytes = 8 * Floats(shape)};
  c.inputs.push_back({"x", sn::bench::Uniform(1, shape)});
  c.inputs.push_back({"labels", sn::bench::Integers(2, {2048}, 4096)});
  c.graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, shape);
    sn::Tensor loss = sn::SoftmaxCrossEntropy(x, b.Input("labels", sn::I32, {2048}));
    b.Output("loss", loss);
    b.Output("dx", sn::Gradients(loss, {x})[0]);
  });
  return c;
}

// AdamW over the parameters of a model. Reads parameter, gradient and two moments; writes all but the
// gradient.
Case AdamW(const std::string& model) {
  absl::StatusOr<sn::bench::TrainingWorkload> w = sn::bench::MakeTrainingWorkload(model);
  SINTER_CHECK(w.ok()) << w.status();
  Case c{.graph = sn::Graph("adamw_" + model), .inputs = {}};
  for (sn::NamedTensor& p : w->parameters) {
    c.minimal_bytes += 7 * 4 * Floats(p.tensor.shape());
    c.inputs.push_back({"g_" + p.name, std::move(p.tensor)});
  }
  c.graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    // The gradient of sum(p * g) with respect to p is g, so it needs no computation.
    std::vector<sn::Variable> parameters;
    sn::Tensor loss;
    for (const sn::NamedTensor& g : c.inputs) {
      parameters.push_back(b.MakeVariable("p_" + g.name, sn::F32, g.tensor.shape()));
      sn::Tensor term = sn::Sum(b.Read(parameters.back()) * b.Input(g.name, sn::F32, g.tensor.shape()));
      loss = loss.ok() ? loss + term : term;
    }
    sn::optim::AdamW{.learning_rate = 1e-3}.Minimize(loss, {.parameters = parameters});
  });
  return c;
}

void Run(benchmark::State& state, const MakeCase& make, bool fuse) {
  Case c = make();
  auto fail = [&](const absl::Status& status) { state.SkipWithError(std::string(status.message()).c_str()); };
  absl::StatusOr<sn::Plan> plan = sn::Compile(c.graph, {.fuse = fuse, .fuse_epilogues = fuse});
  if (!plan.ok()) return fail(plan.status());
  double steps = static_cast<double>(plan->Functions()[0].steps);
  absl::StatusOr<sn::Session> session = sn::Session::Create(*std::move(plan));
  if (!session.ok()) return fail(session.status());
  absl::StatusOr<sn::BoundFunction> run = session->Bind("run");
  if (!run.ok()) return fail(run.status());
  for (const sn::NamedTensor& input : c.inputs) {
    if (absl::Status set = run->SetInput(input.name, input.tensor); !set.ok()) return fail(set);
  }
  if (absl::Status first = run->Run(); !first.ok()) return fail(first);
  double seconds = 0;
  for (auto _ : state) {
    absl::StatusOr<sn::bench::Timing> once = sn::bench::TimeMs([&] { return run->Run(); }, 0, 1, 0);
    if (!once.ok()) return fail(once.status());
    state.SetIterationTime(once->ms / 1e3);
    seconds += once->ms / 1e3;
  }
  double gbps = c.minimal_bytes * static_cast<double>(state.iterations()) / seconds / 1e9;
  state.counters["GBps"] = gbps;
  state.counters["of_copy"] = gbps / sn::bench::CopyGBps(session->threads());
  state.counters["steps"] = steps;
}

void Register(const std::string& name, const MakeCase& make) {
  for (bool fuse : {true, false}) {
    std::string full = name + (fuse ? "/fused" : "/unfused");
    benchmark::RegisterBenchmark(full.c_str(),
                                 [make, fuse](benchmark::State& state) { Run(state, make, fuse); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Register("chain_of_8", Chain);
  Register("softmax", Softmax);
  Register("layer_norm_with_gradient", LayerNorm);
  Register("cross_entropy_with_gradient", CrossEntropy);
  Register("adamw_lenet", [] { return AdamW("lenet"); });
  Register("adamw_char_gpt", [] { return AdamW("char_gpt"); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
