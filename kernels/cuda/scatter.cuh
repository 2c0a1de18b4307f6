// y = x, then y[o, indices[i], j] combined with updates[o, i, j] in the order of i. x is [kOuter, kSize,
// kInner] and updates is [kOuter, kCount, kInner]. Indices out of range are ignored. y may alias x: then
// only the rows that an index names are read and written. Sums and products of 16-bit floats are in float.
//
// Few indices: CombineDirectly, where a block collects the updates of its rows. Many indices: a stable sort
// (radix_sort.cuh), then CopyRows copies x to y, and CombineRuns combines each run of equal indices. Sums of
// long runs are of parts: CombineRuns adds each part of kPart updates apart, and JoinRuns adds the parts.
//
// Constants: E; Index; kKind; kOuter, kSize, kInner, kCount; kVector, the adjacent elements of a thread. For
// CombineDirectly: kBlock; kRows, kSpan (below); kListed, the most updates of a block, at least 1. For
// CombineRuns and JoinRuns: kWidth, the adjacent threads; kSlices, the number of such widths in kInner;
// kPart, 0 if runs have no parts.
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

// Lists the updates of the rows [low, high), in order: numbers[n] and, from `low`, rows[n]. Returns how many.
// All threads of the block take part; none may still read the lists.
__device__ __forceinline__ u32 CollectUpdates(const Index* indices, i64 low, i64 high, u32* numbers,
                                              u32* rows) {
  __shared__ u32 of_warps[2][kBlock / 32];
  u32 count = 0;
  int turn = 0;
  for (u32 first = 0; first < u32(kCount); first += kBlock, turn ^= 1) {
    const u32 i = first + threadIdx.x;
    const i64 row = i < u32(kCount) ? (i64)sn_load(indices + i) : -1;
    const bool is_own = row >= low && row < high && row >= 0;
    u32 total;
    const u32 place = count + ScanBlock<kBlock>(is_own ? 1u : 0u, total, of_warps[turn]);
    if (is_own) numbers[place] = i, rows[place] = u32(row - low);
    count += total;
  }
  sn_barrier();
  return count;
}

// The rows of a block and the list of all their updates. A block has kRows rows, and of each kSpan packs of
// kVector elements.
struct DirectPart {
  const Storage *x, *updates;
  Storage* y;
  const u32 *numbers, *rows;
  u32 count;
  bool aligned;

  // Combines a pack at `place` of x with the updates of the row, at `inner`; copies it if there are none.
  __device__ __forceinline__ void Combine(u32 row, idx place, idx outer, idx inner) const {
    constexpr int together = 8;  // Updates that are read together.
    const Vec<Storage, kVector> old = ReadPackWritten<kVector>(x + place, aligned);
    Combined<kKind> combined[kVector];
#pragma unroll
    for (int k = 0; k < kVector; ++k) combined[k].Start(old.v[k]);
    const Storage* const from = updates + outer * (kCount * kInner) + inner;
    bool any = false;
    u32 n = 0;
    while (n < count) {
      Vec<Storage, kVector> packs[together];
      bool exists[together];
#pragma unroll
      for (int t = 0; t < together; ++t) {
        while (n < count && rows[n] != row) ++n;
        exists[t] = n < count;
        if (exists[t]) packs[t] = ReadPack<kVector>(from + idx(numbers[n++]) * kInner, aligned);
      }
      any |= exists[0];
#pragma unroll
      for (int t = 0; t < together; ++t) {
        if (!exists[t]) continue;
#pragma unroll
        for (int k = 0; k < kVector; ++k) combined[k].Take(packs[t].v[k]);
      }
    }
    Vec<Storage, kVector> result = old;
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      if (any) result.v[k] = combined[k].Result();
    }
    WritePack<kVector>(y + place, result, aligned);
  }
};

// Reads and writes each row once. If y is x, only the rows that an index names: a block takes an index, and
// leaves a row to the block of its first index.
__device__ __forceinline__ void CombineDirectly(const Storage* x, const Index* indices,
                                                const Storage* updates, Storage* y) {
  __shared__ u32 numbers[kListed], rows[kListed];
  constexpr uidx packs = kInner / kVector, spans = (packs + kSpan - 1) / kSpan;
  const bool in_place = x == y;
  constexpr uidx groups = (kSize + kRows - 1) / kRows;
  const uidx units = in_place ? uidx(kCount) : groups;
  DirectPart part;
  part.x = x, part.updates = updates, part.y = y, part.numbers = numbers, part.rows = rows;
  part.aligned = IsPackAligned<kVector>(x) && IsPackAligned<kVector>(updates) && IsPackAligned<kVector>(y);
  for (uidx unit = blockIdx.x; unit < uidx(kOuter) * spans * units; unit += gridDim.x) {
    const uidx span = unit % spans, number = unit / spans % units;
    const idx outer = idx(unit / spans / units);
    const i64 low = in_place ? (i64)sn_load(indices + number) : (i64)(number * kRows);
    if (low < 0 || low >= (i64)kSize) continue;
    const i64 high = in_place ? low + 1 : (low + kRows < (i64)kSize ? low + kRows : (i64)kSize);
    sn_barrier();
    part.count = CollectUpdates(indices, low, high, numbers, rows);
    if (in_place && numbers[0] != u32(number)) continue;
    const uidx first = span * kSpan, width = packs - first < kSpan ? packs - first : uidx(kSpan);
    for (uidx t = threadIdx.x; t < uidx(high - low) * width; t += kBlock) {
      const u32 row = u32(t / width);
      const idx inner = idx(first + t % width) * kVector;
      part.Combine(row, (outer * kSize + idx(low) + idx(row)) * kInner + inner, outer, inner);
    }
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

// The place of a thread of CombineRuns and JoinRuns: the unit that it takes (an index, or a part of kPart
// indices), and its elements.
struct RunThread {
  u32 unit;
  idx outer, inner;
  bool exists;

  __device__ __forceinline__ explicit RunThread(uidx units) {
    uidx thread = (uidx)blockIdx.x * blockDim.x + threadIdx.x;
    const uidx lane = thread % kWidth;
    thread /= kWidth;
    inner = idx(thread % kSlices * kWidth + lane) * kVector;
    thread /= kSlices;
    unit = u32(thread % units);
    outer = idx(thread / units);
    exists = outer < kOuter && inner < kInner;
  }
};

constexpr u32 kPartOrOne = kPart > 0 ? kPart : 1, kParts = (u32(kCount) + kPartOrOne - 1) / kPartOrOne;

// The sums of parts of runs: of the run that a part begins with, and of the run that a part ends with, if it
// begins behind the part's begin. [2, kOuter, kParts, kInner].
__device__ __forceinline__ idx PartPlace(bool is_end, idx outer, u32 part, idx inner) {
  return ((idx(is_end) * kOuter + outer) * idx(kParts) + idx(part)) * kInner + inner;
}

// The threads of the first of several equal keys combine all their updates. Reads the keys, the numbers and
// the updates once; reads and writes the rows of y that an index names. With parts, a run that a part's end
// cuts is left to JoinRuns, and `sums` gets the sums of its parts.
__device__ __forceinline__ void CombineRuns(const Storage* x, const Storage* updates, const u32* keys,
                                            const u32* numbers, Storage* y, Compute* sums) {
  constexpr int together = 8;  // Updates that are read together.
  const bool aligned =
      IsPackAligned<kVector>(x) && IsPackAligned<kVector>(updates) && IsPackAligned<kVector>(y);
  const RunThread thread(kCount);
  if (!thread.exists) return;
  const u32 first = thread.unit;
  const u32 row = sn_load(keys + first);
  const bool begins_run = first == 0 || sn_load(keys + first - 1) != row;
  const bool begins_part = kPart > 0 && first % kPartOrOne == 0;
  if (row >= (u32)kSize || !(begins_run || begins_part)) return;
  u32 end = (u32)kCount;
  if (kPart > 0 && first / kPartOrOne + 1 < kParts) end = (first / kPartOrOne + 1) * kPartOrOne;
  const bool is_cut = kPart > 0 && (!begins_run || (end < (u32)kCount && sn_load(keys + end) == row));
  const Storage* const from = updates + thread.outer * (kCount * kInner) + thread.inner;
  const idx place = (thread.outer * kSize + idx(row)) * kInner + thread.inner;
  Combined<kKind> combined[kVector];
  Vec<Storage, kVector> old = {};
  if (!is_cut) old = ReadPackWritten<kVector>(x + place, aligned);
#pragma unroll
  for (int k = 0; k < kVector; ++k) combined[k].Start(old.v[k]);
  for (u32 i = first;; i += together) {
    bool exists[together];
    Vec<Storage, kVector> packs[together];
#pragma unroll
    for (int n = 0; n < together; ++n) {
      exists[n] = i + n < end && sn_load(keys + i + n) == row;
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
  if (is_cut) {
    Compute* const to = sums + PartPlace(!begins_part, thread.outer, first / kPartOrOne, thread.inner);
#pragma unroll
    for (int k = 0; k < kVector; ++k) to[k] = Compute(combined[k].value);
    return;
  }
  Vec<Storage, kVector> result;
#pragma unroll
  for (int k = 0; k < kVector; ++k) result.v[k] = combined[k].Result();
  WritePack<kVector>(y + place, result, aligned);
}

// Adds the sums of the parts of each run that has several, in order, to its row of x. A run belongs to the
// part in which it begins.
__device__ __forceinline__ void JoinRuns(const Storage* x, const u32* keys, const Compute* sums, Storage* y) {
  constexpr int together = 8;  // Sums that are read together.
  const RunThread thread(kParts);
  if (!thread.exists || thread.unit + 1 >= kParts) return;
  const u32 begin = thread.unit * kPartOrOne, end = begin + kPartOrOne;
  const u32 row = sn_load(keys + end - 1);
  const bool begins_part = sn_load(keys + begin) == row;
  const bool began_before = begins_part && begin > 0 && sn_load(keys + begin - 1) == row;
  if (row >= (u32)kSize || sn_load(keys + end) != row || began_before) return;
  const idx place = (thread.outer * kSize + idx(row)) * kInner + thread.inner;
  Compute total[kVector];
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    total[k] =
        E::load(x[place + k]) + sums[PartPlace(!begins_part, thread.outer, thread.unit, thread.inner) + k];
  }
  for (u32 part = thread.unit + 1;; part += together) {
    bool exists[together];
    Compute read[together][kVector];
#pragma unroll
    for (int n = 0; n < together; ++n) {
      exists[n] = part + n < kParts && sn_load(keys + (part + n) * kPartOrOne) == row;
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        read[n][k] =
            exists[n] ? sums[PartPlace(false, thread.outer, part + n, thread.inner) + k] : Compute(0);
      }
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      if (!exists[n]) continue;
#pragma unroll
      for (int k = 0; k < kVector; ++k) total[k] += read[n][k];
    }
    if (!exists[together - 1]) break;
  }
#pragma unroll
  for (int k = 0; k < kVector; ++k) y[place + k] = E::store(total[k]);
}
