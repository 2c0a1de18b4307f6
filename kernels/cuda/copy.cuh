// A copy of kBytes bytes in accesses of 16 bytes; the last block copies the remainder.
// In a captured graph it is faster than the driver's copy.
//
// Constants: kBytes, kBlock, kEach (accesses per thread). Both buffers are aligned to 16 bytes and do not
// overlap.
typedef Vec<u32, 4> Word;

__device__ __forceinline__ void Copy(const char* __restrict__ from, char* __restrict__ to) {
  const idx words = kBytes / 16, first = (idx)blockIdx.x * (kBlock * kEach) + threadIdx.x;
  Word read[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (first + i * kBlock < words) read[i] = sn_load((const Word*)from + (first + i * kBlock));
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (first + i * kBlock < words) *((Word*)to + (first + i * kBlock)) = read[i];
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x < kBytes % 16) {
    to[words * 16 + threadIdx.x] = from[words * 16 + threadIdx.x];
  }
}
