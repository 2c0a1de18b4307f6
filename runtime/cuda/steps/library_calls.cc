#include "sinter/runtime/cuda/steps/library_calls.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/steps/matrix_steps.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {
namespace {

struct LibraryMaker {
  std::string_view kernel;
  absl::StatusOr<std::unique_ptr<Step>> (*make)(CudaContext& context, std::string_view kernel,
                                                std::span<const int64_t> parameters);
  CudaLibraries libraries = {};
};

constexpr LibraryMaker kLibraryMakers[] = {
    {"fft", MakeCudaFourierStep, {.cufft = true}},
    {"rfft", MakeCudaFourierStep, {.cufft = true}},
    {"irfft", MakeCudaFourierStep, {.cufft = true}},
    {"cholesky", MakeCudaCholeskyStep, {.cusolver = true}},
    {"triangular_solve", MakeCudaTriangularSolveStep, {.cublas = true}},
    {"qr", MakeCudaQrStep, {.cusolver = true}},
    {"eigh", MakeCudaEighStep, {.cusolver = true}},
    {"svd", MakeCudaSvdStep, {.cusolver = true}},
    {"lu", MakeCudaLuStep, {.cublas = true, .cusolver = true}},
};
// The verifier of plans knows the same names.
static_assert(std::ranges::equal(kLibraryMakers, kGpuLibraryKernels, {}, &LibraryMaker::kernel));

// Null if no library computes the kernel.
const LibraryMaker* FindLibraryMaker(const fb::CatalogStep& table) {
  const auto* const maker =
      std::ranges::find(kLibraryMakers, table.kernel()->string_view(), &LibraryMaker::kernel);
  return maker == std::end(kLibraryMakers) ? nullptr : maker;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaLibraryCall(CudaContext& context,
                                                          const fb::CatalogStep& table) {
  const LibraryMaker* const maker = FindLibraryMaker(table);
  if (maker == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "no library of GPUs computes the kernel ", table.kernel()->str(), ", and the plan puts it on ",
        context.device().ToString(), ": compile the graph again for this device"));
  }
  return maker->make(context, maker->kernel, {table.parameters()->data(), table.parameters()->size()});
}

CudaLibraries LibrariesOfCall(const fb::CatalogStep& table) {
  const LibraryMaker* const maker = FindLibraryMaker(table);
  return maker == nullptr ? CudaLibraries() : maker->libraries;
}

}  // namespace sinter
