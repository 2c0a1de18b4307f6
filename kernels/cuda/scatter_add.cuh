// y = x, then y[o, indices[i], j] += updates[o, i, j] in the order of i.
// x is [kOuter, kSize, kInner] and updates is [kOuter, kCount, kInner]. Indices out of range are ignored. y
// may alias x. 16-bit floats are summed in float.
//
// Few indices: AddDirectly, where each element tests all of them. Many indices: a stable sort
// (radix_sort.cuh), then CopyRows copies x to y, and AddRuns adds each run of equal indices.
//
// Constants: E; Index; kOuter, kSize, kInner, kCount. For AddRuns also kVector, the adjacent elements of a
// thread, kWidth, the adjacent threads, and kSlices, the number of such widths in kInner.
typedef E::Storage Storage;
typedef E::Compute Compute;

// Reads x once and writes y. Reads the indices and updates from caches after the first time.
__device__ __forceinline__ void AddDirectly(const Storage* x, const Index* indices, const Storage* updates,
                                            Storage* y) {
  const uidx element = (uidx)blockIdx.x * blockDim.x + threadIdx.x;
  if (element >= uidx(kOuter) * uidx(kSize) * uidx(kInner)) return;
  const uidx inner = element % kInner, row = element / kInner % kSize, outer = element / kInner / kSize;
  const Storage* const from = updates + idx(outer) * (kCount * kInner) + inner;
  Compute sum = E::load(x[element]);
#pragma unroll 8
  for (idx i = 0; i < kCount; ++i) {
    if ((i64)sn_load(indices + i) == (i64)row) sum += E::load(sn_load(from + i * kInner));
  }
  y[element] = E::store(sum);
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

// The threads of the first of several equal keys add all their updates. Reads the keys, the numbers and the
// updates once; reads and writes the rows of y that an index names.
__device__ __forceinline__ void AddRuns(const Storage* x, const Storage* updates, const u32* keys,
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
  Compute sums[kVector];
  const Vec<Storage, kVector> old = ReadPackWritten<kVector>(x + place, aligned);
#pragma unroll
  for (int k = 0; k < kVector; ++k) sums[k] = E::load(old.v[k]);
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
      for (int k = 0; k < kVector; ++k) sums[k] += E::load(packs[n].v[k]);
    }
    if (!exists[together - 1]) break;
  }
  Vec<Storage, kVector> result;
#pragma unroll
  for (int k = 0; k < kVector; ++k) result.v[k] = E::store(sums[k]);
  WritePack<kVector>(y + place, result, aligned);
}
