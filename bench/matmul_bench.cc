// Compares a session's choice of matmul algorithm with cuBLASLt's fastest, for the matmuls of GPT-2's
// training step in bf16. Prints one JSON object a line.
//
//   sinter_bench_matmul [TOKENS]                       (32768)
//   {"matmul":"bf16 Ieee 1x32768x2304x768 (batch, m, n, k), aligned to 16","algorithms":54,"first_us":180.2,
//    "same_bits_us":171.0,"any_bits_us":168.4,"best_us":167.9,"same_bits_loss":"1.8 %",
//    "any_bits_loss":"0.3 %","tuning_ms":61.0}
//
// `best` is the fastest of up to 512 proposals of cuBLASLt, timed without a limit. All times come from one
// series that alternates between the algorithms, so they are comparable. `tuning_ms` is the time a session
// needs to choose among algorithms with the same bits.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "sinter/runtime/cuda/cublas/matmul_trial.h"
#include "sinter/runtime/cuda/cublas/matmul_tuning.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

using Algorithm = cublasLtMatmulHeuristicResult_t;

constexpr int kProposals = 512, kPasses = 3, kFinals = 15;
constexpr size_t kFinalists = 4;
constexpr double kSampleSeconds = 2e-3;

// Returns the three matmuls of a layer from `in` to `out` features: forward, gradient of the input, gradient
// of the weights.
std::vector<MatmulShape> Matmuls(int64_t tokens, int64_t in, int64_t out) {
  const auto dtype = fb::DType::BF16;
  return {{.m = tokens, .n = out, .k = in, .dtype = dtype},
          {.m = tokens, .n = in, .k = out, .transpose_b = true, .dtype = dtype},
          {.m = in, .n = out, .k = tokens, .transpose_a = true, .dtype = dtype}};
}

// Returns the least time of each algorithm over several alternating samples; 1e9 for an algorithm that does
// not run.
absl::StatusOr<std::vector<double>> Series(MatmulTrial& trial, const std::vector<Algorithm>& algorithms,
                                           int passes) {
  std::vector<double> best(algorithms.size(), 1e9);
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t i = 0; i < algorithms.size(); ++i) {
      // Do not time the first launch, which loads code.
      absl::StatusOr<double> once = pass == 0 ? trial.Seconds(algorithms[i], 1) : best[i];
      if (absl::IsUnimplemented(once.status()) || (pass > 0 && *once > 1)) continue;
      SINTER_RETURN_IF_ERROR(once.status());
      const int launches = std::clamp(static_cast<int>(kSampleSeconds / *once), 2, 50);
      SINTER_ASSIGN_OR_RETURN(const double seconds, trial.Seconds(algorithms[i], launches));
      best[i] = std::min(best[i], seconds);
    }
  }
  return best;
}

absl::StatusOr<Algorithm> Chosen(CudaContext& context, CublasMatmul& matmul, TuningMode mode, double* ms) {
  SessionTuning tuning({.mode = mode});
  context.set_tuning(&tuning);
  const auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<Algorithm> algorithm = ChooseAlgorithm(context, matmul);
  *ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  context.set_tuning(nullptr);
  return algorithm;
}

absl::Status Bench(CudaContext& context, const MatmulShape& shape) {
  SINTER_ASSIGN_OR_RETURN(const auto matmul, CublasMatmul::Create(context, shape));
  double ms = 0, ignored = 0;
  SINTER_ASSIGN_OR_RETURN(const Algorithm same, Chosen(context, *matmul, TuningMode::kSameBits, &ms));
  SINTER_ASSIGN_OR_RETURN(const Algorithm any, Chosen(context, *matmul, TuningMode::kAnyBits, &ignored));
  SINTER_ASSIGN_OR_RETURN(const std::vector<Algorithm> all, matmul->Algorithms(kProposals));
  MatmulTrial trial(context, *matmul);
  SINTER_RETURN_IF_ERROR(trial.Prepare());
  SINTER_RETURN_IF_ERROR(trial.WarmUp(all[0]));
  SINTER_ASSIGN_OR_RETURN(const std::vector<double> times, Series(trial, all, kPasses));
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return times[i]; });
  std::vector<Algorithm> finalists = {all[0], same, any};
  for (size_t i = 0; i < std::min(kFinalists, order.size()); ++i) finalists.push_back(all[order[i]]);
  SINTER_ASSIGN_OR_RETURN(const std::vector<double> finals, Series(trial, finalists, kFinals));
  const double best = std::ranges::min(finals);
  const auto us = [](double seconds) { return std::round(seconds * 1e8) / 100; };
  const auto loss = [&](double seconds) { return absl::StrFormat("%.1f %%", 100 * (seconds / best - 1)); };
  const nlohmann::ordered_json line = {{"matmul", shape.ToString()},
                                       {"algorithms", all.size()},
                                       {"first_us", us(finals[0])},
                                       {"same_bits_us", us(finals[1])},
                                       {"any_bits_us", us(finals[2])},
                                       {"best_us", us(best)},
                                       {"same_bits_loss", loss(finals[1])},
                                       {"any_bits_loss", loss(finals[2])},
                                       {"tflops", std::round(shape.Flops() / finals[1] / 1e12)},
                                       {"tuning_ms", std::round(ms)}};
  std::cout << line.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status Main(int64_t tokens) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeCudaMemory(0));
  SINTER_ASSIGN_OR_RETURN(const auto allocator, CachingAllocator::Create(std::move(memory)));
  SINTER_ASSIGN_OR_RETURN(const auto context, CudaContext::Create(0, allocator.get()));
  const std::pair<int64_t, int64_t> layers[] = {
      {768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50304}};
  for (const auto& [in, out] : layers) {
    for (const MatmulShape& shape : Matmuls(tokens, in, out)) SINTER_RETURN_IF_ERROR(Bench(*context, shape));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sinter

int main(int argc, char** argv) {
  const int64_t tokens = argc > 1 ? std::atoll(argv[1]) : 32768;
  const absl::Status status =
      tokens > 0 ? sinter::Main(tokens)
                 : absl::InvalidArgumentError("usage: sinter_bench_matmul [TOKENS], a number from 1 on");
  if (!status.ok()) std::cerr << "sinter_bench_matmul: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
