// y = activation(x * w + bias) for small convolutions in either layout, by tf32 tensor cores, from memory.
// Images are f32, or bf16 or f16, whose elements and their products are exact in tf32 and f32.
// One matmul: its rows are the pixels of all images, its columns the channels of y, its terms the taps of all
// channels. Blocks are many even if images are few and small, because nothing is shared but the sums.
//
// A block computes kWarpsM * kTilesM * 16 pixels in kTilesN * 8 channels. kWarpsK warps share a tile: each
// sums every kWarpsK-th run of terms, and the first adds the sums of the others in order. Terms are in the
// order of memory: channels of a tap in nhwc, taps of a channel in nchw.
//
// Constants besides those of conv_image.cuh: E, the type of all operands; kBatch, kChannels, kOut, kOutH;
// kLast, true for nhwc; kWarpsM, kWarpsK, kTilesM, kTilesN; kHasBias, kRelu.
typedef E::Storage Storage;
constexpr int kPixels = kOutH * kOutW, kTerms = kChannels * kTaps, kSteps = (kTerms + 7) / 8;
constexpr idx kRows = idx(kBatch) * kPixels;
constexpr int kColumnBlocks = (kOut + kTilesN * 8 - 1) / (kTilesN * 8);
// Adjacent terms that a thread reads at once: in nhwc, channels of one tap. With four, a thread has two terms
// of one step and two of the next.
constexpr int kWide = !kLast || kChannels % 2 != 0 ? 1 : kChannels % 4 != 0 ? 2 : 4;
constexpr int kOwn = kWide == 4 ? 4 : 2;
// Steps of eight terms whose loads are started together.
constexpr int kLoads = 4 * kTilesM + 2 * kTilesN, kTogether = kLoads <= 6 ? 6 : kLoads <= 12 ? 4 : 2;
static_assert(kThreads == kWarpsM * kWarpsK * 32, "the warps of a block");

// One pixel of y: its window's first element, which may lie in the padding.
struct Window {
  idx from;
  int top, left;
};
__device__ __forceinline__ Window WindowOf(idx row) {
  const int pixel = int(row % kPixels);
  const int top = pixel / kOutW * kStrideH - kPadTop, left = pixel % kOutW * kStrideW - kPadLeft;
  return {row / kPixels * (kChannels * kPlane) + idx(top * kWidth + left) * (kLast ? kChannels : 1), top,
          left};
}

// One tap of one channel: its distances from a window's first element and in the weights of a channel of y.
struct Term {
  int down, right, image, weight;
  bool exists;
  __device__ __forceinline__ explicit Term(int k) {
    const int c = kLast ? k % kChannels : k / kTaps, tap = kLast ? k / kChannels : k % kTaps;
    down = tap / kKernelW * kDilationH, right = tap % kKernelW * kDilationW;
    image = (down * kWidth + right) * (kLast ? kChannels : 1) + (kLast ? c : c * kPlane);
    weight = c * kTaps + tap;
    exists = k < kTerms;
  }
};

// f32 is rounded to tf32.
__device__ __forceinline__ float AsTerm(float x) { return sizeof(Storage) == 4 ? RoundToTf32(x) : x; }

// Loads kWide adjacent terms of a pixel, which are 0 in the padding. Every load is unconditional, so that
// many are in flight.
template <bool aligned>
__device__ __forceinline__ void LoadTerms(const Storage* x, const Window& at, const Term& term,
                                          float (&terms)[kWide]) {
  const bool inside =
      !kIsPadded || ((u32)(at.top + term.down) < (u32)kHeight && (u32)(at.left + term.right) < (u32)kWidth);
  const bool counts = term.exists && inside;
  const Vec<Storage, kWide> pack = ReadPack<kWide>(x + (counts ? at.from + term.image : 0), aligned);
#pragma unroll
  for (int e = 0; e < kWide; ++e) terms[e] = counts ? E::load(pack.v[e]) : 0.f;
}

// Adds the terms of kTogether steps from `first` on.
template <bool aligned>
__device__ __forceinline__ void AddSteps(const Storage* x, const Storage* const (&weights)[kTilesN],
                                         const Window* windows, int first,
                                         float (&sums)[kTilesM][kTilesN][4]) {
  float a[kTogether][kTilesM][4], b[kTogether][kTilesN][2];
#pragma unroll
  for (int s = 0; s < kTogether; s += kOwn / 2) {
    const int own = (first + s) * 8 + threadIdx.x % 4 * kOwn;
#pragma unroll
    for (int k = 0; k < kOwn; k += kWide) {
      const Term term(own + k);
#pragma unroll
      for (int i = 0; i < kTilesM * 2; ++i) {
        float terms[kWide];
        LoadTerms<aligned>(x, windows[i], term, terms);
#pragma unroll
        for (int e = 0; e < kWide; ++e) a[s + (k + e) / 2][i / 2][(k + e) % 2 * 2 + i % 2] = terms[e];
      }
#pragma unroll
      for (int e = 0; e < kWide; ++e) {
        const int weight = term.exists ? term.weight + e * kTaps : 0;
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) {
          const float value = E::load(sn_load(weights[j] + weight));
          b[s + (k + e) / 2][j][(k + e) % 2] = term.exists ? value : 0.f;
        }
      }
    }
  }
#pragma unroll
  for (int s = 0; s < kTogether; ++s) {
#pragma unroll
    for (int e = 0; e < kTilesM * 4; ++e) a[s][e / 4][e % 4] = AsTerm(a[s][e / 4][e % 4]);
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) {
      b[s][j][0] = AsTerm(b[s][j][0]), b[s][j][1] = AsTerm(b[s][j][1]);
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) MultiplyTiles(sums[i][j], a[s][i], b[s][j]);
    }
  }
}

__device__ __forceinline__ void StoreSum(float sum, idx row, int channel, const Storage* bias, Storage* y) {
  if (row >= kRows || channel >= kOut) return;
  if constexpr (kHasBias) sum += E::load(sn_load(bias + channel));
  if constexpr (kRelu) sum = sum < 0 ? 0.f : sum;  // NaN stays NaN.
  if constexpr (kLast) {
    y[row * kOut + channel] = E::store(sum);
  } else {
    y[(row / kPixels * kOut + channel) * kPixels + row % kPixels] = E::store(sum);
  }
}

__device__ __forceinline__ void ConvolveDirectly(const Storage* x, const Storage* w, const Storage* bias,
                                                 Storage* y) {
  constexpr int kSums = kTilesM * kTilesN * 4, kTiles = kWarpsM * 32;
  __shared__ float parts[kWarpsK > 1 ? (kWarpsK - 1) * kSums * kTiles : 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp / kWarpsM;
  const int own = warp % kWarpsM * 32 + lane;
  const idx first_row =
      (idx(blockIdx.x) / kColumnBlocks * kWarpsM + warp % kWarpsM) * (kTilesM * 16) + lane / 4;
  const int first_channel = int(blockIdx.x) % kColumnBlocks * (kTilesN * 8);
  // Tiles beyond the edge repeat the last pixel or channel.
  const Storage* weights[kTilesN];
#pragma unroll
  for (int j = 0; j < kTilesN; ++j)
    weights[j] = w + sn_imin(first_channel + j * 8 + lane / 4, int(kOut) - 1) * kTerms;
  Window windows[kTilesM * 2];
#pragma unroll
  for (int i = 0; i < kTilesM * 2; ++i) windows[i] = WindowOf(sn_imin(first_row + i * 8, kRows - 1));
  float sums[kTilesM][kTilesN][4] = {};
  if (IsPackAligned<kWide>(x)) {
    for (int s = part * kTogether; s < kSteps; s += kWarpsK * kTogether)
      AddSteps<true>(x, weights, windows, s, sums);
  } else {
    for (int s = part * kTogether; s < kSteps; s += kWarpsK * kTogether)
      AddSteps<false>(x, weights, windows, s, sums);
  }
  if constexpr (kWarpsK > 1) {
    if (part > 0) {
#pragma unroll
      for (int e = 0; e < kSums; ++e)
        parts[((part - 1) * kSums + e) * kTiles + own] = sums[e / 4 / kTilesN][e / 4 % kTilesN][e % 4];
    }
    sn_barrier();
    if (part > 0) return;
#pragma unroll
    for (int e = 0; e < kSums; ++e) {
#pragma unroll
      for (int p = 0; p < kWarpsK - 1; ++p)
        sums[e / 4 / kTilesN][e / 4 % kTilesN][e % 4] += parts[(p * kSums + e) * kTiles + own];
    }
  }
#pragma unroll
  for (int e = 0; e < kSums; ++e)
    StoreSum(sums[e / 4 / kTilesN][e / 4 % kTilesN][e % 4], first_row + e / 4 / kTilesN * 16 + e % 4 / 2 * 8,
             first_channel + e / 4 % kTilesN * 8 + lane % 4 * 2 + e % 2, bias, y);
}
