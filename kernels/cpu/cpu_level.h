// How far kernels may go on this CPU: the level of x86-64 that the process takes it for.
//
//   if (sn_cpu_level() >= 4) ...  // AVX-512.
//
// That is the CPU's own level, unless the environment variable SINTER_CPU_LEVEL names a lower one, such as x86-64-v3: then the
// process makes, loads and chooses what such a CPU can run. It is for tests, and for the results of an older CPU on a newer one.
// Libraries have variables of their own: ONEDNN_MAX_CPU_ISA for oneDNN (DNNL_MAX_CPU_ISA before its version 3).
// The variable is read at each call; change it in no process that computes.
#ifndef SINTER_KERNELS_CPU_CPU_LEVEL_H_
#define SINTER_KERNELS_CPU_CPU_LEVEL_H_

#ifdef __cplusplus
extern "C" {
#endif

// 1 to 4, for x86-64, x86-64-v2 (SSE4.2), x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512). 0: another architecture.
int sn_cpu_level(void);

// Returns what SINTER_CPU_LEVEL names, 1 to 4. 0: it is unset or empty. -1: it names no level; sn_cpu_level then does not heed it.
int sn_cpu_level_asked(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SINTER_KERNELS_CPU_CPU_LEVEL_H_
