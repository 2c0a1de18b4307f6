// The kernels of a plan, each loaded once for one GPU.
//
//   KernelLibraries libraries;
//   SINTER_ASSIGN_OR_RETURN(auto kernel, libraries.Load(context, *plan.gpu_kernels()->Get(i)));
//   cudaLaunchKernelExC(&config, kernel->function(), arguments);
//
// Steps share a kernel, which stays loaded while any step holds it. The plan must outlive its steps.
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
  // The kernel as a function pointer for CUDA calls that take a function.
  const void* function() const { return reinterpret_cast<const void*>(kernel_); }

 private:
  cudaLibrary_t library_;
  cudaKernel_t kernel_;
};

class KernelLibraries {
 public:
  // Returns the loaded kernel. NotFound if no image fits the GPU's architecture or the image has no kernel of
  // that name.
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(const CudaContext& context,
                                                           const fb::GpuKernel& kernel);

 private:
  // By address in the plan. An entry expires with its last step, so another plan at the same address cannot
  // match it.
  std::map<const fb::GpuKernel*, std::weak_ptr<const LoadedKernel>> loaded_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_KERNEL_LIBRARY_H_
