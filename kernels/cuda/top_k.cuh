// The largest elements of rows, the largest first, and their positions: one block for each row.
// NaN is the largest; of equal elements the first comes first. A thread reads its share of the row once and
// keeps the first kKept of it in registers. Each round takes the first of all threads' elements. A thread
// whose kept elements are all taken reads its share again, for those behind the last one taken.
//
// Constants: E; kSize, kCount; kVector, the adjacent elements that a thread reads at once, which divide
// kSize; kKept; kBlock, the threads of a block, a power of two from 32.
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

// Returns the first of the elements that the block's threads found. `turn` alternates between 0 and 1: a
// thread may still read the shared memory of the round before.
__device__ __forceinline__ Found FirstOfBlock(Found own, int turn) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    Found other;
    other.key = sn_shuffle_xor(own.key, distance);
    other.position = sn_shuffle_xor(own.position, distance);
    if (other.ComesBefore(own)) own = other;
  }
  if (kBlock == 32) return own;
  __shared__ Key keys[2][kBlock / 32];
  __shared__ i32 positions[2][kBlock / 32];
  if (threadIdx.x % 32 == 0) {
    keys[turn][threadIdx.x / 32] = own.key;
    positions[turn][threadIdx.x / 32] = own.position;
  }
  sn_barrier();
#pragma unroll
  for (int warp = 0; warp < kBlock / 32; ++warp) {
    Found other;
    other.key = keys[turn][warp], other.position = positions[turn][warp];
    if (other.ComesBefore(own)) own = other;
  }
  return own;
}

// The first elements of a thread's share that have not been taken, in order.
struct Share {
  Found kept[kKept];

  // Keeps the first elements of the share that come behind `last`; of the whole share if its position is -1.
  __device__ __forceinline__ void Read(const Storage* row, const Found& last) {
#pragma unroll
    for (int n = 0; n < kKept; ++n) kept[n].key = Key(), kept[n].position = -1;
    const bool aligned = IsPackAligned<kVector>(row);
    constexpr int together = 4;  // Packs that are read together.
    for (idx first = threadIdx.x; first < kSize / kVector; first += together * kBlock) {
      Vec<Storage, kVector> packs[together];
#pragma unroll
      for (int n = 0; n < together; ++n) {
        const idx pack = first + n * kBlock;
        if (pack < kSize / kVector) packs[n] = ReadPack<kVector>(row + pack * kVector, aligned);
      }
      // Not unrolled, so that the code is short: each pack moves to the front.
#pragma unroll 1
      for (idx pack = first; pack < kSize / kVector && pack < first + together * kBlock; pack += kBlock) {
        Take(packs[0], pack * kVector, last);
#pragma unroll
        for (int n = 0; n + 1 < together; ++n) packs[n] = packs[n + 1];
      }
    }
  }

  // Removes the first kept element.
  __device__ __forceinline__ void Drop() {
#pragma unroll
    for (int n = 0; n + 1 < kKept; ++n) kept[n] = kept[n + 1];
    kept[kKept - 1].position = -1;
  }

 private:
  __device__ __forceinline__ void Take(const Vec<Storage, kVector>& pack, idx position, const Found& last) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      Found next;
      next.key = KeyOf(pack.v[i], Compute()), next.position = i32(position + i);
      if (!next.ComesBefore(kept[kKept - 1])) continue;
      if (last.position >= 0 && !last.ComesBefore(next)) continue;
      Insert(next);
    }
  }

  __device__ __forceinline__ void Insert(Found next) {
#pragma unroll
    for (int n = 0; n < kKept; ++n) {
      if (!next.ComesBefore(kept[n])) continue;
      const Found later = kept[n];
      kept[n] = next;
      next = later;
    }
  }
};

__device__ __forceinline__ void TopK(const Storage* x, Storage* values, i32* positions) {
  const Storage* const row = x + idx(blockIdx.x) * kSize;
  const idx to = idx(blockIdx.x) * kCount;
  Found last;
  last.key = Key(), last.position = -1;
  Share share;
  bool is_read = false;
  for (idx round = 0; round < kCount; ++round) {
    if (!is_read) share.Read(row, last);
    is_read = true;
    last = FirstOfBlock(share.kept[0], int(round % 2));
    if (threadIdx.x == 0) {
      values[to + round] = sn_load(row + last.position);
      positions[to + round] = last.position;
    }
    if (share.kept[0].position != last.position) continue;
    share.Drop();
    is_read = share.kept[0].position >= 0;  // If not, the thread may have more elements than it keeps.
  }
}
