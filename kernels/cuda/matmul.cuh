// y = activation(op(a) op(b) + bias), for the matmuls that cuBLASLt does not support.
// A block computes 64 x 64 elements and a thread 4 x 4 of them, with 16 elements of k at a time in shared
// memory. Sums follow the order of k; integers wrap.
//
// Constants: E, the element of a and b, and R, that of the bias and the result; kM, kN, kK; kTransposeA,
// kTransposeB, kHasBias; kActivation, as in activate.cuh.
typedef E::Storage Storage;
typedef R::Storage Result;
typedef E::Compute Compute;
constexpr int kSide = 64, kDepth = 16, kEach = 4, kThreads = 256;
// Row pitch of the tiles, in elements. The extra column puts adjacent k in different banks.
constexpr int kPitch = kSide + 1;

// Copies the tile's [kDepth, kSide] elements of a matrix, whose rows are those of y (for a) or its columns
// (for b). Elements outside the matrix are 0. `k_runs`: adjacent elements in memory are adjacent in k, so
// threads are distributed along k.
template <bool k_runs>
__device__ __forceinline__ void Fetch(const Storage* from, idx rows, idx row, idx k,
                                      Compute (&tile)[kDepth][kPitch]) {
#pragma unroll
  for (int i = 0; i < kSide * kDepth / kThreads; ++i) {
    const int n = i * kThreads + threadIdx.x;
    const int r = k_runs ? n / kDepth : n % kSide, d = k_runs ? n % kDepth : n / kSide;
    const bool inside = row + r < rows && k + d < kK;
    const idx at = k_runs ? (row + r) * kK + k + d : (k + d) * rows + row + r;
    tile[d][r] = inside ? E::load(sn_load(from + at)) : Compute(0);
  }
}

// Writes y. Reads a once for each 64 columns of y and b once for each 64 rows of y, mostly from caches.
__device__ __forceinline__ void Matmul(const Storage* a, const Storage* b, const Result* bias, Result* y) {
  __shared__ Compute rows[kDepth][kPitch], columns[kDepth][kPitch];
  constexpr uidx row_tiles = (kM + kSide - 1) / kSide, column_tiles = (kN + kSide - 1) / kSide;
  const uidx tile = blockIdx.x;
  const idx column = idx(tile % column_tiles) * kSide, row = idx(tile / column_tiles % row_tiles) * kSide;
  const idx batch = idx(tile / column_tiles / row_tiles);
  const int right = threadIdx.x % 16, down = threadIdx.x / 16;
  Compute sums[kEach][kEach] = {};
  for (idx k = 0; k < kK; k += kDepth) {
    Fetch<!kTransposeA>(a + batch * (kM * kK), kM, row, k, rows);
    Fetch<kTransposeB>(b + batch * (kN * kK), kN, column, k, columns);
    sn_barrier();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      Compute left[kEach], top[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) left[i] = rows[d][down + i * 16], top[i] = columns[d][right + i * 16];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sums[i][j] += left[i] * top[j];
      }
    }
    sn_barrier();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const idx m = row + down + i * 16, n = column + right + j * 16;
      if (m >= kM || n >= kN) continue;
      const Compute sum = kHasBias ? sums[i][j] + R::load(sn_load(bias + n)) : sums[i][j];
      y[(batch * kM + m) * kN + n] = R::store(Activate(sum));
    }
  }
}
