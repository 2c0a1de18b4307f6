// Parts of one result that neighbouring blocks compute, and their sum in order. From sm_90 on the kSplits
// blocks form a cluster and read each other's shared memory. On older GPUs the first of them computes all
// parts, one after the other: the same sums in the same order.
//
// Constants: kSplits, the parts of a result; 1: no cluster.
//
//   __shared__ float parts[kHeldParts * kValues];
//   ForParts([&](int part, float* own) { ... }, parts, kValues);   // All threads; own: kValues floats.
//   ForResults(kValues, threads, [&](int n) { ... PartOf(parts, kValues, part, n) ... });
//   EndParts();
//
// Parts that are only summed take no room of their own on older GPUs: with `values` 0, `own` is the same for
// all, which add to it, and kSummedParts are left to be summed. PackOf then reads four numbers at once.
#if __CUDA_ARCH__ >= 900
constexpr int kHeldParts = 1, kSummedParts = kSplits;
#else
constexpr int kHeldParts = kSplits, kSummedParts = 1;
#endif

__device__ __forceinline__ int PartOfBlock() { return int(blockIdx.x % kSplits); }

// Waits for all blocks of the cluster; what they wrote to shared memory is readable then.
__device__ __forceinline__ void JoinParts() {
#if __CUDA_ARCH__ >= 900
  if (kSplits > 1) {
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n"
        "barrier.cluster.wait.acquire.aligned;" ::
            : "memory");
    return;
  }
#endif
  sn_barrier();
}

template <typename Compute>
__device__ __forceinline__ void ForParts(const Compute& compute, float* parts, int values) {
#if __CUDA_ARCH__ >= 900
  compute(PartOfBlock(), parts);
#else
  if (PartOfBlock() != 0) return;
  for (int part = 0; part < kSplits; ++part) compute(part, parts + part * values);
#endif
  JoinParts();
}

// Returns number n of a part.
__device__ __forceinline__ float PartOf(const float* parts, int values, int part, int n) {
#if __CUDA_ARCH__ >= 900
  if (kSplits == 1) return parts[n];
  u32 at;
  float x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(at)
      : "r"(u32(__cvta_generic_to_shared(parts + n))), "r"(part));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
  return x;
#else
  return parts[part * values + n];
#endif
}

// Returns four numbers of a part that takes no room of its own, from number n on, a multiple of 4.
__device__ __forceinline__ Vec<float, 4> PackOf(const float* parts, int part, int n) {
#if __CUDA_ARCH__ >= 900
  u32 at;
  Vec<float, 4> x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(at)
      : "r"(u32(__cvta_generic_to_shared(parts + n))), "r"(part));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.v[0]), "=f"(x.v[1]), "=f"(x.v[2]), "=f"(x.v[3])
               : "r"(at)
               : "memory");
  return x;
#else
  return *(const Vec<float, 4>*)(parts + n);
#endif
}

// Calls store(n) for each of `values` results; from sm_90 on the blocks share them.
template <typename Store>
__device__ __forceinline__ void ForResults(int values, int threads, const Store& store) {
#if __CUDA_ARCH__ >= 900
  for (int n = PartOfBlock() * threads + int(threadIdx.x); n < values; n += kSplits * threads) store(n);
#else
  if (PartOfBlock() != 0) return;
  for (int n = threadIdx.x; n < values; n += threads) store(n);
#endif
}

// No block ends while another reads its shared memory.
__device__ __forceinline__ void EndParts() {
#if __CUDA_ARCH__ >= 900
  if (kSplits > 1) {
    asm volatile(
        "barrier.cluster.arrive.relaxed.aligned;\n"
        "barrier.cluster.wait.aligned;" ::
            : "memory");
  }
#endif
}
