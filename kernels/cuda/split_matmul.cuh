// y = activation(op(a) op(b) + bias) in tf32, for matmuls with too few tiles to fill a GPU.
// k is split: separate blocks sum the parts of k in order, and the partial sums are then added in order.
//
// A block computes 64 x 64 sums over kSplitDepth of k. Each of its four warps computes 32 x 32 of them on
// tensor cores. While 32 elements of k are multiplied, the next 32 are copied to shared memory.
//
// Constants: kM, kN, kK; kTransposeA, kTransposeB, kHasBias, kRelu; kSplits, kSplitDepth, a multiple of 32.
constexpr int kSide = 64, kDepth = 32, kThreads = 128, kPack = 4;
// Row pitches of a tile in shared memory, with rows along k or across k. Eight adjacent elements of one
// dimension and four of the other are in different banks.
constexpr int kPitchAlong = kDepth + 4, kPitchAcross = kSide + 8, kTileFloats = kSide * kPitchAlong;
static_assert(kTileFloats == kDepth * kPitchAcross, "both orders take as much room");

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
                                             float (&sums)[2][4][4]) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int k = t; k < t + kDepth; k += 8) {
    float left[2][4], right[4][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        left[i][e] = TileElement<!kTransposeA>(a, row + i * 16 + e % 2 * 8, k + e / 2 * 4);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) right[j][e] = TileElement<kTransposeB>(b, column + j * 8, k + e * 4);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) MultiplyTiles(sums[i][j], left[i], right[j]);
    }
  }
}

__device__ __forceinline__ float Finish(float sum, const float* bias, int n) {
  if constexpr (kHasBias) sum += sn_load(bias + n);
  if constexpr (kRelu) sum = sum < 0 ? 0.f : sum;  // NaN stays NaN.
  return sum;
}

// Writes to y. With several splits, writes partial sums to [kSplits][kM][kN].
__device__ __forceinline__ void MultiplySplit(const float* a, const float* b, const float* bias, float* y) {
  __shared__ Vec<float, 4> shared[2][2][kTileFloats / 4];
  constexpr int row_tiles = (kM + kSide - 1) / kSide, column_tiles = (kN + kSide - 1) / kSide;
  const int block = blockIdx.x, split = block / (row_tiles * column_tiles);
  const int first_row = block / column_tiles % row_tiles * kSide, first_column = block % column_tiles * kSide;
  const int begin = split * int(kSplitDepth), end = sn_imin(begin + int(kSplitDepth), int(kK));
  const bool a_aligned = IsPackAligned<kPack>(a), b_aligned = IsPackAligned<kPack>(b);
  auto send = [&](int k) {
    float* to = (float*)shared[(k - begin) / kDepth % 2];
    SendTile<!kTransposeA>(a, kM, first_row, k, end, a_aligned, to);
    SendTile<kTransposeB>(b, kN, first_column, k, end, b_aligned, to + kTileFloats);
  };
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4;
  const int row = warp / 2 * 32 + group, column = warp % 2 * 32 + group;
  float sums[2][4][4] = {};
  send(begin);
  EndSending();
  for (int k = begin; k < end; k += kDepth) {
    if (k + kDepth < end) send(k + kDepth);
    EndSending();
    Arrived<1>();
    sn_barrier();
    const float* tile = (const float*)shared[(k - begin) / kDepth % 2];
    MultiplyStep(tile, tile + kTileFloats, row, column, sums);
    sn_barrier();
  }
  if constexpr (kSplits > 1) y += idx(split) * (kM * kN);
#pragma unroll
  for (int e = 0; e < 32; ++e) {
    const int i = e / 16, j = e / 4 % 4, k = e % 4;
    const int m = first_row + row + i * 16 + k / 2 * 8;
    const int n = first_column + warp % 2 * 32 + j * 8 + threadIdx.x % 4 * 2 + k % 2;
    if (m < kM && n < kN) y[idx(m) * kN + n] = kSplits > 1 ? sums[i][j][k] : Finish(sums[i][j][k], bias, n);
  }
}

__device__ __forceinline__ void SumSplits(const float* partials, const float* bias, float* y) {
  const idx e = idx(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= kM * kN) return;
  float sum = 0;
#pragma unroll
  for (int split = 0; split < kSplits; ++split) sum += sn_load(partials + split * (kM * kN) + e);
  y[e] = Finish(sum, bias, int(e % kN));
}
