// Reads of memory of which a thread has many under way: none waits for the one before, whatever the compiler
// does with their uses.
//
// Returns 16 bytes, or zeros if `wanted` is false. Each is read once by the kernel: it takes no place in L1.
__device__ __forceinline__ Vec<u32, 4> ReadOnce(const void* p, bool wanted) {
  Vec<u32, 4> words = {};
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %5, 0;\n"
      "@wanted ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(words.v[0]), "+r"(words.v[1]), "+r"(words.v[2]), "+r"(words.v[3])
      : "l"(p), "r"(u32(wanted)));
#else
  if (wanted) words = sn_load((const Vec<u32, 4>*)p);
#endif
  return words;
}

// Returns 8 bytes, or zeros if `wanted` is false.
__device__ __forceinline__ Vec<u32, 2> ReadPair(const void* p, bool wanted) {
  Vec<u32, 2> words = {};
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %3, 0;\n@wanted ld.global.nc.v2.u32 {%0, %1}, [%2];\n}"
      : "+r"(words.v[0]), "+r"(words.v[1])
      : "l"(p), "r"(u32(wanted)));
#else
  if (wanted) words = sn_load((const Vec<u32, 2>*)p);
#endif
  return words;
}

// Returns true, which the compiler does not know: reads before a branch on it stay before.
__device__ __forceinline__ bool AfterReads() {
#if __CUDA_ARCH__ >= 800
  u32 threads;
  asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(threads));
  return threadIdx.x < threads;
#else
  return true;
#endif
}
