// y = activation(x op(w) + bias + addend) for few rows of x in 16 bits, on tensor cores. The time is that of
// reading w once, in accesses of 16 bytes of which many are under way. Before the kernel waits for its
// predecessor it asks for its part of w, which is then in L2: that reads nothing that the predecessor may
// still write. Rows of w are the rows of the tensor cores' first operand. Warps split k, and so do the blocks
// of a cluster (cluster.cuh); their sums are added in order, in f32.
//
// With rows of w along n, a warp takes 64 columns and 16 of k at a time: lane 4 g + t reads columns 8 g to
// 8 g + 7 of rows 4 t to 4 t + 3. With rows along k, it takes 16 rows and 32 of k: the lane reads elements
// 8 t to 8 t + 7 of rows g and g + 8. The order of k within a step is that in which lanes hold it.
//
// Constants: E, Bf16 or F16, the element of x and w, and R, that of y, bias and addend; kIsBf16; kM, kN, kK,
// of which kN and kK are multiples of 8; kTransposeB, kHasBias, kHasAddend; kActivation, as in activate.cuh;
// kAcross, kAlong, the warps of a block along n and along k; kSplits.
typedef E::Storage Storage;
typedef R::Storage Result;
constexpr int kTiles = (kM + 7) / 8, kWarps = kAcross * kAlong, kThreads = 32 * kWarps;
constexpr int kColumns = kTransposeB ? 16 : 64, kDepth = kTransposeB ? 32 : 16;  // A warp's step.
constexpr int kOfLane = kTransposeB ? 2 : 8;                                     // Columns of a lane.
constexpr int kPacks = kTransposeB ? 2 : 4;  // Accesses of a lane in a step.
constexpr int kAhead = kTiles > 2 ? 2 : 4;   // Steps whose accesses are under way.
constexpr int kBlockColumns = kAcross * kColumns;
constexpr int kRow = kColumns + 4;  // Floats of a row of sums in shared memory.
constexpr int kRows = kM < kTiles * 8 ? int(kM) : kTiles * 8;
constexpr int kValues = kRows * kBlockColumns;
constexpr int kSteps = int((kK + kDepth - 1) / kDepth), kStepsOfPart = (kSteps + kSplits - 1) / kSplits;
typedef Vec<u32, 4> Words;  // 8 elements.

// The low halves of two words, or their high halves.
__device__ __forceinline__ u32 LowHalves(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 800
  u32 both;
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(both) : "r"(a), "r"(b));
  return both;
#else
  return (a & 0xffffu) | b << 16;
#endif
}
__device__ __forceinline__ u32 HighHalves(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 800
  u32 both;
  asm("prmt.b32 %0, %1, %2, 0x7632;" : "=r"(both) : "r"(a), "r"(b));
  return both;
#else
  return a >> 16 | (b & 0xffff0000u);
#endif
}

// Computes sums += a b for a [16, 16] and b [16, 8].
__device__ __forceinline__ void MultiplyTile(float (&sums)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if (kIsBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const int half = k % 2, lane = k % 8 / 2, later = k / 8;
    auto of = [&](u32 pair) { return float(E::load(u16(pair >> (16 * half)))); };
    const float top = of(__shfl_sync(0xffffffffu, a[2 * later], row * 4 + lane));
    const float bottom = of(__shfl_sync(0xffffffffu, a[2 * later + 1], row * 4 + lane));
    const float left = of(__shfl_sync(0xffffffffu, b[later], column * 4 + lane));
    const float right = of(__shfl_sync(0xffffffffu, b[later], column * 4 + 4 + lane));
    sums[0] += top * left;
    sums[1] += top * right;
    sums[2] += bottom * left;
    sums[3] += bottom * right;
  }
#endif
}

// Asks for the block's part of w.
__device__ __forceinline__ void PrefetchWeights(const Storage* w, const Result* bias) {
  const idx column = idx(blockIdx.x / kSplits) * kBlockColumns;
  const int begin = PartOfBlock() * kStepsOfPart * kDepth;
  const int end = sn_imin<int>(begin + kStepsOfPart * kDepth, int(kK));
  constexpr int kLine = 64;  // Elements of a line of memory.
  if (kHasBias && threadIdx.x < kAcross && column + threadIdx.x * kColumns < kN) {
    sn_prefetch(bias + column + threadIdx.x * kColumns);
  }
  if (kTransposeB) {
    const int lines = (end - begin + kLine - 1) / kLine;
    for (int n = threadIdx.x; n < lines * kBlockColumns; n += kThreads) {
      const idx row = column + n / lines;
      if (row < kN) sn_prefetch(w + row * kK + begin + n % lines * kLine);
    }
  } else {
    for (int n = threadIdx.x; n < (end - begin) * kAcross; n += kThreads) {
      const idx at = column + n % kAcross * kLine;
      if (at < kN) sn_prefetch(w + idx(begin + n / kAcross) * kN + at);
    }
  }
}

// Reads what a lane has of a step; zeros beyond the end. Elements of 8 are whole: kN and kK are multiples.
__device__ __forceinline__ void FetchStep(const Storage* w, idx column, int step, int end, int lane,
                                          Words (&words)[kPacks]) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const idx k = idx(step) * kDepth + (kTransposeB ? t * 8 : t * 4 + i);
    const idx n = column + (kTransposeB ? g + 8 * i : g * 8);
    words[i] = ReadOnce(kTransposeB ? w + n * kK + k : w + k * kN + n, step < end && k < kK && n < kN);
  }
}

// Reads a lane's elements of x of a step, kPairs words for each tile of rows; zeros beyond the end.
constexpr int kPairs = kTransposeB ? 4 : 2;
__device__ __forceinline__ void FetchRows(const Storage* x, int step, int end, int lane,
                                          u32 (&words)[kTiles][kPairs]) {
  const idx k = idx(step) * kDepth + lane % 4 * (kTransposeB ? 8 : 4);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const idx row = tile * 8 + lane / 4;
    const bool inside = row < kM && step < end && k < kK;
#pragma unroll
    for (int i = 0; i < kPairs; i += 2) {
      const Vec<u32, 2> pair = ReadPair(x + row * kK + k + 2 * i, inside);
      words[tile][i] = pair.v[0], words[tile][i + 1] = pair.v[1];
    }
  }
}

// Adds the products of a step. sums[tile][j]: of rows with rows along n, columns 2 j and 2 j + 1 of the lane.
constexpr int kMmas = kTransposeB ? 1 : 4;
__device__ __forceinline__ void AddStep(const Words (&words)[kPacks], const u32 (&of_x)[kTiles][kPairs],
                                        float (&sums)[kTiles][kMmas][4]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    if constexpr (kTransposeB) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const u32 a[4] = {words[0].v[2 * i], words[1].v[2 * i], words[0].v[2 * i + 1], words[1].v[2 * i + 1]};
        const u32 b[2] = {of_x[tile][2 * i], of_x[tile][2 * i + 1]};
        MultiplyTile(sums[tile][0], a, b);
      }
    } else {
      const u32 b[2] = {of_x[tile][0], of_x[tile][1]};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const u32 a[4] = {LowHalves(words[0].v[j], words[1].v[j]), HighHalves(words[0].v[j], words[1].v[j]),
                          LowHalves(words[2].v[j], words[3].v[j]), HighHalves(words[2].v[j], words[3].v[j])};
        MultiplyTile(sums[tile][j], a, b);
      }
    }
  }
}

// Writes a warp's sums to [kM, kRow] floats of shared memory.
__device__ __forceinline__ void StoreWarp(const float (&sums)[kTiles][kMmas][4], int lane, float* shared) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = tile * 8 + 2 * t + i;
      if (row >= kM) continue;
      if constexpr (kTransposeB) {
        shared[row * kRow + g] = sums[tile][0][i];
        shared[row * kRow + g + 8] = sums[tile][0][i + 2];
      } else {
        Vec<float, 4>* const to = (Vec<float, 4>*)(shared + row * kRow + g * 8);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          Vec<float, 4> four;
#pragma unroll
          for (int j = 0; j < 4; ++j) four.v[j] = sums[tile][half * 2 + j / 2][i + j % 2 * 2];
          to[half] = four;
        }
      }
    }
  }
}

// Computes the block's sums of one part of k, [kRows, kBlockColumns].
__device__ __forceinline__ void SumPart(const Storage* x, const Storage* w, int part, Vec<float, 4>* shared,
                                        float* result) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, along = warp % kAlong, across = warp / kAlong;
  const idx column = idx(blockIdx.x / kSplits) * kBlockColumns + across * kColumns;
  const int end = sn_imin<int>((part + 1) * kStepsOfPart, kSteps);
  float sums[kTiles][kMmas][4] = {};
#pragma unroll 1
  for (int first = part * kStepsOfPart + along; first < end; first += kAlong * kAhead) {
    Words words[kAhead][kPacks];
    u32 of_x[kAhead][kTiles][kPairs];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) FetchStep(w, column, first + i * kAlong, end, lane, words[i]);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) FetchRows(x, first + i * kAlong, end, lane, of_x[i]);
    if (AfterReads()) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) AddStep(words[i], of_x[i], sums);
    }
  }
  float* const floats = shared[0].v;
  StoreWarp(sums, lane, floats + warp * kRows * kRow);
  sn_barrier();
  for (int n = threadIdx.x; n < kValues; n += kThreads) {
    const int row = n / kBlockColumns, c = n % kBlockColumns;
    const float* const from = floats + (c / kColumns * kAlong * kRows + row) * kRow + c % kColumns;
    float sum = from[0];
#pragma unroll
    for (int i = 1; i < kAlong; ++i) sum += from[i * kRows * kRow];
    result[n] = kSummedParts == 1 && part > 0 ? result[n] + sum : sum;
  }
}

__device__ __forceinline__ void MultiplyFewRows(const Storage* x, const Storage* w, const Result* bias,
                                                const Result* addend, Result* y) {
  __shared__ Vec<float, 4> shared[kWarps * kRows * kRow / 4];
  __shared__ float parts[kValues];
  const idx first = idx(blockIdx.x / kSplits) * kBlockColumns;
  ForParts(
      [&](int part, float* own) {
        if (kHeldParts > 1) sn_barrier();
        SumPart(x, w, part, shared, own);
      },
      parts, /*values=*/0);
  ForResults(kValues, kThreads, [&](int n) {
    const idx row = n / kBlockColumns, column = first + n % kBlockColumns;
    if (column >= kN) return;
    float sum = PartOf(parts, 0, 0, n);
#pragma unroll
    for (int part = 1; part < kSummedParts; ++part) sum += PartOf(parts, 0, part, n);
    if (kHasBias) sum += float(R::load(sn_load(bias + column)));
    if (kHasAddend) sum += float(R::load(addend[row * kN + column]));
    y[row * kN + column] = R::store(Activate(sum));
  });
  EndParts();
}
