// Compares ways to average tensors over devices, each as a plan, and on GPUs also NCCL's own call.
//
//   sinter_bench_collectives                              # All GPUs.
//   SINTER_CPU_DEVICES=4 sinter_bench_collectives         # Without GPUs: CPU devices that share the cores.
//
//   all_reduce     AllReduce; uses NCCL on GPUs.
//   sharded        ReduceScatter, then AllGather: each device combines its shard.
//   root           Reduce to the first device, then Broadcast.
//   copies         Copies every tensor to the first device, combines them there, and copies the result back.
//   nccl           ncclAllReduce without a plan; one thread launches on all devices.
//
// The tensors are variables; a run replaces them by their mean. `busGBps` is 2 (k - 1) / k of a tensor's
// bytes divided by the time, for k devices. This is the least traffic of each device and the figure of
// nccl-tests. The program checks results before it times them.
#include <benchmark/benchmark.h>

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

constexpr int kRunsATime = 20;

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

std::string Name(size_t i) { return absl::StrCat("v", i); }

absl::StatusOr<sn::Session> MakeSession(const std::vector<sn::Device>& devices, int64_t elements,
                                        const Combining& combine) {
  sn::Graph graph("all_reduce");
  std::vector<sn::Variable> variables;
  for (size_t i = 0; i < devices.size(); ++i) {
    variables.push_back(graph.Variable(Name(i), sn::F32, {elements}, {.device = devices[i]}));
  }
  graph.Function("run", sn::Mode::kTrain, [&](sn::Builder& b) {
    std::vector<sn::Tensor> parts;
    for (const sn::Variable& variable : variables) parts.push_back(b.Read(variable));
    const std::vector<sn::Tensor> results = combine(parts, devices);
    for (size_t i = 0; i < variables.size(); ++i) b.Assign(variables[i], results[i]);
  });
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = devices[0]}));
  return sn::Session::Create(std::move(plan));
}

// Runs once and checks that every variable is the mean of all.
absl::Status CheckMeans(sn::Session& session, sn::BoundFunction& run, size_t devices, int64_t elements) {
  std::vector<double> mean(static_cast<size_t>(elements), 0);
  for (size_t i = 0; i < devices; ++i) {
    const sn::HostTensor values = sn::bench::Uniform(i + 1, {elements});
    SINTER_RETURN_IF_ERROR(session.WriteVariable(Name(i), values));
    SINTER_ASSIGN_OR_RETURN(const std::span<const float> span, values.Span<float>());
    for (size_t e = 0; e < mean.size(); ++e) mean[e] += span[e] / static_cast<double>(devices);
  }
  SINTER_RETURN_IF_ERROR(run.Run());
  for (size_t i = 0; i < devices; ++i) {
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor values, session.ReadVariable(Name(i)));
    SINTER_ASSIGN_OR_RETURN(const std::span<const float> span, values.Span<float>());
    for (size_t e = 0; e < mean.size(); ++e) {
      if (std::abs(span[e] - mean[e]) <= 1e-6) continue;
      return absl::InternalError(
          absl::StrCat("element ", e, " of ", Name(i), " is ", span[e], " and not ", mean[e]));
    }
  }
  return absl::OkStatus();
}

// Times `runs`, which makes kRunsATime exchanges among `devices` devices and waits for all of them.
absl::Status Time(State& state, int64_t elements, size_t devices, const std::function<absl::Status()>& runs) {
  double total = 0;
  for (auto _ : state) {
    SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing, sn::bench::TimeMs(runs, 0, 1, 0));
    const double seconds = timing.ms / 1e3 / kRunsATime;
    state.SetIterationTime(seconds);
    total += seconds;
  }
  const double mean = total / static_cast<double>(state.iterations());
  const double k = static_cast<double>(devices), bytes = 4.0 * static_cast<double>(elements);
  state.counters["busGBps"] = 2 * (k - 1) / k * bytes / mean / 1e9;
  return absl::OkStatus();
}

absl::Status TimePlan(State& state, const std::vector<sn::Device>& devices, int64_t elements,
                      const Combining& combine) {
  SINTER_ASSIGN_OR_RETURN(sn::Session session, MakeSession(devices, elements, combine));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session.Bind("run"));
  SINTER_RETURN_IF_ERROR(CheckMeans(session, run, devices.size(), elements));
  const auto runs = [&]() -> absl::Status {
    for (int i = 0; i < kRunsATime; ++i) SINTER_RETURN_IF_ERROR(run.Run());
    return session.Synchronize();
  };
  // The second run captures the graph.
  SINTER_RETURN_IF_ERROR(runs());
  return Time(state, elements, devices.size(), runs);
}

#ifdef SINTER_WITH_CUDA
// The NCCL state of one GPU. It lives until the process ends.
struct NcclMember {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float* data = nullptr;
};

absl::StatusOr<std::vector<NcclMember>> Members(const sn::Nccl& nccl, int gpus, size_t elements) {
  std::vector<NcclMember> members(static_cast<size_t>(gpus));
  ncclUniqueId id;
  SINTER_RETURN_IF_ERROR(nccl.Check(nccl.GetUniqueId(&id), "make an id"));
  SINTER_RETURN_IF_ERROR(nccl.Check(nccl.GroupStart(), "begin a group"));
  for (int i = 0; i < gpus; ++i) {
    NcclMember& m = members[static_cast<size_t>(i)];
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaSetDevice(i), "choose a GPU"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaStreamCreate(&m.stream), "make a stream"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaMalloc(&m.data, elements * sizeof(float)), "take memory"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaMemset(m.data, 0, elements * sizeof(float)), "clear it"));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    SINTER_RETURN_IF_ERROR(nccl.Check(nccl.CommInitRankConfig(&m.comm, gpus, id, i, &config), "connect"));
  }
  SINTER_RETURN_IF_ERROR(nccl.Check(nccl.GroupEnd(), "connect"));
  return members;
}

absl::Status TimeNccl(State& state, int gpus, int64_t elements) {
  SINTER_ASSIGN_OR_RETURN(const sn::Nccl* const nccl, sn::LoadNccl());
  const auto count = static_cast<size_t>(elements);
  SINTER_ASSIGN_OR_RETURN(const std::vector<NcclMember> members, Members(*nccl, gpus, count));
  const auto runs = [&]() -> absl::Status {
    for (int run = 0; run < kRunsATime; ++run) {
      SINTER_RETURN_IF_ERROR(nccl->Check(nccl->GroupStart(), "begin a group"));
      for (const NcclMember& m : members) {
        SINTER_RETURN_IF_ERROR(nccl->Check(
            nccl->AllReduce(m.data, m.data, count, ncclFloat, ncclAvg, m.comm, m.stream), "reduce"));
      }
      SINTER_RETURN_IF_ERROR(nccl->Check(nccl->GroupEnd(), "reduce"));
    }
    for (const NcclMember& m : members) {
      SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaStreamSynchronize(m.stream), "wait"));
    }
    return absl::OkStatus();
  };
  SINTER_RETURN_IF_ERROR(runs());
  SINTER_RETURN_IF_ERROR(Time(state, elements, members.size(), runs));
  for (const NcclMember& m : members) {
    SINTER_RETURN_IF_ERROR(nccl->Check(nccl->CommDestroy(m.comm), "disconnect"));
    SINTER_RETURN_IF_ERROR(sn::CudaStatus(cudaFree(m.data), "give memory back"));
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
  const std::pair<const char*, Combining> ways[] = {
      {"all_reduce", AllReduced}, {"sharded", Sharded}, {"root", ByRoot}, {"copies", ByCopies}};
  const std::vector<int64_t> sizes =
      devices[0].is_gpu() ? std::vector<int64_t>{1, 16, 64, 256} : std::vector<int64_t>{1, 16};
  for (const int64_t mib : sizes) {
    const int64_t elements = mib << 18;
    for (const auto& [name, way] : ways) {
      Register(absl::StrCat(name, "/MiB:", mib), [&devices, elements, combine = way](State& state) {
        return TimePlan(state, devices, elements, combine);
      });
    }
#ifdef SINTER_WITH_CUDA
    if (devices[0].is_gpu()) {
      const int gpus = static_cast<int>(devices.size());
      Register(absl::StrCat("nccl/MiB:", mib),
               [gpus, elements](State& state) { return TimeNccl(state, gpus, elements); });
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
