// FindInCudaPlan: compares a plan's code for GPUs, and the libraries that its steps call, with a GPU and this
// machine.
//
//   for (const PlanFinding& finding : FindInCudaPlan(plan.table(), info)) std::cout << finding.text << "\n";
//
// This header uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_STEPS_PLAN_FINDINGS_H_
#define SINTER_RUNTIME_CUDA_STEPS_PLAN_FINDINGS_H_

#include <vector>

#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"

namespace sinter {

// `info` describes the GPU: its name, architecture and compute capability are used. The GPU need not be here.
std::vector<PlanFinding> FindInCudaPlan(const fb::Plan& plan, const DeviceInfo& info);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_PLAN_FINDINGS_H_
