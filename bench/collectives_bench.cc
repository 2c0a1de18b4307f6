// Compares ways to average tensors over devices, each as a plan, and on GPUs also NCCL's own call.
//
//   sinter_bench_collectives                              # All GPUs.
//   SINTER_CPU_DEVICES=4 sinter_bench_collectives         # Without GPUs: CPU devices that share the cores.
//
//   all_reduce     AllReduce; uses NCCL on GPUs.
//   sharded        ReduceScatter, then AllGather: each device combines its shard.
//   root           Reduce to the first device, then Broadcast.
//   copies         Copies every tensor to the first device, combines them there, and copies the result back.
//   gather         AllGather of a part from each device.
//   scatter        ReduceScatter to a part on each device.
//   nccl, nccl_gather, nccl_scatter     NCCL's own calls without a plan; one thread launches on all devices.
//
// The tensors are variables. A run replaces them by their mean, or writes what it gathers or scatters to
// other variables. A run has several exchanges of small tensors. `busGBps` is 2 (k - 1) / k of a whole
// tensor's bytes divided by the time of one exchange, for k devices; for a gather or scatter, half of that.
// This is the least traffic of each device and the figure of nccl-tests. The program checks results before it
// times them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/bench/timing.h"
#include "sinter/bench/workloads.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/frontend/ops/collectives.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/session/session.h"
#ifdef SINTER_WITH_CUDA
#include <cuda_runtime.h>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/cuda/driver/nccl_library.h"
#endif

namespace {

namespace sn = sinter;
using benchmark::State;
using Combining =
    std::function<std::vector<sn::Tensor>(const std::vector<sn::Tensor>&, const std::vector<sn::Device>&)>;

constexpr int64_t kRunsATime = 20;

std::vector<sn::Tensor> AllReduced(const std::vector<sn::Tensor>& parts, const std::vector<sn::Device>&) {
  return sn::AllReduce(parts, sn::ReduceOp::kMean);
}

std::vector<sn::Tensor> Sharded(const std::vector<sn::Tensor>& parts, const std::vector<sn::Device>&) {
  return sn::AllGather(sn::ReduceScatter(parts, sn::ReduceOp::kMean));
}

std::vector<sn::Tensor> ByRoot(const std::vector<sn::Tensor>& parts, const std::vector<sn::Device>& devices) {
  return sn::Broadcast(sn::Reduce(parts, sn::ReduceOp::kMean), devices);
}

std::vector<sn::Tensor> ByCopies(const std::vector<sn::Tensor>& parts,
                                 const std::vector<sn::Device>& devices) {
  sn::Tensor sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + sn::Copy(parts[i], devices[0]);
  const sn::Tensor mean = sum * (1.0 / static_cast<double>(parts.size()));
  std::vector<sn::Tensor> all = {mean};
  for (size_t i = 1; i < parts.size(); ++i) all.push_back(sn::Copy(mean, devices[i]));
  return all;
}

std::vector<sn::Tensor> Gathered(const std::vector<sn::Tensor>& parts, const std::vector<sn::Device>&) {
  return sn::AllGather(parts);
}

std::vector<sn::Tensor> Scattered(const std::vector<sn::Tensor>& parts, const std::vector<sn::Device>&) {
  return sn::ReduceScatter(parts, sn::ReduceOp::kMean);
}

enum class Kind { kMeans, kGather, kScatter };

// An exchange of tensors that have `elements` when they are whole, among `devices`, which divide them.
struct Exchange {
  Kind kind;
  std::vector<sn::Device> devices;
  int64_t elements;

  int64_t Part() const { return elements / static_cast<int64_t>(devices.size()); }
  int64_t In() const { return kind == Kind::kGather ? Part() : elements; }
  int64_t Out() const { return kind == Kind::kScatter ? Part() : elements; }
  // The bytes that each device must send.
  double Bytes() const {
    const double k = static_cast<double>(devices.size());
    return (kind == Kind::kMeans ? 2 : 1) * (k - 1) / k * 4.0 * static_cast<double>(elements);
  }
  // Exchanges of one run, each of tensors of its own. A step of training has many, and the start of a run
  // takes longer than a small exchange.
  int64_t Count() const { return std::clamp<int64_t>((int64_t{64} << 18) / elements, 4, 8); }
  // The variables that device i reads and writes in exchange `number`.
  std::string InName(int64_t number, size_t i) const { return absl::StrCat("v", number, "_", i); }
  std::string OutName(int64_t number, size_t i) const {
    return absl::StrCat(kind == Kind::kMeans ? "v" : "r", number, "_", i);
  }
};

absl::StatusOr<sn::Session> MakeSession(const Exchange& exchange, const Combining& combine) {
  sn::Graph graph("exchange");
  const std::vector<sn::Device>& devices = exchange.devices;
  const auto variable = [&](const std::string& name, int64_t elements, size_t i) {
    return graph.Variable(name, sn::F32, {elements}, {.device = devices[i]});
  };
  graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    for (int64_t number = 0; number < exchange.Count(); ++number) {
      std::vector<sn::Variable> sources, results;
      for (size_t i = 0; i < devices.size(); ++i) {
        sources.push_back(variable(exchange.InName(number, i), exchange.In(), i));
        results.push_back(exchange.kind == Kind::kMeans
                              ? sources.back()
                              : variable(exchange.OutName(number, i), exchange.Out(), i));
      }
      std::vector<sn::Tensor> parts;
      for (const sn::Variable& source : sources) parts.push_back(b.Read(source));
      const std::vector<sn::Tensor> combined = combine(parts, devices);
      for (size_t i = 0; i < results.size(); ++i) b.Assign(results[i], combined[i]);
    }
  });
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = devices[0]}));
  return sn::Session::Create(std::move(plan));
}

// Returns numbers that repeat after a MiB, for drawing more takes longer than the measurement.
absl::StatusOr<sn::HostTensor> Repeated(uint64_t seed, int64_t elements) {
  const sn::HostTensor drawn = sn::bench::Uniform(seed, {std::min<int64_t>(elements, 1 << 18)});
  SINTER_ASSIGN_OR_RETURN(const std::span<const float> some, drawn.Span<float>());
  SINTER_ASSIGN_OR_RETURN(sn::HostTensor all, sn::HostTensor::Empty(sn::F32, {elements}));
  SINTER_ASSIGN_OR_RETURN(const std::span<float> span, all.MutableSpan<float>());
  for (size_t e = 0; e < span.size(); ++e) span[e] = some[e % some.size()];
  return all;
}

// Sets what exchange `number` reads. Returns the whole result: the mean of all, or what is gathered.
absl::StatusOr<std::vector<float>> SetOperands(sn::Session& session, const Exchange& exchange,
                                               int64_t number) {
  std::vector<float> whole;
  const size_t devices = exchange.devices.size();
  for (size_t i = 0; i < devices; ++i) {
    const uint64_t seed = static_cast<uint64_t>(number) * devices + i + 1;
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor values, Repeated(seed, exchange.In()));
    SINTER_RETURN_IF_ERROR(session.WriteVariable(exchange.InName(number, i), values));
    SINTER_ASSIGN_OR_RETURN(const std::span<const float> span, values.Span<float>());
    if (exchange.kind == Kind::kGather) {
      whole.insert(whole.end(), span.begin(), span.end());
      continue;
    }
    whole.resize(span.size());
    for (size_t e = 0; e < whole.size(); ++e) whole[e] += span[e] / static_cast<float>(devices);
  }
  return whole;
}

// Runs once and checks the results of every device.
absl::Status CheckResults(sn::Session& session, sn::BoundFunction& run, const Exchange& exchange) {
  std::vector<std::vector<float>> expected;
  for (int64_t number = 0; number < exchange.Count(); ++number) {
    SINTER_ASSIGN_OR_RETURN(expected.emplace_back(), SetOperands(session, exchange, number));
  }
  SINTER_RETURN_IF_ERROR(run.Run());
  for (int64_t number = 0; number < exchange.Count(); ++number) {
    const std::vector<float>& whole = expected[static_cast<size_t>(number)];
    for (size_t i = 0; i < exchange.devices.size(); ++i) {
      const std::string name = exchange.OutName(number, i);
      SINTER_ASSIGN_OR_RETURN(const sn::HostTensor values, session.ReadVariable(name));
      SINTER_ASSIGN_OR_RETURN(const std::span<const float> span, values.Span<float>());
      const size_t first = exchange.kind == Kind::kScatter ? i * span.size() : 0;
      for (size_t e = 0; e < span.size(); ++e) {
        if (std::abs(span[e] - whole[first + e]) <= 1e-6) continue;
        return absl::InternalError(
            absl::StrCat("element ", e, " of ", name, " is ", span[e], " and not ", whole[first + e]));
      }
    }
  }
  return absl::OkStatus();
}

// Times `runs`, which makes kRunsATime runs of the exchange and waits for all of them.
absl::Status Time(State& state, const Exchange& exchange, const std::function<absl::Status()>& runs) {
  double total = 0;
  for (auto _ : state) {
    SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing, sn::bench::TimeMs(runs, 0, 1, 0));
    const double seconds = timing.ms / 1e3 / static_cast<double>(kRunsATime * exchange.Count());
    state.SetIterationTime(seconds);
    total += seconds;
  }
  const double mean = total / static_cast<double>(state.iterations());
  state.counters["busGBps"] = exchange.Bytes() / mean / 1e9;
  return absl::OkStatus();
}

absl::Status TimePlan(State& state, const Exchange& exchange, const Combining& combine) {
  SINTER_ASSIGN_OR_RETURN(sn::Session session, MakeSession(exchange, combine));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session.Bind("run"));
  SINTER_RETURN_IF_ERROR(CheckResults(session, run, exchange));
  const auto runs = [&]() -> absl::Status {
    for (int64_t i = 0; i < kRunsATime; ++i) SINTER_RETURN_IF_ERROR(run.Run());
    return session.Synchronize();
  };
  // The second run captures the graph.
  SINTER_RETURN_IF_ERROR(runs());
  return Time(state, exchange, runs);
}

#ifdef SINTER_WITH_CUDA
// The NCCL state of one GPU. It lives until the process ends.
struct NcclMember {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float* in = nullptr;
  float* out = nullptr;  // The sums of an all-reduce replace its operands.
};

absl::Status TakeZeros(float*& data, int64_t elements) {
  const size_t bytes = static_cast<size_t>(elements) * sizeof(float);
  SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaMalloc(&data, bytes), "take memory"));
  return sn::CudaStatus(cudaMemset(data, 0, bytes), "clear it");
}

absl::StatusOr<std::vector<NcclMember>> Members(const sn::Nccl& nccl, const Exchange& exchange) {
  const int gpus = static_cast<int>(exchange.devices.size());
  std::vector<NcclMember> members(static_cast<size_t>(gpus));
  ncclUniqueId id;
  SINTER_RETURN_IF_ERROR(nccl.Check(nccl.GetUniqueId(&id), "make an id"));
  SINTER_RETURN_IF_ERROR(nccl.Check(nccl.GroupStart(), "begin a group"));
  for (int i = 0; i < gpus; ++i) {
    NcclMember& m = members[static_cast<size_t>(i)];
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaSetDevice(i), "choose a GPU"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaStreamCreate(&m.stream), "make a stream"));
    SINTER_RETURN_IF_ERROR(TakeZeros(m.in, exchange.In()));
    if (exchange.kind != Kind::kMeans) SINTER_RETURN_IF_ERROR(TakeZeros(m.out, exchange.Out()));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    SINTER_RETURN_IF_ERROR(nccl.Check(nccl.CommInitRankConfig(&m.comm, gpus, id, i, &config), "connect"));
  }
  SINTER_RETURN_IF_ERROR(nccl.Check(nccl.GroupEnd(), "connect"));
  return members;
}

ncclResult_t Start(const sn::Nccl& nccl, const Exchange& exchange, const NcclMember& m) {
  switch (exchange.kind) {
    case Kind::kMeans:
      return nccl.AllReduce(m.in, m.in, static_cast<size_t>(exchange.elements), ncclFloat, ncclAvg, m.comm,
                            m.stream);
    case Kind::kGather:
      return nccl.AllGather(m.in, m.out, static_cast<size_t>(exchange.Part()), ncclFloat, m.comm, m.stream);
    case Kind::kScatter:
      return nccl.ReduceScatter(m.in, m.out, static_cast<size_t>(exchange.Part()), ncclFloat, ncclAvg, m.comm,
                                m.stream);
  }
  return ncclInternalError;
}

absl::Status TimeNccl(State& state, const Exchange& exchange) {
  SINTER_ASSIGN_OR_RETURN(const sn::Nccl* const nccl, sn::LoadNccl());
  SINTER_ASSIGN_OR_RETURN(const std::vector<NcclMember> members, Members(*nccl, exchange));
  const auto runs = [&]() -> absl::Status {
    for (int64_t run = 0; run < kRunsATime * exchange.Count(); ++run) {
      SINTER_RETURN_IF_ERROR(nccl->Check(nccl->GroupStart(), "begin a group"));
      for (const NcclMember& m : members) {
        SINTER_RETURN_IF_ERROR(nccl->Check(Start(*nccl, exchange, m), "exchange"));
      }
      SINTER_RETURN_IF_ERROR(nccl->Check(nccl->GroupEnd(), "exchange"));
    }
    for (const NcclMember& m : members) {
      SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaStreamSynchronize(m.stream), "wait"));
    }
    return absl::OkStatus();
  };
  SINTER_RETURN_IF_ERROR(runs());
  SINTER_RETURN_IF_ERROR(Time(state, exchange, runs));
  for (const NcclMember& m : members) {
    SINTER_RETURN_IF_ERROR(nccl->Check(nccl->CommDestroy(m.comm), "disconnect"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaFree(m.in), "give memory back"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaFree(m.out), "give memory back"));
  }
  return absl::OkStatus();
}
#endif

void Register(const std::string& name, const std::function<absl::Status(State&)>& bench) {
  const auto run = [bench](State& state) {
    if (const absl::Status status = bench(state); !status.ok()) {
      state.SkipWithError(std::string(status.message()).c_str());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
}

void RegisterAll(const std::vector<sn::Device>& devices) {
  struct Way {
    const char* name;
    Kind kind;
    Combining combine;
  };
  const Way ways[] = {{"all_reduce", Kind::kMeans, AllReduced}, {"sharded", Kind::kMeans, Sharded},
                      {"root", Kind::kMeans, ByRoot},           {"copies", Kind::kMeans, ByCopies},
                      {"gather", Kind::kGather, Gathered},      {"scatter", Kind::kScatter, Scattered}};
  const std::vector<int64_t> sizes =
      devices[0].is_gpu() ? std::vector<int64_t>{1, 16, 64, 256, 512} : std::vector<int64_t>{1, 16};
  const auto count = static_cast<int64_t>(devices.size());
  for (const int64_t mib : sizes) {
    const int64_t elements = (mib << 18) / count * count;
    for (const Way& way : ways) {
      const Exchange exchange{way.kind, devices, elements};
      Register(absl::StrCat(way.name, "/MiB:", mib),
               [exchange, way](State& state) { return TimePlan(state, exchange, way.combine); });
    }
#ifdef SINTER_WITH_CUDA
    if (!devices[0].is_gpu()) continue;
    const std::pair<const char*, Kind> calls[] = {
        {"nccl", Kind::kMeans}, {"nccl_gather", Kind::kGather}, {"nccl_scatter", Kind::kScatter}};
    for (const auto& [name, kind] : calls) {
      const Exchange exchange{kind, devices, elements};
      Register(absl::StrCat(name, "/MiB:", mib),
               [exchange](State& state) { return TimeNccl(state, exchange); });
    }
#endif
  }
}

// Returns all GPUs if there are several, else all CPU devices.
absl::StatusOr<std::vector<sn::Device>> AllDevices() {
  std::vector<sn::Device> devices;
  for (int i = 0; i < sn::NumGpus(); ++i) devices.push_back(sn::Device::Gpu(i));
  if (devices.size() > 1) return devices;
  SINTER_ASSIGN_OR_RETURN(const int cpus, sn::NumCpuDevices());
  if (cpus < 2) {
    return absl::FailedPreconditionError(absl::StrCat("needs two GPUs, and there are ", sn::NumGpus(),
                                                      "; SINTER_CPU_DEVICES=4 runs it on four CPU devices"));
  }
  devices.clear();
  for (int i = 0; i < cpus; ++i) devices.push_back(sn::Device::Cpu(i));
  return devices;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const absl::StatusOr<std::vector<sn::Device>> devices = AllDevices();
  if (!devices.ok()) {
    std::cerr << "sinter_bench_collectives: " << devices.status().message() << "\n";
    return 1;
  }
  RegisterAll(*devices);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
