#include "sinter/runtime/cuda/steps/plan_findings.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/cuda/driver/architecture.h"
#include "sinter/runtime/cuda/driver/cublas_library.h"
#include "sinter/runtime/cuda/driver/cublaslt_library.h"
#include "sinter/runtime/cuda/driver/cudnn_library.h"
#include "sinter/runtime/cuda/driver/cufft_library.h"
#include "sinter/runtime/cuda/driver/cusolver_library.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {
namespace {

// Returns "sm_90" of "sm_90a": the architecture without the letter of its features.
std::string Base(std::string_view architecture) {
  while (!architecture.empty() && (architecture.back() == 'a' || architecture.back() == 'f')) {
    architecture.remove_suffix(1);
  }
  return std::string(architecture);
}

// How the plan's kernels fit a GPU.
struct KernelFit {
  int kernels = 0, missing = 0, older = 0;
  std::set<std::string> held;   // Architectures of the kernels that do not run on the GPU.
  std::set<std::string> below;  // Architectures below the GPU's whose code it would run.
};

KernelFit FitOf(const fb::Plan& plan, const DeviceInfo& info) {
  KernelFit fit;
  for (uint32_t k = 0; k < SizeOrZero(plan.gpu_kernels()); ++k) {
    const auto* const images = plan.gpu_kernels()->Get(k)->images();
    std::vector<std::string_view> architectures;
    for (uint32_t i = 0; i < SizeOrZero(images); ++i)
      architectures.push_back(View(images->Get(i)->architecture()));
    const int best = BestImage(architectures, info.compute_major, info.compute_minor);
    ++fit.kernels;
    if (best < 0) {
      ++fit.missing;
      fit.held.insert(architectures.begin(), architectures.end());
    } else if (Base(architectures[static_cast<size_t>(best)]) != info.architecture) {
      ++fit.older;
      fit.below.emplace(architectures[static_cast<size_t>(best)]);
    }
  }
  return fit;
}

}  // namespace

std::vector<PlanFinding> FindInCudaPlan(const fb::Plan& plan, const DeviceInfo& info) {
  std::vector<PlanFinding> findings;
  const KernelFit fit = FitOf(plan, info);
  const std::string advice = absl::StrCat("compile it with --gpu-architectures ", info.architecture);
  if (fit.missing > 0) {
    findings.push_back(
        {.is_fatal = true,
         .text = absl::StrCat(fit.missing, " of ", fit.kernels, " kernels have no code for ",
                              info.architecture, " (", info.name, "); the plan holds ",
                              fit.held.empty() ? "none" : absl::StrJoin(fit.held, ", "), ": ", advice)});
  }
  if (fit.older > 0) {
    findings.push_back(
        {.text = absl::StrCat(fit.older, " of ", fit.kernels, " kernels run code for ",
                              absl::StrJoin(fit.below, ", "), " on ", info.architecture, ": ", advice)});
  }
  const CudaLibraries needed = LibrariesOf(plan);
  const std::pair<bool, absl::Status (*)()> libraries[] = {
      {needed.cublaslt, [] { return LoadCublasLt().status(); }},
      {needed.cudnn, [] { return LoadCudnn().status(); }},
      {needed.cublas, [] { return LoadCublas().status(); }},
      {needed.cusolver, [] { return LoadCusolver().status(); }},
      {needed.cufft, [] { return LoadCufft().status(); }}};
  for (const auto& [is_needed, load] : libraries) {
    if (!is_needed) continue;
    if (const absl::Status status = load(); !status.ok()) {
      findings.push_back({.is_fatal = true, .text = std::string(status.message())});
    }
  }
  return findings;
}

}  // namespace sinter
