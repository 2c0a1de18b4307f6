// What the running CPU can do, by the names that plans use.
//
//   if (!RunningCpuHas("avx512f")) ...
//
// The names are those of __builtin_cpu_supports, which are LLVM's; an unknown name counts as missing, and so does what is
// beyond the level that SINTER_CPU_LEVEL names (kernels/cpu/cpu_level.h).
#ifndef SINTER_RUNTIME_HOST_CPU_FEATURES_H_
#define SINTER_RUNTIME_HOST_CPU_FEATURES_H_

#include <string_view>

#include "absl/status/status.h"

namespace sinter {

bool RunningCpuHas(std::string_view feature);

// "x86_64", "aarch64": the first part of a target triple.
std::string_view RunningArchitecture();

// OK if Sinter itself runs here: initial values, folded constants and the catalogue's kernels are compiled for x86-64-v3.
// FailedPrecondition says what the CPU lacks; InvalidArgument: SINTER_CPU_LEVEL names no level.
absl::Status CheckRunningCpu();

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_CPU_FEATURES_H_
