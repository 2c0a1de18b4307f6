// y = x (w s)^T for few rows of x in 16 bits and a matrix w of 8 or 4 bits with a scale for each group of a
// row, on tensor cores. The time is that of reading w once. A warp takes 16 rows of w, and steps of 4 lanes
// times kEach numbers of k: lane 4 g + t has numbers of rows g and g + 8, and multiplies them with those of
// row g of x. The order of k within a step is that in which lanes hold it. Numbers become 16-bit floats
// exactly; sums are in f32, and a group's sum is scaled. kAlong warps share the elements of k of the same
// rows.
//
// Constants: E, Bf16 or F16, the element of x and y, and S, that of the scales; kIsBf16; kM, kN, kK, kGroups,
// the scales of a row; kBits, 8 or 4; kLaneBytes, of a lane in a step: 16 or 8; kAcross, kAlong, the
// warps of a block along n and along k. A group has whole steps.
typedef E::Storage Storage;
typedef S::Storage ScaleStorage;
constexpr int kWords = kLaneBytes / 4, kEach = kLaneBytes * 8 / kBits, kStep = 4 * kEach;
constexpr int kTiles = (kM + 7) / 8, kWarps = kAcross * kAlong, kThreads = 32 * kWarps;
constexpr idx kRowBytes = kK * kBits / 8, kGroup = kK / kGroups, kSteps = (kK + kStep - 1) / kStep;
constexpr idx kStepsOfGroup = kGroups == 1 ? kSteps : kGroup / kStep;

// Two 16-bit floats: the first in the low half.
__device__ __forceinline__ u32 PackPair(float low, float high) {
#if __CUDA_ARCH__ >= 800
  u32 pair;
  if (kIsBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
#else
  return u32(E::store(low)) | u32(E::store(high)) << 16;
#endif
}
__device__ __forceinline__ float HalfOf(u32 pair, int half) { return E::load(u16(pair >> (16 * half))); }

// Returns 2^23 + byte i of the word, as a float.
__device__ __forceinline__ float ByteOf(u32 word, int i) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bits) : "r"(word), "r"(0x4b000000u), "r"(0x7440 + i));
  return __uint_as_float(bits);
#else
  return __uint_as_float(0x4b000000u | (word >> (8 * i) & 255u));
#endif
}

// Makes pairs of four numbers of a word: numbers 0 and 2, and numbers 1 and 3. `high`: of 4 bits, those in
// the high bits of the bytes.
__device__ __forceinline__ void Widen(u32 word, bool high, u32 (&pairs)[2]) {
  if (kBits == 8) {
    const u32 shifted = word ^ 0x80808080u;
    const float excess = 8388608.f + 128.f;
    pairs[0] = PackPair(ByteOf(shifted, 0) - excess, ByteOf(shifted, 2) - excess);
    pairs[1] = PackPair(ByteOf(shifted, 1) - excess, ByteOf(shifted, 3) - excess);
    return;
  }
  const u32 nibbles = high ? word >> 4 : word;
#if __CUDA_ARCH__ >= 800
  // 128 + n has n in the lowest bits of a bf16, and 1024 + n in those of an f16.
  const u32 base = kIsBf16 ? 0x43004300u : 0x64006400u, one = kIsBf16 ? 0x3f803f80u : 0x3c003c00u;
  const u32 excess = kIsBf16 ? 0xc308c308u : 0xe408e408u;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const u32 sums = (nibbles >> (8 * i) & 0x000f000fu) | base;
    if (kIsBf16) {
      asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pairs[i]) : "r"(sums), "r"(one), "r"(excess));
    } else {
      asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(pairs[i]) : "r"(sums), "r"(one), "r"(excess));
    }
  }
#else
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const u32 two = nibbles >> (8 * i);
    pairs[i] = PackPair(float(two & 15u) - 8.f, float(two >> 16 & 15u) - 8.f);
  }
#endif
}

// Adds a [16, 16] times b [16, 8] to the sums [16, 8], of which lane 4 g + t has rows g and g + 8, columns 2
// t and 2 t + 1: a has pairs of k of rows g, g + 8, g, g + 8, and b those of column g; the last of both are 8
// further in k.
__device__ __forceinline__ void MultiplyTile(float (&sums)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if (kIsBf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  // GPUs without these instructions take the pairs from the lanes that have them.
  const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const int pair = k / 8, lane = k % 8 / 2;
    const float top = HalfOf(__shfl_sync(0xffffffffu, a[pair * 2], row * 4 + lane), k % 2);
    const float bottom = HalfOf(__shfl_sync(0xffffffffu, a[pair * 2 + 1], row * 4 + lane), k % 2);
    const float left = HalfOf(__shfl_sync(0xffffffffu, b[pair], column * 4 + lane), k % 2);
    const float right = HalfOf(__shfl_sync(0xffffffffu, b[pair], column * 4 + 4 + lane), k % 2);
    sums[0] += top * left;
    sums[1] += top * right;
    sums[2] += bottom * left;
    sums[3] += bottom * right;
  }
#endif
}

// The first of eight adjacent elements of k of a lane in a step. They belong to two words: the lane's numbers
// in the low bits, then those in the high bits.
__device__ __forceinline__ int FirstOf(int t, int eight) {
  if (kBits == 4 && kLaneBytes == 8) return t / 2 * 32 + t % 2 * 8 + eight * 16;
  return t * kEach + eight * 8;
}

// Eight elements of a row of x; zeros for rows and elements outside of x.
__device__ __forceinline__ Vec<Storage, 8> FetchX(const Storage* x, idx row, idx k, bool aligned) {
  if (row < kM && k < kK) return ReadPack<8>(x + row * idx(kK) + k, aligned);
  Vec<Storage, 8> zeros;
#pragma unroll
  for (int i = 0; i < 8; ++i) zeros.v[i] = 0;
  return zeros;
}
__device__ __forceinline__ u32 Join(Storage low, Storage high) { return u32(low) | u32(high) << 16; }

__device__ __forceinline__ Vec<u32, kWords> FetchWords(const u8* weights, idx row, idx at, bool aligned) {
  if (at < kRowBytes && aligned) return sn_load((const Vec<u32, kWords>*)(weights + row * kRowBytes + at));
  Vec<u32, kWords> words;
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    words.v[w] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at < kRowBytes) words.v[w] |= u32(sn_load(weights + row * kRowBytes + at + w * 4 + i)) << (8 * i);
    }
  }
  return words;
}

// Adds the products of one step to the sums of each tile of eight rows of x.
__device__ __forceinline__ void AddStep(const Vec<u32, kWords>& top, const Vec<u32, kWords>& bottom,
                                        const Storage* x, idx k, int lane, bool aligned,
                                        float (&sums)[kTiles][4]) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int eight = 0; eight < kEach / 8; ++eight) {
    const int word = eight % (kWords / 2) * 2;
    const bool high = eight >= kWords / 2;
    u32 a[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      u32 upper[2], lower[2];
      Widen(top.v[word + i], high, upper);
      Widen(bottom.v[word + i], high, lower);
      a[i][0] = upper[0], a[i][1] = lower[0], a[i][2] = upper[1], a[i][3] = lower[1];
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const Vec<Storage, 8> of_x = FetchX(x, tile * 8 + g, k + FirstOf(t, eight), aligned);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const u32 b[2] = {Join(of_x.v[4 * i], of_x.v[4 * i + 2]), Join(of_x.v[4 * i + 1], of_x.v[4 * i + 3])};
        MultiplyTile(sums[tile], a[i], b);
      }
    }
  }
}

// Adds the sums of the kAlong warps in order, and stores them.
__device__ __forceinline__ void StoreSums(const float (&sums)[kTiles][4], const ScaleStorage* scales,
                                          idx of_block, Storage* y) {
  // [kWarps, kTiles * 8, 16], with rows apart by one more than 16.
  __shared__ float partial[kWarps * kTiles * 8 * 17];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      partial[(warp * kTiles * 8 + tile * 8 + t * 2 + i % 2) * 17 + g + i / 2 * 8] = sums[tile][i];
    }
  }
  sn_barrier();
  for (int n = threadIdx.x; n < kAcross * 16 * kM; n += kThreads) {
    const int r = n % 16, across = n / 16 % kAcross, m = n / 16 / kAcross;
    float sum = 0.f;
    for (int w = 0; w < kAlong; ++w) sum += partial[((across * kAlong + w) * kTiles * 8 + m) * 17 + r];
    const idx row = of_block + across * 16 + r;
    if (row >= kN) continue;
    if (kGroups == 1) sum *= float(S::load(sn_load(scales + row)));
    y[m * idx(kN) + row] = E::store(sum);
  }
}

__device__ __forceinline__ void MultiplyQuantized(const Storage* x, const u8* weights,
                                                  const ScaleStorage* scales, Storage* y) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, along = warp % kAlong, across = warp / kAlong;
  const idx of_block = idx(blockIdx.x) * kAcross * 16, first = of_block + across * 16;
  const idx top = sn_imin<idx>(first + lane / 4, kN - 1), bottom = sn_imin<idx>(first + lane / 4 + 8, kN - 1);
  const bool aligned = IsPackAligned<kLaneBytes>(weights), x_aligned = IsPackAligned<8>(x);
  float sums[kTiles][4] = {};
  // Warps take groups in turn; of a single group, steps.
  constexpr idx kUnits = kGroups == 1 ? kSteps : kGroups, kStepsOfUnit = kGroups == 1 ? 1 : kStepsOfGroup;
#pragma unroll 4
  for (idx unit = along; unit < kUnits; unit += kAlong) {
    float parts[kTiles][4] = {};
#pragma unroll
    for (int s = 0; s < kStepsOfUnit; ++s) {
      const idx step = unit * kStepsOfUnit + s, at = (step * 4 + lane % 4) * kLaneBytes;
      const Vec<u32, kWords> upper = FetchWords(weights, top, at, aligned);
      const Vec<u32, kWords> lower = FetchWords(weights, bottom, at, aligned);
      if (kGroups == 1) {
        AddStep(upper, lower, x, step * kStep, lane, x_aligned, sums);
      } else {
        AddStep(upper, lower, x, step * kStep, lane, x_aligned, parts);
      }
    }
    if (kGroups == 1) continue;
    const float of_top = float(S::load(sn_load(scales + top * kGroups + unit)));
    const float of_bottom = float(S::load(sn_load(scales + bottom * kGroups + unit)));
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[tile][i] += parts[tile][i] * (i < 2 ? of_top : of_bottom);
    }
  }
  StoreSums(sums, scales, of_block, y);
}
