// Running sums along the middle dimension of [kOuter, kSize, kInner]; floats are summed in double.
// y may alias x: each thread writes only elements that it has read itself, or that are in its own column.
//
// Long sums are split into kChunks chunks of kChunk positions; the split depends only on the shape. A first
// launch writes the total of each chunk except the last to [kOuter, kChunks, kInner]. Each chunk then starts
// at the sum of the chunks before it.
//
// Constants: E; kOuter, kSize, kInner, kReverse, kChunk, kChunks. For rows (kInner is 1) also kVector, the
// adjacent elements that one thread sums, and kLanes, the threads of a row's chunk: up to 32, or kBlock.
typedef E::Storage Storage;
typedef E::Compute Compute;
typedef E::Long Sum;

// Returns the position of the element that is added k-th.
__device__ __forceinline__ idx At(idx k) { return kReverse ? kSize - 1 - k : k; }
__device__ __forceinline__ Sum Widen(Storage x) { return Sum(E::load(x)); }
__device__ __forceinline__ Storage Narrow(Sum sum) { return E::store(Compute(sum)); }

// Rows.
// -----------------------------------------------------------------------------------------------------------

// The kVector positions that start at `first` and are before `end`.
struct Items {
  Storage* low;  // Address of the pack in memory, if the pack is whole.
  bool whole;
  __device__ __forceinline__ Items(Storage* row, idx first, idx end)
      : low(row + (kReverse ? kSize - kVector - first : first)),
        whole(first + kVector <= end && IsPackAligned<kVector>(low)) {}
};

__device__ __forceinline__ void ReadItems(const Storage* row, idx first, idx end, Sum (&items)[kVector]) {
  const Items at((Storage*)row, first, end);
  if (at.whole) {
    const Vec<Storage, kVector> pack = *(const Vec<Storage, kVector>*)at.low;
#pragma unroll
    for (int i = 0; i < kVector; ++i) items[i] = Widen(pack.v[kReverse ? kVector - 1 - i : i]);
  } else {
#pragma unroll
    for (int i = 0; i < kVector; ++i) items[i] = first + i < end ? Widen(row[At(first + i)]) : Sum(0);
  }
}

__device__ __forceinline__ void WriteItems(Storage* row, idx first, idx end, const Sum (&items)[kVector]) {
  const Items at(row, first, end);
  if (at.whole) {
    Vec<Storage, kVector> pack;
#pragma unroll
    for (int i = 0; i < kVector; ++i) pack.v[kReverse ? kVector - 1 - i : i] = Narrow(items[i]);
    *(Vec<Storage, kVector>*)at.low = pack;
  } else {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (first + i < end) row[At(first + i)] = Narrow(items[i]);
    }
  }
}

// The chunk and the row that a thread processes; empty after the last row.
struct Part {
  idx row, chunk, first, end;
  __device__ __forceinline__ explicit Part(idx chunks) {
    const uidx part = (uidx)blockIdx.x * (kBlock / kLanes) + threadIdx.x / kLanes;
    const bool exists = part / chunks < kOuter;
    row = exists ? idx(part / chunks) : 0, chunk = idx(part % chunks);
    first = chunk * kChunk;
    end = !exists ? first : first + kChunk < kSize ? first + kChunk : kSize;
  }
};

// Returns the sum of the values that lower threads own; `total` is the sum of all. `lanes` is kBlock or at
// most 32.
template <int lanes>
__device__ __forceinline__ Sum Scan(Sum own, Sum& total, Sum* shared) {
  if constexpr (lanes > 32) {
    return ScanBlock<lanes>(own, total, shared);
  } else {
    return ScanLanes<lanes>(own, total);
  }
}

// Reads x once; each chunk belongs to one block.
__device__ __forceinline__ void RowTotals(const Storage* x, Sum* totals) {
  __shared__ Sum shared[kBlock / 32];
  const Part part(kChunks - 1);
  const Storage* const row = x + part.row * kSize;
  Sum sum = 0;
  for (idx k = part.first + idx(threadIdx.x) * kVector; k < part.end; k += kLanes * kVector) {
    Sum items[kVector];
    ReadItems(row, k, part.end, items);
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum += items[i];
  }
  Sum total;
  Scan<kLanes>(sum, total, shared);
  if (threadIdx.x == 0) totals[part.row * kChunks + part.chunk] = total;
}

// Reads x and writes y once. If there are several chunks, reads the totals once for each chunk.
__device__ __forceinline__ void RowSums(const Storage* x, const Sum* totals, Storage* y) {
  __shared__ Sum shared[2][kBlock / 32];
  const Part part(kChunks);
  const Storage* const from = x + part.row * kSize;
  Storage* const to = y + part.row * kSize;
  Sum carry = 0;
  int turn = 0;
  if (kChunks > 1) {
    Sum before = 0;
    for (idx c = threadIdx.x; c < part.chunk; c += kBlock) before += totals[part.row * kChunks + c];
    Scan<kLanes>(before, carry, shared[turn]);
    turn = 1;
  }
  const int lane = threadIdx.x % kLanes;
  // All threads run the same number of iterations, because they share each tile's sums.
  constexpr idx tile = kLanes * kVector;
  for (idx offset = 0; offset < kChunk; offset += tile, turn ^= 1) {
    const idx k = part.first + offset + lane * kVector;
    Sum items[kVector];
    ReadItems(from, k, part.end, items);
#pragma unroll
    for (int i = 1; i < kVector; ++i) items[i] += items[i - 1];
    Sum total;
    const Sum before = carry + Scan<kLanes>(items[kVector - 1], total, shared[turn]);
#pragma unroll
    for (int i = 0; i < kVector; ++i) items[i] += before;
    WriteItems(to, k, part.end, items);
    carry += total;
  }
}

// Columns, one thread each.
// -----------------------------------------------------------------------------------------------------------

constexpr int kTogether = 8;  // Loads that are started together.

struct Column {
  idx outer, chunk, inner, first, end;
  bool exists;
  __device__ __forceinline__ explicit Column(idx chunks) {
    uidx thread = (uidx)blockIdx.x * blockDim.x + threadIdx.x;
    inner = idx(thread % kInner);
    thread /= kInner;
    chunk = idx(thread % chunks);
    outer = idx(thread / chunks);
    exists = outer < kOuter;
    first = chunk * kChunk;
    end = first + kChunk < kSize ? first + kChunk : kSize;
  }
  __device__ __forceinline__ idx element(idx k) const { return (outer * kSize + At(k)) * kInner + inner; }
  __device__ __forceinline__ idx total(idx c) const { return (outer * kChunks + c) * kInner + inner; }
};

// Calls f(k, element) for each element of the column in order, and reads ahead.
template <typename F>
__device__ __forceinline__ void ForColumn(const Storage* x, const Column& at, F&& f) {
  idx k = at.first;
  for (; k + kTogether <= at.end; k += kTogether) {
    Storage items[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) items[i] = x[at.element(k + i)];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) f(k + i, Widen(items[i]));
  }
  for (; k < at.end; ++k) f(k, Widen(x[at.element(k)]));
}

// Reads x once.
__device__ __forceinline__ void ColumnTotals(const Storage* x, Sum* totals) {
  const Column at(kChunks - 1);
  if (!at.exists) return;
  Sum sum = 0;
  ForColumn(x, at, [&](idx, Sum item) { sum += item; });
  totals[at.total(at.chunk)] = sum;
}

// Reads x and writes y once. If there are several chunks, reads the totals of the chunks before its own.
__device__ __forceinline__ void ColumnSums(const Storage* x, const Sum* totals, Storage* y) {
  const Column at(kChunks);
  if (!at.exists) return;
  Sum sum = 0;
  if (kChunks > 1) {
#pragma unroll 4
    for (idx c = 0; c < at.chunk; ++c) sum += totals[at.total(c)];
  }
  ForColumn(x, at, [&](idx k, Sum item) {
    sum += item;
    y[at.element(k)] = Narrow(sum);
  });
}
