// Times a real Fourier transform and its inverse. Prints one result a line in the format of
// bench/peers/README.md; bench/peers/fourier.py prints the same of PyTorch.
//
//   sinter_bench_fourier --device gpu:0            # [4096, 1024], and [64, 512, 512] over two dimensions.
//   sinter_bench_fourier --rows 64 --size 1009     # Other transforms, over the last dimension.
//
// The numbers stay on the device: each run replaces a variable by the inverse of its transform.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/bench/timing.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

struct Options {
  std::string device = "cpu:0";
  int64_t rows = 0, size = 0;
  bool f64 = false;
  double seconds = 3;
};

struct Work {
  sn::Shape shape;
  bool is_2d;

  std::string Name() const {
    return absl::StrCat(is_2d ? "rfft2+irfft2 " : "rfft+irfft ", absl::StrJoin(shape, "x"));
  }
};

sn::Graph MakeGraph(const Work& work, sn::DType dtype) {
  sn::Graph graph("fourier", {.seed = 1});
  graph.Function("step", sn::Mode::kEval, [&](sn::Builder& b) {
    const sn::Variable values =
        b.MakeVariable("values", dtype, work.shape, {.init = sn::nn::Normal(1).Resolve(0, 0)});
    const sn::Tensor x = b.Read(values);
    const int64_t n = work.shape.back(), m = x.dim(-2);
    b.Assign(values,
             work.is_2d ? sn::Irfft2(sn::Rfft2(x), {.sizes = {m, n}}) : sn::Irfft(sn::Rfft(x), {.n = n}));
  });
  return graph;
}

absl::Status Run(const Options& o, const Work& work) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan,
                          sn::Compile(MakeGraph(work, o.f64 ? sn::F64 : sn::F32), {.device = device}));
  const int64_t steps = plan.Functions()[0].steps;
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction step, session.Bind("step"));
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                          sn::bench::TimeRuns(session, step, device, o.seconds));
  const nlohmann::ordered_json result = {
      {"workload", work.Name()}, {"peer", "sinter"},        {"mode", o.f64 ? "f64" : "f32"},
      {"ms", timing.ms},         {"min_ms", timing.min_ms}, {"runs", timing.runs},
      {"steps", steps}};
  std::cout << result.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status RunAll(const Options& o) {
  if (o.rows > 0 && o.size > 0) return Run(o, {{o.rows, o.size}, false});
  SINTER_RETURN_IF_ERROR(Run(o, {{4096, 1024}, false}));
  return Run(o, {{64, 512, 512}, true});
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times a real Fourier transform and its inverse."};
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--rows", o.rows, "transforms");
  app.add_option("--size", o.size, "numbers of each");
  app.add_flag("--f64", o.f64, "in f64");
  app.add_option("--seconds", o.seconds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = RunAll(o); !status.ok()) {
    std::cerr << "sinter_bench_fourier: " << status << "\n";
    return 1;
  }
  return 0;
}
