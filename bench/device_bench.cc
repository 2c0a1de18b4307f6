// Times the use of devices: matmuls of every size on the CPU and on the GPU, numbers fetched from the device
// one by one or kept in a log there, and matmuls on two GPUs at once.
//
//   sinter_bench_device
//   sinter_bench_device --benchmark_filter=matmul_sweep  # Also the size from which the GPU is faster.
//   SINTER_CPU_DEVICES=2 sinter_bench_device --benchmark_filter=two_matmuls   # A test without GPUs.
//
// Each benchmark checks its numbers before it times them. `copies` counts the copies from the device to main
// memory in one iteration; outputs of a CPU are read in place, without copies.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/bench/timing.h"
#include "sinter/bench/workloads.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/session/session_state.h"

namespace {

namespace sn = sinter;
using benchmark::State;

// A session that counts its copies to main memory.
class CountedSession {
 public:
  static absl::StatusOr<CountedSession> Make(const sn::Graph& graph, sn::Device device = sn::Device::Cpu()) {
    SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = device}));
    CountedSession made;
    const auto make = [&made](sn::Device d, sn::CachingAllocator* allocator, const sn::StepContext& context) {
      auto runtime = sn::MakeDeviceRuntime(d, allocator, context);
      if (runtime.ok()) made.runtimes_.push_back(runtime->get());
      return runtime;
    };
    SINTER_ASSIGN_OR_RETURN(sn::Session session,
                            sn::internal_session::SessionState::MakeSession(std::move(plan), {}, make));
    made.session_ = std::make_unique<sn::Session>(std::move(session));
    return made;
  }

  sn::Session* operator->() const { return session_.get(); }
  int64_t Copies() const {
    int64_t copies = 0;
    for (const sn::DeviceRuntime* runtime : runtimes_) copies += runtime->traffic().downloads;
    return copies;
  }

 private:
  std::unique_ptr<sn::Session> session_;
  std::vector<sn::DeviceRuntime*> runtimes_;  // Owned by the session.
};

void Fail(State& state, const absl::Status& status) {
  state.SkipWithError(std::string(status.message()).c_str());
}

// Returns the seconds of `call`, until the devices have finished its work.
absl::StatusOr<double> Seconds(const CountedSession& session, const std::function<absl::Status()>& call) {
  const auto timed = [&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(call());
    return session->Synchronize();
  };
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing once, sn::bench::TimeMs(timed, 0, 1, 0));
  return once.ms / 1e3;
}

// Compares some entries of a matmul of values in [-1, 1) with sums in f64. The expected error of an f32 sum
// of n such terms is sqrt(n) units in the last place of its largest partial sum.
absl::Status CheckMatmul(const sn::HostTensor& a, const sn::HostTensor& b, const sn::HostTensor& y) {
  const int64_t n = a.shape()[0];
  SINTER_ASSIGN_OR_RETURN(const std::span<const float> left, a.Span<float>());
  SINTER_ASSIGN_OR_RETURN(const std::span<const float> right, b.Span<float>());
  SINTER_ASSIGN_OR_RETURN(const std::span<const float> result, y.Span<float>());
  for (int64_t sample = 0; sample < 64; ++sample) {
    const int64_t row = sample * 7919 % n, column = sample * 104729 % n;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      sum += static_cast<double>(left[static_cast<size_t>(row * n + k)]) *
             static_cast<double>(right[static_cast<size_t>(k * n + column)]);
    }
    const double got = result[static_cast<size_t>(row * n + column)];
    if (!(std::abs(got - sum) <= 1e-5 * std::sqrt(static_cast<double>(n)))) {
      return absl::InternalError(
          absl::StrCat("entry ", row, ", ", column, " of the product is ", got, " and not ", sum));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckClose(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) {
    return absl::InternalError(absl::StrCat(got.size(), " numbers in place of ", expected.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::abs(got[i] - expected[i]) <= 1e-5 * std::abs(expected[i])) continue;
    return absl::InternalError(absl::StrCat("number ", i, " is ", got[i], " and not ", expected[i]));
  }
  return absl::OkStatus();
}

// Mean seconds of a matmul by device and size.
using SweepTimes = std::map<std::string, std::map<int64_t, double>>;

// Times one matmul of two n x n matrices on the device, until it has finished.
absl::Status MatmulSweep(State& state, sn::Device device, int64_t n, SweepTimes& times) {
  sn::Graph graph("matmul_sweep");
  const sn::Variable a = graph.Variable("a", sn::F32, {n, n}), b = graph.Variable("b", sn::F32, {n, n});
  graph.Function("run", sn::Mode::kTrain,
                 [&](sn::Builder& f) { f.Output("y", sn::MatMul(f.Read(a), f.Read(b))); });
  SINTER_ASSIGN_OR_RETURN(const CountedSession session, CountedSession::Make(graph, device));
  const sn::HostTensor left = sn::bench::Uniform(1, {n, n}), right = sn::bench::Uniform(2, {n, n});
  SINTER_RETURN_IF_ERROR(session->WriteVariable("a", left));
  SINTER_RETURN_IF_ERROR(session->WriteVariable("b", right));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session->Bind("run"));
  // The first run initializes libraries, and the second run captures the graph.
  for (int i = 0; i < 2; ++i) SINTER_RETURN_IF_ERROR(run.Run());
  SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* const y, run.outputs().Get("y"));
  SINTER_RETURN_IF_ERROR(CheckMatmul(left, right, *y));
  double total = 0;
  for (auto _ : state) {
    SINTER_ASSIGN_OR_RETURN(const double seconds, Seconds(session, [&] { return run.Run(); }));
    state.SetIterationTime(seconds);
    total += seconds;
  }
  const double mean = total / static_cast<double>(state.iterations()), size = static_cast<double>(n);
  times[device.ToString()][n] = mean;
  state.counters["GFLOPps"] = 2 * size * size * size / mean / 1e9;
  return absl::OkStatus();
}

// Prints the least size from which the second device is faster at every size.
void PrintCrossover(const SweepTimes& times, const std::string& first, const std::string& second) {
  if (!times.contains(first) || !times.contains(second)) return;
  std::optional<int64_t> from;
  for (const auto& [n, seconds] : times.at(second)) {
    const auto other = times.at(first).find(n);
    if (other == times.at(first).end()) continue;
    if (seconds >= other->second) {
      from.reset();
    } else if (!from.has_value()) {
      from = n;
    }
  }
  std::cout << "matmul_sweep crossover: ";
  if (from.has_value()) {
    std::cout << second << " is faster than " << first << " from n = " << *from << " on\n";
  } else {
    std::cout << second << " is not faster than " << first << " at the largest n\n";
  }
}

// How a program reads the numbers that a function computes in each run.
enum class Reading { kEachRun, kEveryHundred, kLog };

// Runs `function` `runs` times and returns the numbers read from its output or log `name`.
absl::StatusOr<std::vector<double>> RunAndRead(const CountedSession& session, sn::BoundFunction& function,
                                               const std::string& name, int runs, Reading reading,
                                               int runs_a_log) {
  std::vector<double> numbers;
  for (int run = 1; run <= runs; ++run) {
    SINTER_RETURN_IF_ERROR(function.Run());
    if (reading == Reading::kEachRun || (reading == Reading::kEveryHundred && run % 100 == 0)) {
      SINTER_ASSIGN_OR_RETURN(numbers.emplace_back(), function.outputs().Scalar(name));
    } else if (reading == Reading::kLog && run % runs_a_log == 0) {
      SINTER_ASSIGN_OR_RETURN(const sn::LogValues log, session->ReadLog(name));
      numbers.insert(numbers.end(), log.values.begin(), log.values.end());
    }
  }
  return numbers;
}

struct ReadingCase {
  std::string function, name;
  int runs, runs_a_log;
  Reading reading;
};

// Times a case and checks its numbers against those of the function `reference`, read in each run, from the
// same initial values.
absl::Status TimeReading(State& state, const CountedSession& session, const ReadingCase& c,
                         const std::string& reference) {
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction simple, session->Bind(reference));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction function, session->Bind(c.function));
  SINTER_RETURN_IF_ERROR(session->ResetVariables());
  SINTER_ASSIGN_OR_RETURN(std::vector<double> expected,
                          RunAndRead(session, simple, c.name, c.runs, Reading::kEachRun, 1));
  if (c.reading == Reading::kEveryHundred) {
    for (size_t i = 0; i < expected.size() / 100; ++i) expected[i] = expected[100 * i + 99];
    expected.resize(expected.size() / 100);
  }
  // The first two runs initialize libraries and capture the graph.
  for (int i = 0; i < 2; ++i) SINTER_RETURN_IF_ERROR(function.Run());
  double total = 0;
  int64_t copies = 0;
  for (auto _ : state) {
    SINTER_RETURN_IF_ERROR(session->ResetVariables());
    SINTER_RETURN_IF_ERROR(session->Synchronize());
    const int64_t before = session.Copies();
    std::vector<double> numbers;
    const auto run = [&]() -> absl::Status {
      SINTER_ASSIGN_OR_RETURN(numbers,
                              RunAndRead(session, function, c.name, c.runs, c.reading, c.runs_a_log));
      return absl::OkStatus();
    };
    SINTER_ASSIGN_OR_RETURN(const double seconds, Seconds(session, run));
    copies = session.Copies() - before;
    SINTER_RETURN_IF_ERROR(CheckClose(numbers, expected));
    state.SetIterationTime(seconds);
    total += seconds;
  }
  state.counters["copies"] = static_cast<double>(copies);
  state.counters["us_a_run"] = total / static_cast<double>(state.iterations()) / c.runs * 1e6;
  return absl::OkStatus();
}

// Times the Frobenius norms of a thousand dependent matmuls of 100 x 100 matrices.
absl::Status ThousandNorms(State& state, sn::Device device, bool with_log) {
  constexpr int64_t kSize = 100;
  constexpr int kRuns = 1000;
  sn::Graph graph("norms");
  const sn::VariableOptions random = {.init = {sn::VariableInit::Kind::kUniform, -1, 1}};
  const sn::Variable a = graph.Variable("a", sn::F32, {kSize, kSize}, random);
  const sn::Variable b = graph.Variable("b", sn::F32, {kSize, kSize}, random);
  const auto norm = [&](sn::Builder& f) {
    const sn::Tensor y = sn::MatMul(f.Read(a), f.Read(b)), norm = sn::Sqrt(sn::Sum(sn::Square(y)));
    f.Assign(a, y * (100.0 / norm));
    return norm;
  };
  graph.Function("fetched", sn::Mode::kTrain, [&](sn::Builder& f) { f.Output("norm", norm(f)); });
  graph.Function("logged", sn::Mode::kTrain,
                 [&](sn::Builder& f) { f.Log("norm", norm(f), {.capacity = kRuns}); });
  SINTER_ASSIGN_OR_RETURN(const CountedSession session, CountedSession::Make(graph, device));
  return TimeReading(state, session,
                     {.function = with_log ? "logged" : "fetched",
                      .name = "norm",
                      .runs = kRuns,
                      .runs_a_log = kRuns,
                      .reading = with_log ? Reading::kLog : Reading::kEachRun},
                     "fetched");
}

// Times training of LeNet with a batch of 256 that stays on the device, and the reading of its loss.
absl::Status LeNetLoss(State& state, sn::Device device, Reading reading) {
  constexpr int64_t kRows = 256;
  sn::Graph graph("lenet", {.seed = 1});
  namespace nn = sn::nn;
  nn::Module net =
      nn::Sequential{nn::Conv2d(20, 3), nn::Relu(),    nn::AvgPool(2),  nn::Conv2d(50, 5), nn::Relu(),
                     nn::AvgPool(2),    nn::Flatten(), nn::Linear(128), nn::Relu(),        nn::Linear(10)};
  const sn::VariableOptions data = {.init = {sn::VariableInit::Kind::kUniform, 0, 1}, .trainable = false};
  const sn::Variable x = graph.Variable("x", sn::F32, {kRows, 1, 28, 28}, data);
  const sn::Variable y = graph.Variable("y", sn::F32, {kRows}, data);
  const auto train = [&](sn::Builder& b) {
    const sn::Tensor labels = sn::Cast(b.Read(y) * 10.0, sn::I32);
    sn::Tensor loss = sn::SoftmaxCrossEntropy(net(b.Read(x)), labels);
    sn::optim::Sgd{.learning_rate = 0.05}.Minimize(loss);
    return loss;
  };
  graph.Function("fetched", sn::Mode::kTrain, [&](sn::Builder& b) { b.Output("loss", train(b)); });
  graph.Function("logged", sn::Mode::kTrain, [&](sn::Builder& b) { b.Log("loss", train(b)); });
  SINTER_ASSIGN_OR_RETURN(const CountedSession session, CountedSession::Make(graph, device));
  return TimeReading(state, session,
                     {.function = reading == Reading::kLog ? "logged" : "fetched",
                      .name = "loss",
                      .runs = device.is_gpu() ? 1000 : 100,
                      .runs_a_log = 100,
                      .reading = reading},
                     "fetched");
}

// Returns a session with two matmuls, each on the device of its matrices.
absl::StatusOr<CountedSession> StartTwoMatmuls(const std::vector<sn::Device>& devices,
                                               const std::vector<sn::HostTensor>& matrices) {
  const int64_t n = matrices[0].shape()[0];
  sn::Graph graph("two_matmuls");
  std::vector<sn::Variable> variables;
  for (size_t i = 0; i < 4; ++i) {
    variables.push_back(graph.Variable(absl::StrCat("v", i), sn::F32, {n, n}, {.device = devices[i / 2]}));
  }
  graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    for (size_t i = 0; i < 2; ++i) {
      b.Output(absl::StrCat("y", i), sn::MatMul(b.Read(variables[2 * i]), b.Read(variables[2 * i + 1])));
    }
  });
  SINTER_ASSIGN_OR_RETURN(CountedSession session, CountedSession::Make(graph, devices[0]));
  for (size_t i = 0; i < 4; ++i) {
    SINTER_RETURN_IF_ERROR(session->WriteVariable(absl::StrCat("v", i), matrices[i]));
  }
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session->Bind("run"));
  for (int i = 0; i < 2; ++i) SINTER_RETURN_IF_ERROR(run.Run());
  for (size_t i = 0; i < 2; ++i) {
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* const y, run.outputs().Get(absl::StrCat("y", i)));
    SINTER_RETURN_IF_ERROR(CheckMatmul(matrices[2 * i], matrices[2 * i + 1], *y));
  }
  return session;
}

// Returns two GPUs, else two CPU devices if SINTER_CPU_DEVICES provides them.
absl::StatusOr<std::vector<sn::Device>> TwoDevices() {
  if (sn::NumGpus() >= 2) return std::vector<sn::Device>{sn::Device::Gpu(0), sn::Device::Gpu(1)};
  SINTER_ASSIGN_OR_RETURN(const int cpus, sn::NumCpuDevices());
  if (cpus >= 2) return std::vector<sn::Device>{sn::Device::Cpu(0), sn::Device::Cpu(1)};
  return absl::FailedPreconditionError(absl::StrCat(
      "needs two GPUs, and there are ", sn::NumGpus(),
      "; SINTER_CPU_DEVICES=2 runs it on two devices that share the cores, so that nothing is gained"));
}

// `ratio` is the time of both matmuls in sequence on one device, divided by their time on two devices in
// parallel.
absl::Status TwoMatmuls(State& state, int64_t n) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<sn::Device> devices, TwoDevices());
  const int runs = devices[0].is_gpu() ? 10 : 1;
  std::vector<sn::HostTensor> matrices;
  for (uint64_t seed = 1; seed <= 4; ++seed) matrices.push_back(sn::bench::Uniform(seed, {n, n}));
  std::vector<CountedSession> sessions;
  std::vector<sn::BoundFunction> functions;
  for (const sn::Device second : {devices[1], devices[0]}) {
    SINTER_ASSIGN_OR_RETURN(CountedSession session, StartTwoMatmuls({devices[0], second}, matrices));
    SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session->Bind("run"));
    sessions.push_back(std::move(session));
    functions.push_back(std::move(run));
  }
  double totals[2] = {0, 0};
  for (auto _ : state) {
    double seconds[2];
    for (size_t i = 0; i < 2; ++i) {
      const auto all = [&]() -> absl::Status {
        for (int run = 0; run < runs; ++run) SINTER_RETURN_IF_ERROR(functions[i].Run());
        return absl::OkStatus();
      };
      SINTER_ASSIGN_OR_RETURN(seconds[i], Seconds(sessions[i], all));
      seconds[i] /= runs;
      totals[i] += seconds[i];
    }
    state.SetIterationTime(seconds[0]);
  }
  state.counters["sequence_ms"] = totals[1] / static_cast<double>(state.iterations()) * 1e3;
  state.counters["ratio"] = totals[1] / totals[0];
  state.SetLabel(devices[0].ToString() + " and " + devices[1].ToString());
  return absl::OkStatus();
}

void Register(const std::string& name, const std::function<absl::Status(State&)>& bench) {
  const auto run = [bench](State& state) {
    if (const absl::Status status = bench(state); !status.ok()) Fail(state, status);
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
}

void RegisterAll(const std::vector<sn::Device>& devices, SweepTimes& times) {
  for (const sn::Device device : devices) {
    const std::string on = "/" + device.ToString();
    for (int64_t n = 8; n <= 8192; n *= 2) {
      Register(absl::StrCat("matmul_sweep", on, "/n:", n),
               [device, n, &times](State& state) { return MatmulSweep(state, device, n, times); });
    }
    for (const bool with_log : {false, true}) {
      Register(absl::StrCat("norms_of_1000_matmuls", on, with_log ? "/log_read_once" : "/fetched_one_by_one"),
               [=](State& state) { return ThousandNorms(state, device, with_log); });
    }
    const std::pair<const char*, Reading> readings[] = {{"/fetched_each_step", Reading::kEachRun},
                                                        {"/fetched_every_100", Reading::kEveryHundred},
                                                        {"/log_read_every_100", Reading::kLog}};
    for (const auto& [name, reading] : readings) {
      Register(absl::StrCat("lenet_loss", on, name),
               [device, r = reading](State& state) { return LeNetLoss(state, device, r); });
    }
  }
  const std::vector<int64_t> sizes =
      sn::NumGpus() >= 2 ? std::vector<int64_t>{4096, 8192} : std::vector<int64_t>{512};
  for (const int64_t n : sizes) {
    Register(absl::StrCat("two_matmuls/n:", n), [n](State& state) { return TwoMatmuls(state, n); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::vector<sn::Device> devices = {sn::Device::Cpu()};
  if (sn::TryGpu().is_gpu()) devices.push_back(sn::TryGpu());
  SweepTimes times;
  RegisterAll(devices, times);
  benchmark::RunSpecifiedBenchmarks();
  if (devices.size() > 1) PrintCrossover(times, devices[0].ToString(), devices[1].ToString());
  if (devices.size() == 1 && !times.empty()) {
    std::cout << "matmul_sweep crossover: this machine has no GPU to compare with\n";
  }
  return 0;
}
