#include "sinter/runtime/host/cpu_features.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/kernels/cpu/cpu_level.h"

namespace sinter {

#if defined(__x86_64__)
namespace {

// Marks features that belong to no x86-64 level. SINTER_CPU_LEVEL at any level disables them.
constexpr int kNoLevel = 5;

struct Feature {
  std::string_view name;
  int level;  // The lowest x86-64 level that includes the feature.
  bool present;
};

// __builtin_cpu_supports requires a literal.
#define SINTER_FEATURE(name, level) {name, level, __builtin_cpu_supports(name) != 0}
const std::vector<Feature>& Features() {
  static const std::vector<Feature>* const features =
      new std::vector<Feature>({SINTER_FEATURE("avx", 3),
                                SINTER_FEATURE("avx2", 3),
                                SINTER_FEATURE("avx512bf16", kNoLevel),
                                SINTER_FEATURE("avx512bitalg", kNoLevel),
                                SINTER_FEATURE("avx512bw", 4),
                                SINTER_FEATURE("avx512cd", 4),
                                SINTER_FEATURE("avx512dq", 4),
                                SINTER_FEATURE("avx512f", 4),
                                SINTER_FEATURE("avx512ifma", kNoLevel),
                                SINTER_FEATURE("avx512vbmi", kNoLevel),
                                SINTER_FEATURE("avx512vbmi2", kNoLevel),
                                SINTER_FEATURE("avx512vl", 4),
                                SINTER_FEATURE("avx512vnni", kNoLevel),
                                SINTER_FEATURE("avx512vpopcntdq", kNoLevel),
                                SINTER_FEATURE("bmi", 3),
                                SINTER_FEATURE("bmi2", 3),
                                SINTER_FEATURE("f16c", 3),
                                SINTER_FEATURE("fma", 3),
                                SINTER_FEATURE("fma4", kNoLevel),
                                SINTER_FEATURE("gfni", kNoLevel),
                                SINTER_FEATURE("lzcnt", 3),
                                SINTER_FEATURE("movbe", 3),
                                SINTER_FEATURE("popcnt", 2),
                                SINTER_FEATURE("sse3", 2),
                                SINTER_FEATURE("sse4.1", 2),
                                SINTER_FEATURE("sse4.2", 2),
                                SINTER_FEATURE("sse4a", kNoLevel),
                                SINTER_FEATURE("ssse3", 2),
                                SINTER_FEATURE("tbm", kNoLevel),
                                SINTER_FEATURE("vpclmulqdq", kNoLevel),
                                SINTER_FEATURE("xop", kNoLevel)});
  return *features;
}
#undef SINTER_FEATURE

bool MayUse(const Feature& feature) {
  const int asked = sn_cpu_level_asked();
  return feature.present && (asked <= 0 || feature.level <= asked);
}

}  // namespace

std::string_view RunningArchitecture() { return "x86_64"; }

bool RunningCpuHas(std::string_view feature) {
  for (const Feature& known : Features()) {
    if (known.name == feature) return MayUse(known);
  }
  return false;
}

absl::Status CheckRunningCpu() {
  if (sn_cpu_level_asked() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("SINTER_CPU_LEVEL is \"", std::getenv("SINTER_CPU_LEVEL"),
                     "\": write x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, or leave it unset"));
  }
  if (sn_cpu_level() >= 3) return absl::OkStatus();
  std::vector<std::string> missing;
  for (const Feature& known : Features()) {
    if (known.level <= 3 && !MayUse(known)) missing.emplace_back(known.name);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "Sinter needs a CPU of level x86-64-v3 (Intel Haswell, AMD Zen, or newer); this one lacks ",
      absl::StrJoin(missing, ", ")));
}
#else
std::string_view RunningArchitecture() { return "aarch64"; }
bool RunningCpuHas(std::string_view) { return false; }
absl::Status CheckRunningCpu() { return absl::OkStatus(); }
#endif

}  // namespace sinter
