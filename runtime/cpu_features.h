// What the running CPU can do, by the names that plans use.
//
//   if (!RunningCpuHas("avx512f")) ...
//
// The names are those of __builtin_cpu_supports, which are LLVM's; an unknown name counts as missing.
#ifndef SINTER_RUNTIME_CPU_FEATURES_H_
#define SINTER_RUNTIME_CPU_FEATURES_H_

#include <string_view>

namespace sinter {

bool RunningCpuHas(std::string_view feature);

// "x86_64", "aarch64": the first part of a target triple.
std::string_view RunningArchitecture();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_FEATURES_H_
