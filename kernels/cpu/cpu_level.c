#include "sinter/kernels/cpu/cpu_level.h"

#include <stdlib.h>
#include <string.h>

static int OwnLevel(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return 4;
  if (__builtin_cpu_supports("x86-64-v3")) return 3;
  return __builtin_cpu_supports("x86-64-v2") ? 2 : 1;
#else
  return 0;
#endif
}

int sn_cpu_level_asked(void) {
  static const char* const kNames[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const char* name = getenv("SINTER_CPU_LEVEL");
  if (name == NULL || *name == '\0') return 0;
  for (int i = 0; i < 4; ++i) {
    if (strcmp(name, kNames[i]) == 0) return i + 1;
  }
  return -1;
}

int sn_cpu_level(void) {
  int own = OwnLevel(), asked = sn_cpu_level_asked();
  return asked > 0 && asked < own ? asked : own;
}
