// PlanGpu: a GPU of this process, as a plan and as CUDA number it.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_PLAN_GPU_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_PLAN_GPU_H_

#include <cstdint>

namespace sinter {

struct PlanGpu {
  uint32_t device;  // Its index in the plan's devices.
  int gpu;          // CUDA's index.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_PLAN_GPU_H_
