// The gradient of a convolution's images by columns: a matmul, then sums over taps.
// The matmul computes the columns: the contribution of every pixel of g to every tap of its window. Then each
// pixel of the image sums its contributions in the order of the taps.
//
// A block computes kGroup channels of one image: [kGroup * kTaps] by [kPixels] columns, from tiles [16, 8] of
// weights and [8, 8] of g. g is in shared memory, kChunk channels at a time, with two channels interleaved.
// Weights are read from global memory, because only one or a few warps use each of them. The columns
// overwrite g. A thread sums one row of an image's channel.
//
// Constants besides those of conv_image.cuh: kChannels of the images, kOut and kOutH of g; kGroup; kChunk, a
// multiple of 8; kPitch, of columns; kPairPitch, of pairs of g; kWarpsM, kWarpsN, kTilesM, kTilesN.
constexpr int kPixels = kOutH * kOutW, kGroups = (kChannels + kGroup - 1) / kGroup,
              kGroupRows = kGroup * kTaps, kColumns = kWarpsN * kTilesN * 8;
constexpr int kSharedFloats = kGroupRows * kPitch > (kChunk / 2 - 1) * 2 * kPairPitch + 2 * kColumns
                                  ? kGroupRows* kPitch
                                  : (kChunk / 2 - 1) * 2 * kPairPitch + 2 * kColumns;
static_assert(kPitch % 16 == 8 && kPitch >= kPixels, "two of eight taps lie in different banks");
static_assert(kPairPitch % 8 == 4 && kPairPitch >= kPixels,
              "four pixels of four pairs lie in different banks");
static_assert(kWarpsM * kTilesM * 16 >= kGroupRows && kColumns >= kPixels, "a block has all sums");

// Copies channels [first, first + channels) of g, padded with zeros to a multiple of eight. A warp copies two
// channels at a time.
__device__ __forceinline__ void FetchGradients(const float* g, int first, int channels, Vec<float, 2>* to) {
  constexpr int kWarps = kThreads / 32, kReads = (kPixels + 31) / 32,
                kMostPairs = (kChunk / 2 + kWarps - 1) / kWarps,
                kAtOnce = kMostPairs * kReads <= 24 ? kMostPairs
                          : kReads < 24             ? 24 / kReads
                                                    : 1;
  const int pairs = (channels + 7) / 8 * 4, lane = threadIdx.x % 32;
  for (int pair = threadIdx.x / 32; pair < pairs; pair += kWarps * kAtOnce) {
    Vec<float, 2> packs[kAtOnce][kReads];
#pragma unroll
    for (int e = 0; e < kAtOnce * kReads; ++e) {
      const int c = (pair + e / kReads * kWarps) * 2, pixel = e % kReads * 32 + lane;
      const float* from = g + (first + c) * kPixels + pixel;
      packs[e / kReads][e % kReads].v[0] = c < channels && pixel < kPixels ? sn_load(from) : 0.f;
      packs[e / kReads][e % kReads].v[1] =
          c + 1 < channels && pixel < kPixels ? sn_load(from + kPixels) : 0.f;
    }
#pragma unroll
    for (int e = 0; e < kAtOnce * kReads; ++e) {
      const int c = pair + e / kReads * kWarps, pixel = e % kReads * 32 + lane;
      const Vec<float, 2> pack = packs[e / kReads][e % kReads];
      if (c < pairs && pixel < kPixels)
        to[c * kPairPitch + pixel] = {RoundToTf32(pack.v[0]), RoundToTf32(pack.v[1])};
    }
  }
}

// Loads the tile of weights that starts at channel `k` of g. Rows beyond the edge are not used; channels
// beyond the edge are zero.
__device__ __forceinline__ void LoadWeights(const float* w, const int (&rows)[kTilesM][2], int k,
                                            float (&a)[kTilesM][4]) {
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int channel = k + threadIdx.x % 4 * 2 + e / 2;
      a[i][e] = channel < kOut ? sn_load(w + channel * (kChannels * kTaps) + rows[i][e % 2]) : 0.f;
    }
  }
}

__device__ __forceinline__ void AddChannels(const float (&weights)[kTilesM][4],
                                            const Vec<float, 2>* gradients,
                                            float (&sums)[kTilesM][kTilesN][4]) {
  float a[kTilesM][4];
#pragma unroll
  for (int e = 0; e < kTilesM * 4; ++e) a[e / 4][e % 4] = RoundToTf32(weights[e / 4][e % 4]);
#pragma unroll
  for (int j = 0; j < kTilesN; ++j) {
    const Vec<float, 2> pair = gradients[j * 8];
    const float b[2] = {pair.v[0], pair.v[1]};
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) MultiplyTiles(sums[i][j], a[i], b);
  }
}

__device__ __forceinline__ void StoreColumns(const float (&sums)[kTilesM][kTilesN][4], int first_row,
                                             int first_pixel, float* columns) {
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + i * 16 + half * 8;
      if (row >= kGroupRows) continue;
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        const Vec<float, 2> pair = {sums[i][j][half * 2], sums[i][j][half * 2 + 1]};
        if (first_pixel + j * 8 < kPitch)
          *(Vec<float, 2>*)(columns + row * kPitch + first_pixel + j * 8) = pair;
      }
    }
  }
}

// Adds the contributions of the columns to one row of an image's channel; `y` is the row in the padded image.
__device__ __forceinline__ void SumTaps(const float* columns, int y, float (&sums)[kWidth]) {
  for (int h = 0; h < kKernelH; ++h) {
    const int down = y - h * int(kDilationH);
    if (down < 0 || down % kStrideH != 0 || down / kStrideH >= kOutH) continue;
    const float* from = columns + h * (kKernelW * kPitch) + down / kStrideH * kOutW;
#pragma unroll
    for (int w = 0; w < kKernelW; ++w) {
#pragma unroll
      for (int at = 0; at < kOutW; ++at) {
        const int x = at * kStrideW + w * kDilationW - kPadLeft;
        if (x >= 0 && x < kWidth) sums[x] += from[w * kPitch + at];
      }
    }
  }
}

__device__ __forceinline__ void ImageGrad(const float* g, const float* w, float* dx) {
  __shared__ Vec<float, 4> shared[(kSharedFloats + 3) / 4];
  __shared__ float image[kGroup * kPlane];
  float* const columns = (float*)shared;
  Vec<float, 2>* const pairs = (Vec<float, 2>*)shared;
  const int thread = threadIdx.x, warp = thread / 32, row = thread % 32 / 4;
  const idx number = idx(blockIdx.x) / kGroups;
  const int first = int(blockIdx.x) % kGroups * int(kGroup),
            channels = sn_imin(int(kGroup), int(kChannels) - first);
  g += number * (kOut * kPixels);
  w += first * kTaps;
  dx += (number * kChannels + first) * kPlane;

  const int first_row = warp % kWarpsM * (kTilesM * 16) + row, first_pixel = warp / kWarpsM * (kTilesN * 8);
  const Vec<float, 2>* const gradients = pairs + thread % 4 * kPairPitch + first_pixel + row;
  int rows[kTilesM][2];
  float sums[kTilesM][kTilesN][4] = {};
  // Tiles beyond the edge repeat the last row. Their pixels beyond the edge are not used.
#pragma unroll
  for (int e = 0; e < kTilesM * 2; ++e) rows[e / 2][e % 2] = sn_imin(first_row + e * 8, channels * kTaps - 1);

  float next[kTilesM][4];
  LoadWeights(w, rows, 0, next);
  for (int c = 0; c < kOut; c += kChunk) {
    const int count = sn_imin(int(kChunk), int(kOut) - c);
    if (c > 0) sn_barrier();
    FetchGradients(g, c, count, pairs);
    sn_barrier();
#pragma unroll 2
    for (int k = 0; k < count; k += 8) {
      float weights[kTilesM][4];
#pragma unroll
      for (int e = 0; e < kTilesM * 4; ++e) weights[e / 4][e % 4] = next[e / 4][e % 4];
      LoadWeights(w, rows, c + k + 8, next);
      AddChannels(weights, gradients + k / 2 * kPairPitch, sums);
    }
  }
  sn_barrier();
  StoreColumns(sums, first_row, first_pixel + thread % 4 * 2, columns);
  sn_barrier();
  for (int e = thread; e < channels * kHeight; e += kThreads) {
    float row_sums[kWidth] = {};
    SumTaps(columns + e / kHeight * (kTaps * kPitch), e % kHeight + kPadTop, row_sums);
#pragma unroll
    for (int x = 0; x < kWidth; ++x) image[e * kWidth + x] = row_sums[x];
  }
  sn_barrier();
  for (int e = thread; e < channels * kPlane; e += kThreads) dx[e] = image[e];
}
