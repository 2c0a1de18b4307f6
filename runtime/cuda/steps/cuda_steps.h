// Makes the steps of a GPU (step.h defines Step): one function and one source file for each kind of step.
//
//   const fb::Step& table = *function.steps()->Get(i);
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, MakeCudaStep(*context, libraries, plan, table));
//
// Run enqueues work on the context's stream. It allocates nothing and makes no decisions, so it can be
// captured. The plan must have passed plan_verifier.h and must outlive the steps.
#ifndef SINTER_RUNTIME_CUDA_STEPS_CUDA_STEPS_H_
#define SINTER_RUNTIME_CUDA_STEPS_CUDA_STEPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/context/kernel_library.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

// Libraries that steps call.
struct CudaLibraries {
  bool cublaslt = false, cudnn = false, cufft = false, cublas = false, cusolver = false;

  void Add(const CudaLibraries& other) {
    cublaslt |= other.cublaslt, cudnn |= other.cudnn, cufft |= other.cufft;
    cublas |= other.cublas, cusolver |= other.cusolver;
  }
};
// The libraries that the plan's steps on GPUs call.
CudaLibraries LibrariesOf(const fb::Plan& plan);

// May start slow preparations for the steps of the plan's device `device` (DeviceRuntime::Prepare). The plan
// must outlive the context.
void PrepareCudaSteps(CudaContext& context, const fb::Plan& plan, uint32_t device);

// Returns the step. Unimplemented with the reason if the step cannot run on a GPU.
absl::StatusOr<std::unique_ptr<Step>> MakeCudaStep(CudaContext& context, KernelLibraries& libraries,
                                                   const fb::Plan& plan, const fb::Step& step);

absl::StatusOr<std::unique_ptr<Step>> MakeCudaKernelStep(CudaContext& context, KernelLibraries& libraries,
                                                         const fb::Plan& plan, const fb::Step& step);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaMatmulStep(CudaContext& context, const fb::MatmulStep& table);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaConvStep(CudaContext& context, const fb::ConvStep& table);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaCopyStep(CudaContext& context, const fb::CopyStep& table);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaAttentionStep(CudaContext& context,
                                                            const fb::AttentionStep& table);
// Starts to prepare the cuDNN plans of the attention steps of the plan's device `device`, with
// CudnnSession::Prepare. Failures are ignored: making the step retries and reports them. The plan
// must outlive the context.
void PrepareCudaAttention(CudaContext& context, const fb::Plan& plan, uint32_t device);
// The step's device must be connected (DeviceRuntime::Connect).
absl::StatusOr<std::unique_ptr<Step>> MakeCudaCollectiveStep(CudaContext& context, const fb::Plan& plan,
                                                             const fb::Step& step);

// Returns a step without work, such as for empty tensors.
std::unique_ptr<Step> MakeEmptyStep();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_CUDA_STEPS_H_
