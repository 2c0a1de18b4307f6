// The kernels of the catalogue (kernels/cpu/catalog/catalog.h) that a library computes on a GPU.
//
//   const fb::CatalogStep& table = *step.body_as_CatalogStep();
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, MakeCudaLibraryCall(context, table));
//
// The names are those of kGpuLibraryKernels (runtime/plan/gpu_limits.h); the parameters and operands are
// those of the kernel. To add a library, add a maker to the table in library_calls.cc.
#ifndef SINTER_RUNTIME_CUDA_STEPS_LIBRARY_CALLS_H_
#define SINTER_RUNTIME_CUDA_STEPS_LIBRARY_CALLS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

// Unimplemented: no library computes the kernel.
absl::StatusOr<std::unique_ptr<Step>> MakeCudaLibraryCall(CudaContext& context, const fb::CatalogStep& table);
// The libraries that the call opens.
CudaLibraries LibrariesOfCall(const fb::CatalogStep& table);

// Fourier transforms, by cuFFT. `kernel`: fft, rfft or irfft.
absl::StatusOr<std::unique_ptr<Step>> MakeCudaFourierStep(CudaContext& context, std::string_view kernel,
                                                          std::span<const int64_t> parameters);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_LIBRARY_CALLS_H_
