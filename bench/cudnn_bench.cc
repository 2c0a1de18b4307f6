// What each of cuDNN's engines takes for the convolutions of LeNet, one JSON object a line: to see what determinism, the order
// of images and tf32 cost, and whether the engine that cuDNN names first is its quickest.
//
//   sinter_bench_cudnn
//   {"conv":"WeightGrad f32 Tf32 nchw [256,20,13,13] by [50,20,5,5]","deterministic":true,"exact":true,"rank":0,
//    "engine":1001,"us":40.1,"workspace":0}
//
// `rank`: among the engines that the rules allow, in cuDNN's order; plans take rank 0 of deterministic and exact.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sinter/runtime/cuda/cuda_memory.h"
#include "sinter/runtime/cuda/cudnn_convolution.h"
#include "sinter/runtime/cuda/recorded_graph.h"
#include "sinter/runtime/status.h"

namespace sinter {
namespace {

constexpr int kLaunches = 20, kSamples = 7, kEngines = 6;
constexpr int64_t kBytes = int64_t{32} << 20;  // Of each tensor: more than any is large.

struct Geometry {
  int64_t batch, in, out, size, kernel;
};

ConvShape ShapeOf(const Geometry& g, fb::ConvKind kind, bool channels_last, fb::MathMode math) {
  const int64_t out = g.size - g.kernel + 1;
  ConvShape shape;
  shape.kind = kind, shape.channels_last = channels_last, shape.math = math;
  shape.x = PackedTensor({g.batch, g.in, g.size, g.size}, channels_last);
  shape.y = PackedTensor({g.batch, g.out, out, out}, channels_last);
  shape.weights = PackedTensor({g.out, g.in, g.kernel, g.kernel}, /*channels_last=*/false);
  shape.strides = shape.dilations = {1, 1};
  shape.padding_before = shape.padding_after = {0, 0};
  return shape;
}

// Microseconds a launch of a recorded graph of several, the median over samples.
absl::StatusOr<double> Time(const CudaContext& context, const std::function<absl::Status()>& launch) {
  SINTER_RETURN_IF_ERROR(launch());  // What the first launch loads and allocates.
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(context.stream()), "launch"));
  SINTER_ASSIGN_OR_RETURN(const auto graph, RecordGraph(context, [&]() -> absl::Status {
                            for (int i = 0; i < kLaunches; ++i) SINTER_RETURN_IF_ERROR(launch());
                            return absl::OkStatus();
                          }));
  SINTER_ASSIGN_OR_RETURN(const CudaEvent begin, MakeCudaEvent(/*with_time=*/true));
  SINTER_ASSIGN_OR_RETURN(const CudaEvent end, MakeCudaEvent(/*with_time=*/true));
  std::vector<float> samples;
  for (int i = 0; i < kSamples; ++i) {
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begin.get(), context.stream()), "record an event"));
    SINTER_RETURN_IF_ERROR(graph->Launch());
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(end.get(), context.stream()), "record an event"));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(end.get()), "wait"));
    float ms = 0;
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventElapsedTime(&ms, begin.get(), end.get()), "read a time"));
    samples.push_back(ms);
  }
  std::sort(samples.begin(), samples.end());
  return samples[kSamples / 2] * 1e3 / kLaunches;
}

absl::Status BenchEngines(CudaContext& context, const CudnnHandle& cudnn, const ConvShape& shape,
                          CudnnEngineRules rules, std::byte* memory) {
  const bool is_forward = shape.kind == fb::ConvKind::Forward;
  for (rules.skip = 0; rules.skip < kEngines; ++rules.skip) {
    const auto plan = MakeConvolutionPlan(cudnn, shape, {.bias = is_forward, .relu = is_forward}, rules);
    if (absl::IsUnimplemented(plan.status())) return absl::OkStatus();
    SINTER_RETURN_IF_ERROR(plan.status());
    const auto at = [&](int i) { return memory + i * kBytes; };
    const auto launch = [&] {
      if (!is_forward) return (*plan)->Execute({{kFirst, at(0)}, {kSecond, at(1)}, {kResult, at(2)}}, at(4));
      return (*plan)->Execute({{kFirst, at(0)}, {kSecond, at(1)}, {kBias, at(3)}, {kResult, at(2)}}, at(4));
    };
    SINTER_ASSIGN_OR_RETURN(const int64_t engine, (*plan)->EngineNumber());
    nlohmann::ordered_json line = {{"conv", shape.ToString()},
                                   {"deterministic", rules.must_be_deterministic},
                                   {"exact", rules.must_be_exact},
                                   {"rank", rules.skip},
                                   {"engine", engine}};
    if (const absl::StatusOr<double> us = Time(context, launch); us.ok()) {
      line["us"] = *us;
    } else {
      line["error"] = std::string(us.status().message());
    }
    line["workspace"] = (*plan)->workspace_bytes();
    std::cout << line.dump() << std::endl;
  }
  return absl::OkStatus();
}

absl::Status Main() {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeCudaMemory(0));
  SINTER_ASSIGN_OR_RETURN(const auto allocator, CachingAllocator::Create(std::move(memory)));
  SINTER_ASSIGN_OR_RETURN(const auto context, CudaContext::Create(0, allocator.get()));
  SINTER_ASSIGN_OR_RETURN(const CudnnHandle cudnn, context->CudnnOnStream());
  const CudaDeviceScope on(0);
  const int64_t most = RulesOf({}).max_workspace;
  SINTER_ASSIGN_OR_RETURN(const Allocation operands, allocator->Allocate(4 * kBytes + most, "operands"));
  auto* const bytes = static_cast<std::byte*>(operands.ptr());
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemsetAsync(bytes, 0, static_cast<size_t>(4 * kBytes), context->stream()), "fill memory"));
  const Geometry first = {256, 1, 20, 28, 3}, second = {256, 20, 50, 13, 5};
  using Kind = fb::ConvKind;
  const std::pair<Geometry, Kind> all[] = {{first, Kind::Forward},
                                           {first, Kind::WeightGrad},
                                           {second, Kind::Forward},
                                           {second, Kind::InputGrad},
                                           {second, Kind::WeightGrad}};
  for (const auto& [geometry, kind] : all) {
    for (const fb::MathMode math : {fb::MathMode::Ieee, fb::MathMode::Tf32}) {
      for (const bool channels_last : {false, true}) {
        const ConvShape shape = ShapeOf(geometry, kind, channels_last, math);
        CudnnEngineRules rules = RulesOf(shape);
        SINTER_RETURN_IF_ERROR(BenchEngines(*context, cudnn, shape, rules, bytes));
        rules.must_be_deterministic = rules.must_be_exact = false;
        SINTER_RETURN_IF_ERROR(BenchEngines(*context, cudnn, shape, rules, bytes));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sinter

int main() {
  const absl::Status status = sinter::Main();
  if (!status.ok()) std::cerr << "sinter_bench_cudnn: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
