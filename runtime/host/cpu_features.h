// Features of the running CPU, by the names that plans use.
//
//   if (!RunningCpuHas("avx512f")) ...
//
// The names are those of __builtin_cpu_supports and LLVM. RunningCpuHas returns false for an unknown name,
// and for a feature above the level in SINTER_CPU_LEVEL (kernels/cpu/cpu_level.h).
#ifndef SINTER_RUNTIME_HOST_CPU_FEATURES_H_
#define SINTER_RUNTIME_HOST_CPU_FEATURES_H_

#include <string_view>

#include "absl/status/status.h"

namespace sinter {

bool RunningCpuHas(std::string_view feature);

// "x86_64", "aarch64": the first part of a target triple.
std::string_view RunningArchitecture();

// OK if the CPU can run Sinter itself: initial values, folded constants and the catalogue's kernels are
// compiled for x86-64-v3. FailedPrecondition lists the missing features. InvalidArgument: SINTER_CPU_LEVEL is
// not a level.
absl::Status CheckRunningCpu();

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_CPU_FEATURES_H_
