// y = activation(a op(b) + bias) in f32, for matmuls of so few rows that only latency counts, as in a
// recurrent layer's trip. Threads split k, so that a sum has many short parts: with the rows of b along n,
// each of kWarps warps takes 32 of the block's chunk of k for 32 columns, and the warps' sums are then added
// in order; with the rows of b along k, a warp takes one column, and its lanes' sums are added by shuffles.
// The order of a sum follows from the shape alone.
//
// Constants: kM, kN, kK; kTransposeB, kHasBias; kActivation, as in activate.cuh; kRows, the rows of a block,
// 1 to 16; kWarps.
constexpr int kLanes = 32, kThreads = kWarps * kLanes;
constexpr int kChunk = kTransposeB ? 512 : kThreads;  // Elements of k at a time.

__device__ __forceinline__ void Store(float sum, const float* bias, float* y, idx row, idx column) {
  if (row >= kM || column >= kN) return;
  if (kHasBias) sum += sn_load(bias + column);
  y[row * kN + column] = Activate(sum);
}

// Copies the block's rows of [k, k + kChunk) of a, and zeros behind its end.
__device__ __forceinline__ void FetchRows(const float* a, idx row, idx k, float* rows) {
#pragma unroll
  for (int i = 0; i < kRows * kChunk / kThreads; ++i) {
    const int n = i * kThreads + threadIdx.x, r = n / kChunk, d = n % kChunk;
    rows[n] = row + r < kM && k + d < kK ? sn_load(a + (row + r) * kK + k + d) : 0.f;
  }
}

// Rows of b along n.
__device__ __forceinline__ void MultiplyAcross(const float* a, const float* b, const float* bias, float* y) {
  // The rows of a, then the sums of all warps: [kWarps, kRows, kLanes].
  __shared__ Vec<float, 4> packs[kRows * kChunk / 4];
  float* const shared = packs[0].v;
  constexpr uidx tiles = (kN + kLanes - 1) / kLanes;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const idx column = idx(blockIdx.x % tiles) * kLanes + lane, row = idx(blockIdx.x / tiles) * kRows;
  float sums[kRows] = {};
  for (idx k = 0; k < kK; k += kChunk) {
    const idx first = k + warp * kLanes;
    float factors[kLanes];
#pragma unroll
    for (int d = 0; d < kLanes; ++d) {
      factors[d] = column < kN && first + d < kK ? sn_load(b + (first + d) * kN + column) : 0.f;
    }
    FetchRows(a, row, k, shared);
    sn_barrier();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int d = 0; d < kLanes; d += 4) {
        const Vec<float, 4> four = packs[(r * kChunk + d) / 4 + warp * (kLanes / 4)];
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[r] += four.v[i] * factors[d + i];
      }
    }
    sn_barrier();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) shared[(warp * kRows + r) * kLanes + lane] = sums[r];
  sn_barrier();
  for (int n = threadIdx.x; n < kRows * kLanes; n += kThreads) {
    float sum = shared[n];
    for (int w = 1; w < kWarps; ++w) sum += shared[w * kRows * kLanes + n];
    Store(sum, bias, y, row + n / kLanes, idx(blockIdx.x % tiles) * kLanes + n % kLanes);
  }
}

// Rows of b along k.
__device__ __forceinline__ void MultiplyAlong(const float* a, const float* b, const float* bias, float* y) {
  __shared__ float rows[kRows * kChunk];
  constexpr uidx tiles = (kN + kWarps - 1) / kWarps;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const idx column = idx(blockIdx.x % tiles) * kWarps + warp, row = idx(blockIdx.x / tiles) * kRows;
  float sums[kRows] = {};
  for (idx k = 0; k < kK; k += kChunk) {
    FetchRows(a, row, k, rows);
    constexpr int kParts = kChunk / kLanes;
    float factors[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const idx at = k + i * kLanes + lane;
      factors[i] = column < kN && at < kK ? sn_load(b + column * kK + at) : 0.f;
    }
    sn_barrier();
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (k + i * kLanes >= kK) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] += rows[r * kChunk + i * kLanes + lane] * factors[i];
    }
    sn_barrier();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) sums[r] += sn_shuffle_xor(sums[r], mask);
    if (lane == r) Store(sums[r], bias, y, row + r, column);
  }
}

__device__ __forceinline__ void MultiplyFewRows(const float* a, const float* b, const float* bias, float* y) {
  if constexpr (kTransposeB) {
    MultiplyAlong(a, b, bias, y);
  } else {
    MultiplyAcross(a, b, bias, y);
  }
}
