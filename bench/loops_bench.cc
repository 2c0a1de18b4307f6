// Times loops and branches of small bodies, where the cost is that of a trip, for bench/peers/loops.py.
// Prints one result a line in the format of bench/peers/README.md.
//
//   sinter_bench_loops --device gpu:0 --trips 10000 --size 1024
//
// The body halves the distance of a vector to 1. `while` ends when a counter reaches an input, `scan` makes a
// fixed number of the same trips, `cond` chooses in each trip of a scan between the step and none.
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
  std::string device = "cpu:0";
  int64_t trips = 1000, size = 1024;
  double seconds = 2;
};

struct State {
  sn::Tensor x, count;
};

sn::Tensor Step(const sn::Tensor& x) { return 0.5 * x + 0.5; }

sn::Tensor Loop(const std::string& form, const Options& o, const sn::Tensor& x, const sn::Tensor& trips,
                const sn::Tensor& zero) {
  if (form == "while") {
    return sn::While(
               State{x, zero}, [&](const State& s) { return s.count < trips; },
               [](const State& s) { return State{Step(s.x), s.count + 1}; })
        .x;
  }
  return sn::Scan(x, sn::Steps{o.trips},
                  [&](const sn::Tensor& y, const sn::Tensor& i) {
                    if (form == "scan") return std::pair(Step(y), sn::None{});
                    return std::pair(
                        sn::Cond(i < trips, [&] { return Step(y); }, [&] { return y; }), sn::None{});
                  })
      .first;
}

absl::Status Run(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::Device device, sn::Device::Parse(o.device));
  for (const std::string form : {"while", "scan", "cond"}) {
    sn::Graph graph("loops");
    graph.Function("f", sn::Mode::kEval, [&](sn::Builder& b) {
      const sn::Tensor trips = b.Read(b.MakeVariable("trips", sn::I64, {}, {.trainable = false}));
      const sn::Tensor x = b.Read(b.MakeVariable("x", sn::F32, {o.size}, {.trainable = false}));
      b.Output("y", Loop(form, o, x, trips, b.Zeros(sn::I64, {})));
    });
    SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = device}));
    SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor trips, sn::HostTensor::FromVector<int64_t>({}, {o.trips}));
    SINTER_RETURN_IF_ERROR(session.WriteVariable("trips", trips));
    SINTER_ASSIGN_OR_RETURN(sn::BoundFunction f, session.Bind("f"));
    SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing,
                            sn::bench::TimeRuns(session, f, device, o.seconds));
    const nlohmann::ordered_json result = {
        {"workload", absl::StrCat(form, " ", o.trips, " trips of ", o.size)},
        {"peer", "sinter"},
        {"mode", "f32"},
        {"ms", timing.ms},
        {"min_ms", timing.min_ms},
        {"us_a_trip", timing.ms * 1e3 / static_cast<double>(o.trips)}};
    std::cout << result.dump() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times loops and branches of small bodies."};
  app.add_option("--device", o.device, "cpu:0 or gpu:0")->capture_default_str();
  app.add_option("--trips", o.trips)->capture_default_str();
  app.add_option("--size", o.size, "elements of the vector")->capture_default_str();
  app.add_option("--seconds", o.seconds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = Run(o); !status.ok()) {
    std::cerr << "sinter_bench_loops: " << status << "\n";
    return 1;
  }
  return 0;
}
