// y = activation(op(a) op(b) + bias) in tf32, for matmuls with too few tiles to fill a GPU.
// k is cut into parts that separate blocks sum; the partial sums are then added in the order of the parts.
// The blocks of a cluster (cluster.cuh) read them from each other's shared memory. Parts that are too many
// for a cluster are added by a second kernel, SumSplits.
//
// A block computes kSide x kSide sums over kPartDepth of k; each of its four warps computes a quarter of them
// on tensor cores. While 32 elements of k are multiplied, the next 96 are copied to shared memory.
//
// Constants: kM, kN, kK; kTransposeA, kTransposeB, kHasBias, kRelu; kParts; kPartDepth, a multiple of 32;
// kSplits, of cluster.cuh: kParts, or 1 without a cluster.
constexpr int kSide = 32, kDepth = 32, kThreads = 128, kPack = 4, kStages = 4;
// Row pitches of a tile in shared memory, with rows along k or across k. Eight adjacent elements of one
// dimension and four of the other are in different banks.
constexpr int kPitchAlong = kDepth + 4, kPitchAcross = kSide + 8, kTileFloats = kDepth * kPitchAcross;
static_assert(kTileFloats >= kSide * kPitchAlong && kStages * 2 * kTileFloats * 4 <= 48 * 1024,
              "tiles of both orders fit");
constexpr int kTilesM = kSide / 32, kTilesN = kSide / 16;  // Tiles of a warp.
typedef float Sums[kTilesM][kTilesN][4];

// Starts an asynchronous copy of `bytes` bytes to shared memory, or of zeros if not `exists`. EndSending ends
// a group of copies. Arrived<n> waits until at most the n latest groups are pending.
template <int bytes>
__device__ __forceinline__ void Send(float* to, const float* from, bool exists) {
#if __CUDA_ARCH__ >= 800
  const u32 target = (u32)__cvta_generic_to_shared(to);
  const int read = exists ? bytes : 0;
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(from), "r"(read)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(target), "l"(from), "r"(read)
                 : "memory");
  }
#else
#pragma unroll
  for (int i = 0; i < bytes / 4; ++i) to[i] = exists ? from[i] : 0.f;
#endif
}
__device__ __forceinline__ void EndSending() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int later>
__device__ __forceinline__ void Arrived() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
#endif
}

// Starts to copy rows [row, row + kSide) of a, or columns of b, and [k, k + kDepth) of k. `k_runs`: adjacent
// elements in memory are adjacent in k.
template <bool k_runs>
__device__ __forceinline__ void SendTile(const float* from, int rows, int row, int k, int end, bool aligned,
                                         float* to) {
  const bool packs = aligned && (k_runs ? int(kK) : rows) % kPack == 0;
#pragma unroll
  for (int i = 0; i < kSide * kDepth / kPack / kThreads; ++i) {
    const int n = i * kThreads + threadIdx.x;
    const int r = k_runs ? n / (kDepth / kPack) : n % (kSide / kPack) * kPack;
    const int d = k_runs ? n % (kDepth / kPack) * kPack : n / (kSide / kPack);
    float* target = to + (k_runs ? r * kPitchAlong + d : d * kPitchAcross + r);
    const float* source = from + (k_runs ? idx(row + r) * kK + k + d : idx(k + d) * rows + row + r);
    if (packs) {
      const bool exists = row + r < rows && k + d < end;
      Send<16>(target, exists ? source : from, exists);
    } else {
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const bool exists = row + r + (k_runs ? 0 : j) < rows && k + d + (k_runs ? j : 0) < end;
        Send<4>(target + j, exists ? source + j : from, exists);
      }
    }
  }
}

template <bool k_runs>
__device__ __forceinline__ float TileElement(const float* tile, int row, int k) {
  return RoundToTf32(k_runs ? tile[row * kPitchAlong + k] : tile[k * kPitchAcross + row]);
}

// Multiplies one step of kDepth elements of k.
__device__ __forceinline__ void MultiplyStep(const float* a, const float* b, int row, int column,
                                             Sums& sums) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int k = t; k < t + kDepth; k += 8) {
    float left[kTilesM][4], right[kTilesN][2];
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        left[i][e] = TileElement<!kTransposeA>(a, row + i * 16 + e % 2 * 8, k + e / 2 * 4);
    }
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) right[j][e] = TileElement<kTransposeB>(b, column + j * 8, k + e * 4);
    }
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) MultiplyTiles(sums[i][j], left[i], right[j]);
    }
  }
}

__device__ __forceinline__ float Finish(float sum, const float* bias, int n) {
  if constexpr (kHasBias) sum += sn_load(bias + n);
  if constexpr (kRelu) sum = sum < 0 ? 0.f : sum;  // NaN stays NaN.
  return sum;
}

// The first row and column of a thread's sums in the tile.
__device__ __forceinline__ int FirstRow() { return threadIdx.x / 64 * (kSide / 2) + threadIdx.x % 32 / 4; }
__device__ __forceinline__ int FirstColumn() { return threadIdx.x / 32 % 2 * (kSide / 2); }

// Calls store(sum, its row, its column in the tile) for each of the thread's sums.
template <typename Store>
__device__ __forceinline__ void ForSums(const Sums& sums, const Store& store) {
#pragma unroll
  for (int e = 0; e < kTilesM * kTilesN * 4; ++e) {
    const int i = e / (kTilesN * 4), j = e / 4 % kTilesN, k = e % 4;
    store(sums[i][j][k], FirstRow() + i * 16 + k / 2 * 8,
          FirstColumn() + j * 8 + int(threadIdx.x) % 4 * 2 + k % 2);
  }
}

// Adds the products of one part of k. All threads have read `tiles` when it ends.
__device__ __forceinline__ void MultiplyPart(const float* a, const float* b, int first_row, int first_column,
                                             int part, float* tiles, Sums& sums) {
  const int begin = part * int(kPartDepth), end = sn_imin(begin + int(kPartDepth), int(kK));
  const bool a_aligned = IsPackAligned<kPack>(a), b_aligned = IsPackAligned<kPack>(b);
  auto tile_of = [&](int k) { return tiles + (k - begin) / kDepth % kStages * (2 * kTileFloats); };
  auto send = [&](int k) {
    if (k < end) {
      SendTile<!kTransposeA>(a, kM, first_row, k, end, a_aligned, tile_of(k));
      SendTile<kTransposeB>(b, kN, first_column, k, end, b_aligned, tile_of(k) + kTileFloats);
    }
    EndSending();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) send(begin + stage * kDepth);
  for (int k = begin; k < end; k += kDepth) {
    Arrived<kStages - 2>();
    sn_barrier();
    send(k + (kStages - 1) * kDepth);
    MultiplyStep(tile_of(k), tile_of(k) + kTileFloats, FirstRow(), FirstColumn() + threadIdx.x % 32 / 4,
                 sums);
  }
  sn_barrier();
}

// Adds the parts of the tile and writes it to y.
__device__ __forceinline__ void SumParts(const float* parts, const float* bias, int first_row,
                                         int first_column, float* y) {
  ForResults(kSide * kSide / kPack, kThreads, [&](int pack) {
    const int m = first_row + pack * kPack / kSide, n = first_column + pack * kPack % kSide;
    if (m >= kM || n >= kN) return;
    Vec<float, kPack> sum = {};
#pragma unroll
    for (int part = 0; part < kSummedParts; ++part) {
      const Vec<float, kPack> own = PackOf(parts, part, pack * kPack);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum.v[i] += own.v[i];
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      if (n + i < kN) y[idx(m) * kN + n + i] = Finish(sum.v[i], bias, n + i);
    }
  });
}

// Writes to y, or, if there are parts but no cluster, partial sums to [kParts][kM][kN].
__device__ __forceinline__ void MultiplySplit(const float* a, const float* b, const float* bias, float* y) {
  __shared__ Vec<float, 4> tiles[kStages * 2 * kTileFloats / 4];
  constexpr int row_tiles = (kM + kSide - 1) / kSide, column_tiles = (kN + kSide - 1) / kSide;
  const int tile = blockIdx.x / int(kSplits) % (row_tiles * column_tiles);
  const int first_row = tile / column_tiles * kSide, first_column = tile % column_tiles * kSide;
  Sums total = {};
  if constexpr (kSplits == 1) {
    const int part = blockIdx.x / (row_tiles * column_tiles);
    MultiplyPart(a, b, first_row, first_column, part, (float*)tiles, total);
    if constexpr (kParts > 1) y += idx(part) * (kM * kN);
    ForSums(total, [&](float sum, int row, int column) {
      const int m = first_row + row, n = first_column + column;
      if (m < kM && n < kN) y[idx(m) * kN + n] = kParts > 1 ? sum : Finish(sum, bias, n);
    });
  } else {
    // The sums take the place of the tiles.
    ForParts(
        [&](int part, float* parts) {
          Sums sums = {};
          sn_barrier();
          MultiplyPart(a, b, first_row, first_column, part, parts, sums);
#pragma unroll
          for (int e = 0; e < kTilesM * kTilesN * 4; ++e) (&total[0][0][0])[e] += (&sums[0][0][0])[e];
          ForSums(total, [&](float sum, int row, int column) { parts[row * kSide + column] = sum; });
        },
        (float*)tiles, 0);
    SumParts((const float*)tiles, bias, first_row, first_column, y);
    EndParts();
  }
}

__device__ __forceinline__ void SumSplits(const float* partials, const float* bias, float* y) {
  const idx e = idx(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= kM * kN) return;
  float sum = 0;
#pragma unroll
  for (int part = 0; part < kParts; ++part) sum += sn_load(partials + part * (kM * kN) + e);
  y[e] = Finish(sum, bias, int(e % kN));
}
