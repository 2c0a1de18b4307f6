// softmax(scale q k^T + bias) v of few queries and many keys. The time is that of reading the keys and the
// values that some query sees once: a position that the bias hides from all of them is not read.
// Query heads that share keys are rows of one block, which takes kRows rows of an example and a head of
// keys. A position is read by kLanes lanes, 8 elements each; the lane groups of a warp, the warps of a block
// and the blocks of a cluster (cluster.cuh) share the positions. Each lane group keeps the largest score and
// the sums of what it has read; those are added in order at the end. The caches may take a new position
// first: it is read from its rows, and written to the caches by a block that sees it.
//
// Constants: E, the element of q, k, v and the result, and kIsBf16; B, the element of the bias; kKeyHeads,
// kGroup, the heads of q for one of k; kQueries, kKeys, kWidth, a multiple of 8; kQueryStride, elements from
// one query to the next; kFirstHead, q's first head; kPositionStride, kHeadStride, of k and v; kHasBias and
// kBiasOfExample, kBiasOfHead, kBiasOfQuery, elements of the bias from one to the next, 0 where they share
// it; kCausal, kWindow, 0 for none; kWrites, and of the new rows kKeyRow and kValueRow, their heads,
// kFirstKey and kFirstValue, and Index, the element of the position; kRows, 1 to 8; kWarps, kSplits; kScale
// is a float.
typedef E::Storage Storage;
constexpr int kEach = 8, kParts = int(kWidth) / kEach;
constexpr int kLanes = kParts <= 1    ? 1
                       : kParts <= 2  ? 2
                       : kParts <= 4  ? 4
                       : kParts <= 8  ? 8
                       : kParts <= 16 ? 16
                                      : 32;
constexpr int kPlaces = 32 / kLanes;                         // Positions that a warp reads at once.
constexpr int kAhead = kRows <= 2 ? 8 : kRows <= 4 ? 4 : 2;  // Times under way.
constexpr int kThreads = kWarps * 32, kChunk = kAhead * kWarps * kPlaces;
constexpr int kAllRows = int(kGroup * kQueries), kRowTiles = (kAllRows + kRows - 1) / kRows;
constexpr int kValues = kRows * int(kWidth + 2);  // A part has sums, then tops and totals.
constexpr int kChunks = int((kKeys + kChunk - 1) / kChunk);
constexpr int kWords = kEach * sizeof(Storage) / 4;
typedef Vec<u32, kWords> Pack;  // 8 elements.

__device__ __forceinline__ float NumberOf(const Pack& pack, int e) {
  if (kWords == kEach) return __uint_as_float(pack.v[e % kWords]);
  const u32 word = pack.v[e / 2];
  if (kIsBf16) return __uint_as_float(e % 2 == 0 ? word << 16 : word & 0xffff0000u);
  return float(E::load(Storage(word >> (e % 2 * 16))));
}

// A row of the block: a query of a head.
struct Row {
  int head, query;  // Within the group.
  bool inside;
};
__device__ __forceinline__ Row RowOf(int r) {
  const int row = int(blockIdx.x / kSplits % kRowTiles) * kRows + r;
  return {row / int(kQueries), row % int(kQueries), row < kAllRows};
}
__device__ __forceinline__ float Infinity() { return __uint_as_float(0x7f800000u); }

// The place in a chunk of a lane's i-th position.
__device__ __forceinline__ int PlaceOf(int i) {
  return (i * int(kWarps) + int(threadIdx.x / 32)) * kPlaces + int(threadIdx.x % 32) / kLanes;
}

struct State {
  float top[kRows], total[kRows], sums[kRows][kEach];
};

// Adds what another part of the positions has, to all that this one has.
__device__ __forceinline__ void Rescale(float own_top, float other_top, float& own, float& other,
                                        float& top) {
  top = sn_max(own_top, other_top);
  const float base = top == -Infinity() ? 0.f : top;
  own = sn_exp(own_top - base), other = sn_exp(other_top - base);
}

// Makes the scores' terms of a lane's positions: minus infinity where the row does not see one.
__device__ __forceinline__ void FetchTerms(const B::Storage* bias, idx example, idx head, int first,
                                           float (&scores)[kRows][kAhead]) {
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    const int position = first + PlaceOf(i);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const Row row = RowOf(r);
      const int at = int(kKeys - kQueries) + row.query;  // The query's position.
      bool sees = row.inside && position < kKeys;
      if (kCausal) sees = sees && position <= at;
      if (kWindow > 0) sees = sees && at - position < kWindow && position - at < kWindow;
      float term = sees ? 0.f : -Infinity();
      if (kHasBias && sees) {
        term =
            float(B::load(sn_load(bias + example * kBiasOfExample + (head * kGroup + row.head) * kBiasOfHead +
                                  idx(row.query) * kBiasOfQuery + position)));
      }
      scores[r][i] = term;
    }
  }
}

// A cache of one example and head: what it holds, and the row that it takes at a position; null if none.
struct Cache {
  const Storage *held, *row;
  Storage* to;
};
struct Place {
  idx example, head;
  int taken;  // The position of the new rows; -1 if there is none.
};

// Reads what some row of the block sees; zeros elsewhere.
__device__ __forceinline__ void FetchPacks(const Cache& cache, int taken, int first,
                                           const float (&scores)[kRows][kAhead], Pack (&packs)[kAhead]) {
  const int part = threadIdx.x % kLanes;
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    bool seen = false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) seen = seen || scores[r][i] != -Infinity();
    const int position = first + PlaceOf(i);
    const Storage* at = cache.held + idx(position) * kPositionStride;
    if (kWrites && position == taken) at = cache.row;
#pragma unroll
    for (int w = 0; w < kWords; w += 4) {
      const Vec<u32, 4> words = ReadOnce((const u32*)(at + part * kEach) + w, seen && part < kParts);
#pragma unroll
      for (int j = 0; j < 4; ++j) packs[i].v[w + j] = words.v[j];
    }
  }
}

// Writes the block's positions of a cache: the new row, and if the cache moves, the others. Nothing reads the
// new row's place.
__device__ __forceinline__ void WriteCache(const Cache& cache, int taken, int part) {
  for (int chunk = part; chunk < kChunks; chunk += kSplits) {
    const int first = chunk * kChunk, here = taken - first;
    if (taken >= 0 && here >= 0 && here < kChunk) {
      for (int n = threadIdx.x; n < int(kWidth); n += kThreads) {
        cache.to[idx(taken) * kPositionStride + n] = sn_load(cache.row + n);
      }
    }
    if (cache.to == cache.held) continue;
    for (int n = threadIdx.x; n < kChunk * int(kWidth); n += kThreads) {
      const int position = first + n / int(kWidth);
      const idx at = idx(position) * kPositionStride + n % int(kWidth);
      if (position < kKeys && position != taken) cache.to[at] = sn_load(cache.held + at);
    }
  }
}

// Adds the positions of a chunk that begins at `first`.
__device__ __forceinline__ void AddChunk(const Cache& k, const Cache& v, const B::Storage* bias,
                                         const Place& at, int first, const float (&q)[kRows][kEach],
                                         State& state) {
  float scores[kRows][kAhead];
  FetchTerms(bias, at.example, at.head, first, scores);
  Pack keys[kAhead], values[kAhead];
  FetchPacks(k, at.taken, first, scores, keys);
  FetchPacks(v, at.taken, first, scores, values);
  if (!AfterReads()) return;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float top = state.top[r];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      float dot = 0.f;
#pragma unroll
      for (int e = 0; e < kEach; ++e) dot += q[r][e] * NumberOf(keys[i], e);
#pragma unroll
      for (int mask = 1; mask < kLanes; mask *= 2) dot += sn_shuffle_xor(dot, mask);
      if (scores[r][i] != -Infinity()) scores[r][i] += dot;
      top = sn_max(top, scores[r][i]);
    }
    const float base = top == -Infinity() ? 0.f : top, before = sn_exp(state.top[r] - base);
    state.top[r] = top;
    state.total[r] *= before;
#pragma unroll
    for (int e = 0; e < kEach; ++e) state.sums[r][e] *= before;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const float weight = sn_exp(scores[r][i] - base);
      state.total[r] += weight;
#pragma unroll
      for (int e = 0; e < kEach; ++e) state.sums[r][e] += weight * NumberOf(values[i], e);
    }
  }
}

// Adds the states of the warp's lane groups; all lanes have the result.
__device__ __forceinline__ void JoinLanes(State& state) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int mask = kLanes; mask < 32; mask *= 2) {
      float own, other, top;
      Rescale(state.top[r], sn_shuffle_xor(state.top[r], mask), own, other, top);
      state.top[r] = top;
      state.total[r] = state.total[r] * own + sn_shuffle_xor(state.total[r], mask) * other;
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        state.sums[r][e] = state.sums[r][e] * own + sn_shuffle_xor(state.sums[r][e], mask) * other;
      }
    }
  }
}

// Combines number n of `count` states, which lie as kValues floats each: read(i, n) is number n of state i.
template <int count, typename Read>
__device__ __forceinline__ float Combined(int r, int n, float top, const Read& read) {
  const float base = top == -Infinity() ? 0.f : top;
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < count; ++i) sum += sn_exp(read(i, kRows * int(kWidth) + r) - base) * read(i, n);
  return sum;
}
template <int count, typename Read>
__device__ __forceinline__ float TopOf(int r, const Read& read) {
  float top = -Infinity();
#pragma unroll
  for (int i = 0; i < count; ++i) top = sn_max(top, read(i, kRows * int(kWidth) + r));
  return top;
}

__device__ __forceinline__ void AttendPart(const Storage* q, const Cache& k, const Cache& v,
                                           const B::Storage* bias, const Place& at, int part, float* shared,
                                           float* result) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, of_lane = lane % kLanes;
  const idx example = at.example, head = at.head;
  if (kWrites && blockIdx.x / kSplits % kRowTiles == 0) {
    WriteCache(k, at.taken, part);
    WriteCache(v, at.taken, part);
  }
  float numbers[kRows][kEach] = {};
  State state;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Row row = RowOf(r);
    state.top[r] = -Infinity(), state.total[r] = 0.f;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      state.sums[r][e] = 0.f;
      if (row.inside && of_lane < kParts) {
        numbers[r][e] =
            kScale *
            float(E::load(sn_load(q + (example * kQueries + row.query) * kQueryStride +
                                  (kFirstHead + head * kGroup + row.head) * kWidth + of_lane * kEach + e)));
      }
    }
  }
#pragma unroll 1
  for (int chunk = part; chunk < kChunks; chunk += kSplits) {
    AddChunk(k, v, bias, at, chunk * kChunk, numbers, state);
  }
  JoinLanes(state);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (lane >= kParts) continue;
    float* const to = shared + warp * kValues;
#pragma unroll
    for (int e = 0; e < kEach; ++e) to[r * kWidth + lane * kEach + e] = state.sums[r][e];
    if (lane != 0) continue;
    to[kRows * kWidth + r] = state.top[r];
    to[kRows * (kWidth + 1) + r] = state.total[r];
  }
  sn_barrier();
  auto of_warp = [&](int i, int n) { return shared[i * kValues + n]; };
  for (int n = threadIdx.x; n < kValues; n += kThreads) {
    const int r = n < kRows * kWidth ? n / int(kWidth) : n % kRows;
    const float top = TopOf<int(kWarps)>(r, of_warp);
    const bool is_top = n >= kRows * kWidth && n < kRows * (kWidth + 1);
    result[n] = is_top ? top : Combined<int(kWarps)>(r, n, top, of_warp);
  }
}

// The caches of an op that writes none are those that it reads, and there is no row.
__device__ __forceinline__ void AttendFewQueries(const Storage* q, const Storage* k, const Storage* v,
                                                 const B::Storage* bias, const Storage* k_row,
                                                 const Storage* v_row, const Index* position, Storage* y,
                                                 Storage* k_to, Storage* v_to) {
  __shared__ float shared[kWarps * kValues];
  __shared__ float parts[kHeldParts * kValues];
  const idx pair = idx(blockIdx.x / kSplits / kRowTiles), example = pair / kKeyHeads, head = pair % kKeyHeads;
  const idx offset = example * (kKeyHeads * kKeys * kWidth) + head * kHeadStride;
  Cache keys = {k + offset, nullptr, nullptr}, values = {v + offset, nullptr, nullptr};
  Place at = {example, head, -1};
  if (kWrites) {
    const i64 given = i64(sn_load(position));
    if (given >= 0 && given < i64(kKeys)) at.taken = int(given);
    keys.row = k_row + (example * kKeyRow + kFirstKey + head) * kWidth, keys.to = k_to + offset;
    values.row = v_row + (example * kValueRow + kFirstValue + head) * kWidth, values.to = v_to + offset;
  }
  ForParts(
      [&](int part, float* own) {
        if (kHeldParts > 1) sn_barrier();
        AttendPart(q, keys, values, bias, at, part, shared, own);
      },
      parts, kValues);
  auto of_part = [&](int i, int n) { return PartOf(parts, kValues, i, n); };
  ForResults(kRows * int(kWidth), kThreads, [&](int n) {
    const int r = n / int(kWidth);
    const Row row = RowOf(r);
    if (!row.inside) return;
    const float top = TopOf<int(kSplits)>(r, of_part);
    const float total = Combined<int(kSplits)>(r, kRows * int(kWidth + 1) + r, top, of_part);
    const float sum = Combined<int(kSplits)>(r, n, top, of_part);
    y[(example * kQueries + row.query) * (kKeyHeads * kGroup * kWidth) + (head * kGroup + row.head) * kWidth +
      n % kWidth] = E::store(total == 0.f ? 0.f : sum / total);
  });
  EndParts();
}
