// The largest elements of rows, the largest first, and their positions: one block for each row.
// NaN is the largest; of equal elements the first comes first. Each round finds the first element, in this
// order, behind the element of the round before. So a row is read kCount times, mostly from a cache.
//
// Constants: E; kSize, kCount; kBlock, the threads of a block, a power of two from 32.
typedef E::Storage Storage;
typedef E::Compute Compute;

// Floats compare as they compute. Integers compare as they are stored: they compute as unsigned numbers.
__device__ __forceinline__ double KeyOf(Storage x, double) { return E::load(x); }
__device__ __forceinline__ float KeyOf(Storage x, float) { return float(E::load(x)); }
__device__ __forceinline__ Storage KeyOf(Storage x, u32) { return x; }
__device__ __forceinline__ Storage KeyOf(Storage x, u64) { return x; }
typedef decltype(KeyOf(Storage(), Compute())) Key;

// An element of the row. Position -1: none.
struct Found {
  Key key;
  i32 position;

  __device__ __forceinline__ bool ComesBefore(const Found& other) const {
    if (position < 0 || other.position < 0) return other.position < 0 && position >= 0;
    const bool is_nan = key != key, other_is_nan = other.key != other.key;
    if (is_nan != other_is_nan) return is_nan;
    return key > other.key || (!(other.key > key) && position < other.position);
  }
};

// Returns the first of the elements that the block's threads found.
__device__ __forceinline__ Found FirstOfBlock(Found own) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    Found other;
    other.key = sn_shuffle_xor(own.key, distance);
    other.position = sn_shuffle_xor(own.position, distance);
    if (other.ComesBefore(own)) own = other;
  }
  if (kBlock == 32) return own;
  __shared__ Key keys[kBlock / 32];
  __shared__ i32 positions[kBlock / 32];
  // The barrier keeps the round before from being overwritten while it is read.
  sn_barrier();
  if (threadIdx.x % 32 == 0) keys[threadIdx.x / 32] = own.key, positions[threadIdx.x / 32] = own.position;
  sn_barrier();
#pragma unroll
  for (int warp = 0; warp < kBlock / 32; ++warp) {
    Found other;
    other.key = keys[warp], other.position = positions[warp];
    if (other.ComesBefore(own)) own = other;
  }
  return own;
}

__device__ __forceinline__ void TopK(const Storage* x, Storage* values, i32* positions) {
  const Storage* const row = x + idx(blockIdx.x) * kSize;
  const idx to = idx(blockIdx.x) * kCount;
  Found last;
  last.key = Key(), last.position = -1;
  for (idx round = 0; round < kCount; ++round) {
    Found best;
    best.key = Key(), best.position = -1;
    for (idx i = threadIdx.x; i < kSize; i += kBlock) {
      Found next;
      next.key = KeyOf(sn_load(row + i), Compute()), next.position = i32(i);
      if ((last.position < 0 || last.ComesBefore(next)) && next.ComesBefore(best)) best = next;
    }
    last = FirstOfBlock(best);
    if (threadIdx.x == 0) {
      values[to + round] = sn_load(row + last.position);
      positions[to + round] = last.position;
    }
  }
}
