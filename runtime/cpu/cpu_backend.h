// CPUs as a back end: cpu:0, and as many virtual devices as SINTER_CPU_DEVICES says.
//
//   SINTER_RETURN_IF_ERROR(CpuBackend().Check(1));
#ifndef SINTER_RUNTIME_CPU_CPU_BACKEND_H_
#define SINTER_RUNTIME_CPU_CPU_BACKEND_H_

#include "sinter/runtime/memory/backend.h"

namespace sinter {

const Backend& CpuBackend();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_CPU_BACKEND_H_
