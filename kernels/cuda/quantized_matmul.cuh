// y = x (w s)^T for few rows of x and a matrix w of 8 or 4 bits with a scale for each group of a row. The
// time is that of reading w once. A warp takes kRows rows of w, 32 lanes times 16 numbers at a time; kAlong
// warps share the elements of k of the same rows. The rows of x lie in shared memory as f32, in the order in
// which lanes read them. Sums are in f32; their order follows from the sizes.
//
// Constants: E, the element of x and y, and S, that of the scales; kM, kN, kK, kGroups, the scales of a row;
// kBits, 8 or 4; kRows, kAcross, kAlong; kTiles, the steps of all kAlong warps for which x lies in shared
// memory at once.
typedef E::Storage Storage;
typedef S::Storage ScaleStorage;
constexpr int kEach = 16, kLaneBytes = kEach * kBits / 8, kStep = 32 * kEach, kTile = kAlong * kStep;
constexpr int kWarps = kAcross * kAlong, kThreads = 32 * kWarps, kChunk = kTiles * kTile;
constexpr idx kRowBytes = kK * kBits / 8, kGroup = kK / kGroups;
typedef Vec<u32, kLaneBytes / 4> Words;
// With few rows of x, scaling the sum of 16 products costs less than scaling the numbers.
constexpr bool kScalesSums = kGroups > 1 && kM <= 4;

// Returns the place of element e of a step: numbers 4 j to 4 j + 3 of all lanes are adjacent. In a block of
// 32 numbers of 4 bits, lane 0 has the low and the high bits of the first eight bytes, and lane 1 those of
// the others.
__device__ __forceinline__ int PlaceOf(int e) {
  const int lane = kBits == 8 ? e / kEach : e / 32 * 2 + e % 16 / 8;
  const int number = kBits == 8 ? e % kEach : e % 32 / 16 * 8 + e % 8;
  return number / 4 * 128 + lane * 4 + number % 4;
}

// Returns number i of a lane. 2^23 + n has n in its lowest bits; subtracting gives the number exactly.
__device__ __forceinline__ float NumberOf(const Words& words, int i) {
  if (kBits == 8) {
    const u32 word = words.v[i / 4] ^ 0x80808080u;
    return __uint_as_float(0x4b000000u | (word >> (8 * (i % 4)) & 255u)) - (8388608.f + 128.f);
  }
  const u32 word = words.v[i % 8 / 4] >> (4 * (i / 8));
  return __uint_as_float(0x4b000000u | (word >> (8 * (i % 4)) & 15u)) - (8388608.f + 8.f);
}

// Copies elements [k, k + kChunk) of the rows of x, and zeros behind their end.
__device__ __forceinline__ void FetchX(const Storage* x, idx k, float* shared) {
#pragma unroll 4
  for (int n = threadIdx.x; n < kM * kChunk; n += kThreads) {
    const int row = n / kChunk, e = n % kChunk;
    shared[row * kChunk + e / kStep * kStep + PlaceOf(e % kStep)] =
        k + e < kK ? float(E::load(sn_load(x + idx(row) * kK + k + e))) : 0.f;
  }
}

// Reads the lane's bytes of a step that begins at byte `at` of a row; zeros behind the end of the row.
__device__ __forceinline__ Words FetchWords(const u8* row, idx at, bool aligned) {
  if (at + kLaneBytes <= kRowBytes && aligned) return sn_load((const Words*)(row + at));
  Words words;
#pragma unroll
  for (int w = 0; w < kLaneBytes / 4; ++w) {
    words.v[w] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const idx byte = at + w * 4 + i;
      if (byte < kRowBytes) words.v[w] |= u32(sn_load(row + byte)) << (8 * i);
    }
  }
  return words;
}

// Adds the products of the lane's 16 numbers of each row with those of each row of x.
__device__ __forceinline__ void AddProducts(const Words (&packs)[kRows], const float (&scale)[kRows],
                                            const float* x, float (&sums)[kRows][kM]) {
#pragma unroll
  for (int j = 0; j < kEach; j += 4) {
    float numbers[kRows][4];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        numbers[r][i] = NumberOf(packs[r], j + i);
        if (kGroups > 1 && !kScalesSums) numbers[r][i] *= scale[r];
      }
    }
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      const Vec<float, 4> factors = *(const Vec<float, 4>*)(x + m * kChunk + j * 32);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[r][m] += factors.v[i] * numbers[r][i];
      }
    }
  }
}

// Adds the sums of the lanes, and those of the kAlong warps in order, and stores them.
__device__ __forceinline__ void StoreSums(float (&sums)[kRows][kM], const ScaleStorage* scales, idx first,
                                          int along, int across, Storage* y) {
  __shared__ float partial[kWarps * kRows * kM];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int mask = 16; mask > 0; mask /= 2) sums[r][m] += sn_shuffle_xor(sums[r][m], mask);
      if (lane == 0) partial[((across * kAlong + along) * kRows + r) * kM + m] = sums[r][m];
    }
  }
  sn_barrier();
  for (int n = threadIdx.x; n < kAcross * kRows * kM; n += kThreads) {
    const int m = n % kM, r = n / kM % kRows, a = n / kM / kRows;
    float sum = 0.f;
    for (int w = 0; w < kAlong; ++w) sum += partial[((a * kAlong + w) * kRows + r) * kM + m];
    const idx row = first + a * kRows + r;
    if (row >= kN) continue;
    if (kGroups == 1) sum *= float(S::load(sn_load(scales + row)));
    y[m * idx(kN) + row] = E::store(sum);
  }
}

__device__ __forceinline__ void MultiplyQuantized(const Storage* x, const u8* weights,
                                                  const ScaleStorage* scales, Storage* y) {
  __shared__ Vec<float, 4> shared[kM * kChunk / 4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, along = warp % kAlong, across = warp / kAlong;
  const idx of_block = idx(blockIdx.x) * kAcross * kRows, first = of_block + across * kRows;
  const bool aligned = kRowBytes % kLaneBytes == 0 && IsPackAligned<kLaneBytes>(weights);
  float sums[kRows][kM] = {};
  for (idx chunk = 0; chunk < kK; chunk += kChunk) {
    if (chunk > 0) sn_barrier();
    FetchX(x, chunk, shared[0].v);
    sn_barrier();
#pragma unroll 2
    for (int t = 0; t < kTiles; ++t) {
      const idx k = chunk + t * kTile + along * kStep;
      if (k >= kK) break;
      Words packs[kRows];
      float scale[kRows] = {};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const idx row = sn_imin<idx>(first + r, kN - 1);
        packs[r] = FetchWords(weights + row * kRowBytes, k * kBits / 8 + lane * kLaneBytes, aligned);
        if (kGroups > 1) {
          const idx element = k + (kBits == 8 ? lane * kEach : lane / 2 * 32);
          scale[r] = element < kK ? float(S::load(sn_load(scales + row * kGroups + element / kGroup))) : 0.f;
        }
      }
      const float* const at = shared[0].v + (t * kAlong + along) * kStep + lane * 4;
      if constexpr (kScalesSums) {
        float parts[kRows][kM] = {};
        AddProducts(packs, scale, at, parts);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
#pragma unroll
          for (int m = 0; m < kM; ++m) sums[r][m] += scale[r] * parts[r][m];
        }
      } else {
        AddProducts(packs, scale, at, sums);
      }
    }
  }
  StoreSums(sums, scales, of_block, along, across, y);
}
