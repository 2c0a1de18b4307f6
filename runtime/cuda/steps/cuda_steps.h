// Makes the steps of a GPU (runtime/device/step.h says what a step is): one function a kind, one file a function.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, MakeCudaStep(*context, plan, *function.steps()->Get(i)));
//
// Run enqueues on the context's stream, allocates nothing and decides nothing, so it may be recorded. The plan must have
// passed plan_verifier.h, and outlive the steps.
#ifndef SINTER_RUNTIME_CUDA_STEPS_CUDA_STEPS_H_
#define SINTER_RUNTIME_CUDA_STEPS_CUDA_STEPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/context/kernel_library.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

// Steps that are not for a GPU are Unimplemented: the message says what makes them so.
absl::StatusOr<std::unique_ptr<Step>> MakeCudaStep(CudaContext& context, KernelLibraries& libraries,
                                                   const fb::Plan& plan, const fb::Step& step);

absl::StatusOr<std::unique_ptr<Step>> MakeCudaKernelStep(CudaContext& context, KernelLibraries& libraries,
                                                         const fb::Plan& plan, const fb::Step& step);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaMatmulStep(CudaContext& context, const fb::MatmulStep& table);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaConvStep(CudaContext& context, const fb::ConvStep& table);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaCopyStep(CudaContext& context, const fb::CopyStep& table);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaAttentionStep(CudaContext& context,
                                                            const fb::AttentionStep& table);
// Begins to prepare the plans of the attention steps of the plan's device `device`, with CudnnSession::Prepare. What
// fails is tried again, and told, where the step is made. The plan outlives the context.
void PrepareCudaAttention(CudaContext& context, const fb::Plan& plan, uint32_t device);
// Its device must have been connected (DeviceRuntime::Connect).
absl::StatusOr<std::unique_ptr<Step>> MakeCudaCollectiveStep(CudaContext& context, const fb::Plan& plan,
                                                             const fb::Step& step);

// A step without work, as for empty tensors.
std::unique_ptr<Step> MakeEmptyStep();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_CUDA_STEPS_H_
