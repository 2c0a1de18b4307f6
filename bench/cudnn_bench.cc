// Times cuDNN's first engines on the convolutions of LeNet and prints one JSON object a line. Shows the
// cost of determinism, of the image layout and of tf32, and if cuDNN's first engine is its fastest.
// `resnet50` times the convolutions of ResNet-50 in bf16 and nhwc, with weights in either layout.
//
//   sinter_bench_cudnn
//   sinter_bench_cudnn resnet50
//   sinter_bench_cudnn stem
//   {"conv":"WeightGrad f32 Tf32 nchw [256,20,13,13] by [50,20,5,5]","deterministic":true,"exact":true,
//    "rank":0,"engine":1001,"us":40.1,"workspace":0}
//
// `rank` is the position among the engines that the rules allow, in cuDNN's order. Plans use rank 0 of the
// deterministic and exact engines.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/context/captured_graph.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/cuda/cudnn/cudnn_session.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int kSamples = 5, kEngines = 6;
constexpr int64_t kBytes = int64_t{512} << 20;  // Memory per tensor; larger than any tensor.

struct Geometry {
  int64_t batch, in, out, size, kernel;
  int64_t stride = 1, padding = 0;
};

ConvShape ShapeOf(const Geometry& g, fb::ConvKind kind, bool channels_last, fb::MathMode math) {
  const int64_t out = (g.size + 2 * g.padding - g.kernel) / g.stride + 1;
  ConvShape shape;
  shape.kind = kind, shape.channels_last = channels_last, shape.math = math;
  shape.x = PackedTensor({g.batch, g.in, g.size, g.size}, channels_last);
  shape.y = PackedTensor({g.batch, g.out, out, out}, channels_last);
  shape.weights = PackedTensor({g.out, g.in, g.kernel, g.kernel}, /*channels_last=*/false);
  shape.strides = {g.stride, g.stride}, shape.dilations = {1, 1};
  shape.padding_before = shape.padding_after = {g.padding, g.padding};
  return shape;
}

// Returns the microseconds per launch in a captured graph of `launches` launches; median over samples.
absl::StatusOr<double> Time(const CudaContext& context, int launches,
                            const std::function<absl::Status()>& launch) {
  SINTER_RETURN_IF_ERROR(launch());  // The first launch loads and allocates.
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(context.stream()), "launch"));
  SINTER_ASSIGN_OR_RETURN(const auto graph, CaptureGraph(context, [&]() -> absl::Status {
                            for (int i = 0; i < launches; ++i) SINTER_RETURN_IF_ERROR(launch());
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
  return samples[kSamples / 2] * 1e3 / launches;
}

struct Trial {
  int engines = kEngines, launches = 20;
  bool epilogue = true;  // Adds bias and relu to forward convolutions.
};

absl::Status BenchEngines(CudaContext& context, const CudnnHandle& cudnn, const ConvShape& shape,
                          CudnnEngineRules rules, const Trial& trial, std::byte* memory) {
  const bool is_forward = shape.kind == fb::ConvKind::Forward && trial.epilogue;
  for (rules.skip = 0; rules.skip < trial.engines; ++rules.skip) {
    const auto plan = MakeConvolutionPlan(cudnn, shape, {.bias = is_forward, .relu = is_forward}, rules);
    if (absl::IsUnimplemented(plan.status())) return absl::OkStatus();
    SINTER_RETURN_IF_ERROR(plan.status());
    const auto at = [&](int i) { return memory + i * kBytes; };
    const auto launch = [&] {
      if (!is_forward) return (*plan)->Execute({{kFirst, at(0)}, {kSecond, at(1)}, {kResult, at(2)}}, at(4));
      return (*plan)->Execute({{kFirst, at(0)}, {kSecond, at(1)}, {kBias, at(3)}, {kResult, at(2)}}, at(4));
    };
    nlohmann::ordered_json line = {{"conv", shape.ToString()},
                                   {"deterministic", rules.must_be_deterministic},
                                   {"exact", rules.must_be_exact},
                                   {"rank", rules.skip},
                                   {"engine", (*plan)->engine().number}};
    if (const absl::StatusOr<double> us = Time(context, trial.launches, launch); us.ok()) {
      line["us"] = *us;
    } else {
      line["error"] = std::string(us.status().message());
    }
    const bool weights_last = shape.weights == PackedTensor(shape.weights.sizes, /*channels_last=*/true);
    if (weights_last) line["weights"] = "channels last";
    if (shape.strides[0] > 1) line["stride"] = shape.strides[0];
    line["workspace"] = (*plan)->workspace_bytes();
    std::cout << line.dump() << std::endl;
  }
  return absl::OkStatus();
}

absl::Status BenchLenet(CudaContext& context, const CudnnHandle& cudnn, std::byte* memory) {
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
        SINTER_RETURN_IF_ERROR(BenchEngines(context, cudnn, shape, rules, {}, memory));
        rules.must_be_deterministic = rules.must_be_exact = false;
        SINTER_RETURN_IF_ERROR(BenchEngines(context, cudnn, shape, rules, {}, memory));
      }
    }
  }
  return absl::OkStatus();
}

// Times the first layer of ResNet-50 with 3, 4 and 8 channels, as if padded with channels of zeros.
absl::Status BenchStem(CudaContext& context, const CudnnHandle& cudnn, std::byte* memory) {
  for (const int64_t channels : {3, 4, 8}) {
    for (const fb::ConvKind kind : {fb::ConvKind::Forward, fb::ConvKind::WeightGrad}) {
      ConvShape shape =
          ShapeOf({256, channels, 64, 224, 7, 2, 3}, kind, /*channels_last=*/true, fb::MathMode::Ieee);
      shape.dtype = fb::DType::BF16;
      const Trial trial = {.engines = 2, .launches = 3, .epilogue = false};
      SINTER_RETURN_IF_ERROR(BenchEngines(context, cudnn, shape, RulesOf(shape), trial, memory));
    }
  }
  return absl::OkStatus();
}

// Times the convolutions of ResNet-50, 3 x 3 first, with weights in the layout of the images: up to kEngines
// engines. Kernels larger than 1 x 1 are also timed with weights in nchw, with the engine of plans.
absl::Status BenchResNet50(CudaContext& context, const CudnnHandle& cudnn, std::byte* memory) {
  const Geometry all[] = {
      {256, 64, 64, 56, 3, 1, 1},   {256, 128, 128, 56, 3, 2, 1}, {256, 128, 128, 28, 3, 1, 1},
      {256, 256, 256, 28, 3, 2, 1}, {256, 256, 256, 14, 3, 1, 1}, {256, 512, 512, 14, 3, 2, 1},
      {256, 512, 512, 7, 3, 1, 1},  {256, 3, 64, 224, 7, 2, 3},   {256, 64, 64, 56, 1},
      {256, 64, 256, 56, 1},        {256, 256, 64, 56, 1},        {256, 256, 128, 56, 1},
      {256, 256, 512, 56, 1, 2},    {256, 128, 512, 28, 1},       {256, 512, 128, 28, 1},
      {256, 512, 256, 28, 1},       {256, 512, 1024, 28, 1, 2},   {256, 256, 1024, 14, 1},
      {256, 1024, 256, 14, 1},      {256, 1024, 512, 14, 1},      {256, 1024, 2048, 14, 1, 2},
      {256, 512, 2048, 7, 1},       {256, 2048, 512, 7, 1}};
  for (const Geometry& geometry : all) {
    for (const fb::ConvKind kind :
         {fb::ConvKind::Forward, fb::ConvKind::InputGrad, fb::ConvKind::WeightGrad}) {
      if (geometry.in == 3 && kind == fb::ConvKind::InputGrad) continue;
      ConvShape shape = ShapeOf(geometry, kind, /*channels_last=*/true, fb::MathMode::Ieee);
      shape.dtype = fb::DType::BF16;
      Trial trial = {.engines = 1, .launches = 5, .epilogue = false};
      if (geometry.kernel > 1) {
        SINTER_RETURN_IF_ERROR(BenchEngines(context, cudnn, shape, RulesOf(shape), trial, memory));
      }
      shape.weights = PackedTensor(shape.weights.sizes, /*channels_last=*/true);
      trial.engines = kEngines;
      SINTER_RETURN_IF_ERROR(BenchEngines(context, cudnn, shape, RulesOf(shape), trial, memory));
    }
  }
  return absl::OkStatus();
}

absl::Status Main(std::string_view network) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeCudaMemory(0));
  SINTER_ASSIGN_OR_RETURN(const auto allocator, CachingAllocator::Create(std::move(memory)));
  SINTER_ASSIGN_OR_RETURN(const auto context, CudaContext::Create(0, allocator.get()));
  CudnnSession session(*context);
  context->set_cudnn(&session);
  SINTER_ASSIGN_OR_RETURN(const CudnnHandle cudnn, session.OnStream());
  const CudaDeviceScope on(0);
  const int64_t most = RulesOf({}).max_workspace;
  SINTER_ASSIGN_OR_RETURN(const Allocation operands, allocator->Allocate(4 * kBytes + most, "operands"));
  auto* const bytes = static_cast<std::byte*>(operands.ptr());
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemsetAsync(bytes, 0, static_cast<size_t>(4 * kBytes), context->stream()), "fill memory"));
  if (network == "lenet") return BenchLenet(*context, cudnn, bytes);
  if (network == "resnet50") return BenchResNet50(*context, cudnn, bytes);
  if (network == "stem") return BenchStem(*context, cudnn, bytes);
  return absl::InvalidArgumentError(
      absl::StrCat("no convolutions of \"", std::string(network), "\"; there are lenet, resnet50 and stem"));
}

}  // namespace
}  // namespace sinter

int main(int argc, char** argv) {
  const absl::Status status = sinter::Main(argc > 1 ? argv[1] : "lenet");
  if (!status.ok()) std::cerr << "sinter_bench_cudnn: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
