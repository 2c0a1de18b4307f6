// The back ends of calls that generated code computes on CPUs: fused calls, and user kernels.
//
//   CpuCode code(context);
//   backends.push_back(MakeUserCpuBackend(code));
//   backends.push_back(MakeFusedCpuBackend(code));
#ifndef SINTER_CODEGEN_CPU_CPU_BACKENDS_H_
#define SINTER_CODEGEN_CPU_CPU_BACKENDS_H_

#include <memory>

#include "sinter/codegen/cpu/cpu_code.h"
#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

// Both add to `code`, which must outlive them.
std::unique_ptr<CallBackend> MakeFusedCpuBackend(CpuCode& code);
std::unique_ptr<CallBackend> MakeUserCpuBackend(CpuCode& code);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_CPU_BACKENDS_H_
