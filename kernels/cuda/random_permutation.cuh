// The numbers 0 to kSorted - 1, sorted by random keys (radix_sort.cuh).
// A key is word 0 of Philox4x32-10 (Salmon et al., SC 2011) with the counter (position, 0, stream, step low)
// and the key (seed low, seed high XOR step high), as in ir/scalar/philox.h. Constant: kStream.
struct PhiloxKeys {
  u64 seed, step;
  __device__ __forceinline__ u32 operator()(u32 position) const {
    u32 c0 = position, c1 = 0, c2 = kStream, c3 = (u32)step;
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32) ^ (u32)(step >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const u32 high0 = __umulhi(c0, 0xD2511F53u), low0 = c0 * 0xD2511F53u;
      const u32 high1 = __umulhi(c2, 0xCD9E8D57u), low1 = c2 * 0xCD9E8D57u;
      c0 = high1 ^ c1 ^ k0;
      c1 = low1;
      c2 = high0 ^ c3 ^ k1;
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c0;
  }
};

// Seed and step may have any integer type; negative values are sign-extended.
template <typename Seed, typename Step>
__device__ __forceinline__ PhiloxKeys PhiloxOf(const Seed* seed, const Step* step) {
  return {(u64)(i64)*seed, (u64)(i64)*step};
}
