// y = x, then y[o, indices[i], j] combined with updates[o, i, j] in the order of i. x is [kOuter, kSize,
// kInner] and updates is [kOuter, kCount, kInner]. Indices out of range are ignored. y may alias x: then
// only the rows that an index names are read and written. Sums and products of 16-bit floats are in float.
//
// Few indices: CombineDirectly, where each thread tests all of them. Many indices: a stable sort
// (radix_sort.cuh), then CopyRows copies x to y, and CombineRuns combines each run of equal indices.
//
// Constants: E; Index; kKind; kOuter, kSize, kInner, kCount; kVector, the adjacent elements of a thread. For
// CombineRuns also kWidth, the adjacent threads, and kSlices, the number of such widths in kInner.
typedef E::Storage Storage;
typedef E::Compute Compute;
constexpr int kSet = 0, kMax = 1, kMin = 2, kMul = 3, kAdd = 4;

// Floats compare as they compute. Integers compare as they are stored: they compute as unsigned numbers.
__device__ __forceinline__ double KeyOf(Storage x, double) { return E::load(x); }
__device__ __forceinline__ float KeyOf(Storage x, float) { return float(E::load(x)); }
__device__ __forceinline__ Storage KeyOf(Storage x, u32) { return x; }
__device__ __forceinline__ Storage KeyOf(Storage x, u64) { return x; }

// An element and the updates that it took.
template <int kind>
struct Combined {
  Storage value;
  __device__ __forceinline__ void Start(Storage x) { value = x; }
  __device__ __forceinline__ void Take(Storage update) {
    if (kind == kSet) {
      value = update;
      return;
    }
    const auto mine = KeyOf(value, Compute()), other = KeyOf(update, Compute());
    // NaN stays, and replaces numbers.
    if (mine == mine && (other != other || (kind == kMax ? other > mine : other < mine))) value = update;
  }
  __device__ __forceinline__ Storage Result() const { return value; }
};
template <>
struct Combined<kMul> {
  Compute value;
  __device__ __forceinline__ void Start(Storage x) { value = E::load(x); }
  __device__ __forceinline__ void Take(Storage update) { value *= E::load(update); }
  __device__ __forceinline__ Storage Result() const { return E::store(value); }
};
template <>
struct Combined<kAdd> {
  Compute value;
  __device__ __forceinline__ void Start(Storage x) { value = E::load(x); }
  __device__ __forceinline__ void Take(Storage update) { value += E::load(update); }
  __device__ __forceinline__ Storage Result() const { return E::store(value); }
};

// True if one of indices[begin] to indices[end - 1] names the row.
__device__ __forceinline__ bool Names(const Index* indices, idx begin, idx end, i64 row) {
  bool found = false;
#pragma unroll 8
  for (idx i = begin; i < end; ++i) found |= (i64)sn_load(indices + i) == row;
  return found;
}

// The first index of each row combines all updates of the row. Then the other rows are copied, unless y is x.
// Reads and writes each row once. Reads the indices from caches after the first time.
__device__ __forceinline__ void CombineDirectly(const Storage* x, const Index* indices,
                                                const Storage* updates, Storage* y) {
  const bool aligned =
      IsPackAligned<kVector>(x) && IsPackAligned<kVector>(updates) && IsPackAligned<kVector>(y);
  constexpr uidx packs = kInner / kVector;
  const uidx first = (uidx)blockIdx.x * blockDim.x + threadIdx.x, threads = (uidx)gridDim.x * blockDim.x;
  for (uidx t = first; t < uidx(kOuter) * uidx(kCount) * packs; t += threads) {
    const idx inner = idx(t % packs) * kVector, i = idx(t / packs % kCount), outer = idx(t / packs / kCount);
    const i64 row = (i64)sn_load(indices + i);
    if (row < 0 || row >= (i64)kSize || Names(indices, 0, i, row)) continue;
    const idx place = (outer * kSize + idx(row)) * kInner + inner;
    Combined<kKind> combined[kVector];
    const Vec<Storage, kVector> old = ReadPackWritten<kVector>(x + place, aligned);
#pragma unroll
    for (int k = 0; k < kVector; ++k) combined[k].Start(old.v[k]);
    for (idx other = i; other < kCount; ++other) {
      if ((i64)sn_load(indices + other) != row) continue;
      const Vec<Storage, kVector> update =
          ReadPack<kVector>(updates + (outer * kCount + other) * kInner + inner, aligned);
#pragma unroll
      for (int k = 0; k < kVector; ++k) combined[k].Take(update.v[k]);
    }
    Vec<Storage, kVector> result;
#pragma unroll
    for (int k = 0; k < kVector; ++k) result.v[k] = combined[k].Result();
    WritePack<kVector>(y + place, result, aligned);
  }
  if (x == y) return;
  for (uidx t = first; t < uidx(kOuter) * uidx(kSize) * packs; t += threads) {
    if (Names(indices, 0, kCount, (i64)(t / packs % kSize))) continue;
    WritePack<kVector>(y + t * kVector, ReadPack<kVector>(x + t * kVector, aligned), aligned);
  }
}

// Copies x to y; does nothing if they are the same memory.
__device__ __forceinline__ void CopyRows(const Storage* x, Storage* y) {
  if (x == y) return;
  constexpr int pack = 16 / sizeof(Storage);
  constexpr uidx elements = uidx(kOuter) * uidx(kSize) * uidx(kInner);
  const uidx first = ((uidx)blockIdx.x * blockDim.x + threadIdx.x) * pack;
  if (first >= elements) return;
  if (first + pack <= elements) {
    WritePack<pack>(y + first, ReadPack<pack>(x + first, IsPackAligned<pack>(x)), IsPackAligned<pack>(y));
  } else {
    for (uidx i = first; i < elements; ++i) y[i] = x[i];
  }
}

// The threads of the first of several equal keys combine all their updates. Reads the keys, the numbers and
// the updates once; reads and writes the rows of y that an index names.
__device__ __forceinline__ void CombineRuns(const Storage* x, const Storage* updates, const u32* keys,
                                            const u32* numbers, Storage* y) {
  constexpr int together = 8;  // Updates that are read together.
  const bool aligned =
      IsPackAligned<kVector>(x) && IsPackAligned<kVector>(updates) && IsPackAligned<kVector>(y);
  uidx thread = (uidx)blockIdx.x * blockDim.x + threadIdx.x;
  const uidx lane = thread % kWidth;
  thread /= kWidth;
  const idx inner = idx(thread % kSlices * kWidth + lane) * kVector;
  thread /= kSlices;
  const u32 first = u32(thread % kCount);
  const idx outer = idx(thread / kCount);
  if (outer >= kOuter || inner >= kInner) return;
  const u32 row = sn_load(keys + first);
  if (row >= (u32)kSize || (first > 0 && sn_load(keys + first - 1) == row)) return;
  const Storage* const from = updates + outer * (kCount * kInner) + inner;
  const idx place = (outer * kSize + idx(row)) * kInner + inner;
  Combined<kKind> combined[kVector];
  const Vec<Storage, kVector> old = ReadPackWritten<kVector>(x + place, aligned);
#pragma unroll
  for (int k = 0; k < kVector; ++k) combined[k].Start(old.v[k]);
  for (u32 i = first;; i += together) {
    bool exists[together];
    Vec<Storage, kVector> packs[together];
#pragma unroll
    for (int n = 0; n < together; ++n) {
      exists[n] = i + n < (u32)kCount && sn_load(keys + i + n) == row;
      if (exists[n]) packs[n] = ReadPack<kVector>(from + idx(sn_load(numbers + i + n)) * kInner, aligned);
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      if (!exists[n]) continue;
#pragma unroll
      for (int k = 0; k < kVector; ++k) combined[k].Take(packs[n].v[k]);
    }
    if (!exists[together - 1]) break;
  }
  Vec<Storage, kVector> result;
#pragma unroll
  for (int k = 0; k < kVector; ++k) result.v[k] = combined[k].Result();
  WritePack<kVector>(y + place, result, aligned);
}
