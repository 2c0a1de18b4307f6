// The kernels of a plan, loaded once each for one GPU.
//
//   KernelLibraries libraries;
//   SINTER_ASSIGN_OR_RETURN(auto kernel, libraries.Load(context, *plan.gpu_kernels()->Get(i)));
//   cudaLaunchKernelExC(&config, kernel->function(), arguments);
//
// A kernel stays loaded as long as a step holds it: steps share it, and must not outlive the plan.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_KERNEL_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_KERNEL_LIBRARY_H_

#include <cuda_runtime_api.h>

#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"

namespace sinter {

class LoadedKernel {
 public:
  LoadedKernel(cudaLibrary_t library, cudaKernel_t kernel) : library_(library), kernel_(kernel) {}
  ~LoadedKernel() { (void)cudaLibraryUnload(library_); }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  cudaKernel_t kernel() const { return kernel_; }
  // As calls that take a function want it.
  const void* function() const { return reinterpret_cast<const void*>(kernel_); }

 private:
  cudaLibrary_t library_;
  cudaKernel_t kernel_;
};

class KernelLibraries {
 public:
  // NotFound: no image for the GPU's architecture, or no kernel of that name in it.
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(const CudaContext& context,
                                                           const fb::GpuKernel& kernel);

 private:
  // By their place in the plan. Those that no step holds are gone, so a plan at the address of another is not confused.
  std::map<const fb::GpuKernel*, std::weak_ptr<const LoadedKernel>> loaded_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_KERNEL_LIBRARY_H_
