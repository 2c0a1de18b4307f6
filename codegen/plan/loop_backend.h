// The back end of loops: a call becomes one step that runs a fragment of the plan.
//
//   std::unique_ptr<CallBackend> loops = MakeLoopBackend(cuda_kernels);
#ifndef SINTER_CODEGEN_PLAN_LOOP_BACKEND_H_
#define SINTER_CODEGEN_PLAN_LOOP_BACKEND_H_

#include <memory>

#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

// The fragment must be written before the calls that run it. A carry that does not begin where it ends is
// copied there first.
std::unique_ptr<CallBackend> MakeLoopBackend(CudaKernels& cuda_kernels);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_LOOP_BACKEND_H_
