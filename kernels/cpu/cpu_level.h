// The x86-64 level that this process assumes for its CPU.
//
//   if (sn_cpu_level() >= 4) ...  // AVX-512.
//
// It is the CPU's own level, unless the environment variable SINTER_CPU_LEVEL names a lower one, such as
// x86-64-v3. Then the process compiles, loads and selects only code that such a CPU can run. Use this for
// tests, and to get the results of an older CPU on a newer one. Other libraries have separate variables:
// oneDNN reads ONEDNN_MAX_CPU_ISA (DNNL_MAX_CPU_ISA before its version 3). The variable is read at each call,
// so do not change it while the process computes.
#ifndef SINTER_KERNELS_CPU_CPU_LEVEL_H_
#define SINTER_KERNELS_CPU_CPU_LEVEL_H_

#ifdef __cplusplus
extern "C" {
#endif

// Returns 1 to 4 for x86-64, x86-64-v2 (SSE4.2), x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512); 0 on other
// architectures.
int sn_cpu_level(void);

// Returns the level in SINTER_CPU_LEVEL, 1 to 4. Returns 0 if it is unset or empty, and -1 if it is not a
// level; sn_cpu_level then ignores it.
int sn_cpu_level_asked(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SINTER_KERNELS_CPU_CPU_LEVEL_H_
