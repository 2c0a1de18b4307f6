#include "sinter/runtime/cpu_features.h"

namespace sinter {

#if defined(__x86_64__)
std::string_view RunningArchitecture() { return "x86_64"; }

bool RunningCpuHas(std::string_view feature) {
  struct Feature {
    std::string_view name;
    bool present;
  };
// The built-in wants a literal.
#define SINTER_FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
  static const Feature kFeatures[] = {SINTER_FEATURE("avx"),         SINTER_FEATURE("avx2"),
                                      SINTER_FEATURE("avx512bf16"),  SINTER_FEATURE("avx512bitalg"),
                                      SINTER_FEATURE("avx512bw"),    SINTER_FEATURE("avx512cd"),
                                      SINTER_FEATURE("avx512dq"),    SINTER_FEATURE("avx512f"),
                                      SINTER_FEATURE("avx512ifma"),  SINTER_FEATURE("avx512vbmi"),
                                      SINTER_FEATURE("avx512vbmi2"), SINTER_FEATURE("avx512vl"),
                                      SINTER_FEATURE("avx512vnni"),  SINTER_FEATURE("avx512vpopcntdq"),
                                      SINTER_FEATURE("bmi"),         SINTER_FEATURE("bmi2"),
                                      SINTER_FEATURE("f16c"),        SINTER_FEATURE("fma"),
                                      SINTER_FEATURE("fma4"),        SINTER_FEATURE("gfni"),
                                      SINTER_FEATURE("lzcnt"),       SINTER_FEATURE("movbe"),
                                      SINTER_FEATURE("popcnt"),      SINTER_FEATURE("sse3"),
                                      SINTER_FEATURE("sse4.1"),      SINTER_FEATURE("sse4.2"),
                                      SINTER_FEATURE("sse4a"),       SINTER_FEATURE("ssse3"),
                                      SINTER_FEATURE("tbm"),         SINTER_FEATURE("vpclmulqdq"),
                                      SINTER_FEATURE("xop")};
#undef SINTER_FEATURE
  for (const Feature& known : kFeatures) {
    if (known.name == feature) return known.present;
  }
  return false;
}
#else
std::string_view RunningArchitecture() { return "aarch64"; }
bool RunningCpuHas(std::string_view) { return false; }
#endif

}  // namespace sinter
