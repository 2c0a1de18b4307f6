// Calls of generated kernels: fb::KernelStep and fb::GpuKernelStep.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {
namespace {

constexpr uint64_t kMaxScratchBytes = uint64_t{256} << 20;
// Limits of CUDA and of the largest GPU so far (CUDA C++ Programming Guide, "Compute Capabilities"). The
// runtime of a smaller GPU refuses larger values itself.
constexpr uint32_t kMaxSharedBytes = 227 << 10;
constexpr uint32_t kMaxBlocks = (uint32_t{1} << 31) - 1;

}  // namespace

absl::Status VerifyKernel(const StepToVerify& o) {
  const fb::KernelStep& step = *o.step.body_as_KernelStep();
  if (step.symbol() == nullptr || step.symbol()->size() == 0) return BadPlan("its kernel has no symbol");
  if (o.plan.shared_object() == nullptr || o.plan.shared_object()->size() == 0) {
    return BadPlan("it calls the kernel ", step.symbol()->c_str(), ", and the plan holds no code");
  }
  if (step.units() < 0 || step.units() > kMaxStepSize || step.grain() < 1) {
    return BadPlan(step.units(), " units in parts of ", step.grain(), " are out of range");
  }
  if (step.scratch_bytes() > kMaxScratchBytes) {
    return BadPlan(step.scratch_bytes(), " bytes of scratch memory a thread are more than ",
                   kMaxScratchBytes);
  }
  return o.outputs.empty() ? BadPlan("its kernel has no outputs") : absl::OkStatus();
}

std::string KernelText(const fb::Plan&, const fb::Step& step) {
  const fb::KernelStep& kernel = *step.body_as_KernelStep();
  return absl::StrCat("kernel ", kernel.symbol()->c_str(), ", ", kernel.units(), " units");
}

absl::Status VerifyGpuKernel(const StepToVerify& o) {
  const fb::GpuKernelStep& s = *o.step.body_as_GpuKernelStep();
  const size_t count = o.plan.gpu_kernels() == nullptr ? 0 : o.plan.gpu_kernels()->size();
  if (s.kernel() >= count) return BadPlan("it launches GPU kernel ", s.kernel(), " of ", count);
  if (s.grid() < 1 || s.grid() > kMaxBlocks) {
    return BadPlan("a grid of ", s.grid(), " blocks is outside 1..", kMaxBlocks);
  }
  if (s.block() < 1 || s.block() > kMaxGpuBlock) {
    return BadPlan("a block of ", s.block(), " threads is outside 1..", kMaxGpuBlock);
  }
  if (s.shared_bytes() > kMaxSharedBytes) {
    return BadPlan(s.shared_bytes(), " bytes of shared memory a block are more than ", kMaxSharedBytes);
  }
  if (o.inputs.size() + o.outputs.size() > kMaxGpuKernelBuffers) {
    return BadPlan("its kernel has ", o.inputs.size() + o.outputs.size(), " operands: at most ",
                   kMaxGpuKernelBuffers);
  }
  return o.outputs.empty() ? BadPlan("its kernel has no outputs") : absl::OkStatus();
}

std::string GpuKernelText(const fb::Plan& plan, const fb::Step& step) {
  const fb::GpuKernelStep& kernel = *step.body_as_GpuKernelStep();
  return absl::StrCat("kernel ", plan.gpu_kernels()->Get(kernel.kernel())->symbol()->c_str(), ", ",
                      kernel.grid(), " blocks of ", kernel.block());
}

}  // namespace sinter
