// The gradient of a convolution's weights in two stages: sums over groups of images, then their sum in order.
// The first stage is a matmul of tiles of 16 taps, 8 pixels and 8 channels of g.
//
// A block processes kGroup images and computes kWarpsM * kTilesM * 16 taps of all kOut channels. Shared
// memory holds the image channels of these taps and kChunk pixels of g. kWarpsK warps share the pixels and
// add their sums at the end.
//
// Constants besides those of conv_image.cuh: kBatch; kChannels of x, kOut, kOutH; kGroup, kGroups; kChunk, a
// multiple of 8; kParts, the blocks of a group; kTouched, the maximum channels of a block; kPitch, of g in
// shared memory; kWarpsM, kWarpsK, kTilesM, kTilesN.
constexpr int kPixels = kOutH * kOutW, kRows = kChannels * kTaps;
constexpr int kBlockRows = kWarpsM * kTilesM * 16, kColumns = kTilesN * 8;
static_assert(kPitch % 16 == 8 && kPitch >= kChunk,
              "pairs of pixels of four channels lie in different banks");
static_assert(kWarpsK == 1 || kWarpsK * kBlockRows * kColumns <= kOut * kPitch,
              "the warps' sums fit in the place of g");

// Copies pixels [first, first + pixels) of all channels to [kOut][kPitch].
__device__ __forceinline__ void FetchGradients(const float* g, int first, int pixels, float* to) {
  if constexpr (kChunk >= kPixels) {
    FetchEach<kOut * kPixels>(g, kOut * kPixels,
                              [&](int e, float x) { to[e / kPixels * kPitch + e % kPixels] = x; });
  } else {
    FetchRows<kOut, kChunk, kPixels>(g + first, pixels, to);
  }
}

// Adds eight pixels that start at `pixel`. Pixels from number `pixels` on do not exist.
template <bool is_last>
__device__ __forceinline__ void AddPixels(int pixel, int pixels, const float* image,
                                          const Vec<int, 2>* offsets, const int (&taps)[kTilesM][2],
                                          const float* const (&gradients)[kTilesN],
                                          float (&sums)[kTilesM][kTilesN][4]) {
  const int own = pixel + threadIdx.x % 4 * 2;
  const Vec<int, 2> offset = offsets[own / 2];
  const bool first = !is_last || own < pixels, second = !is_last || own + 1 < pixels;
  float b[kTilesN][2];
#pragma unroll
  for (int j = 0; j < kTilesN; ++j) {
    const Vec<float, 2> pair = *(const Vec<float, 2>*)(gradients[j] + pixel);
    b[j][0] = first ? pair.v[0] : 0.f;
    b[j][1] = second ? pair.v[1] : 0.f;
  }
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
    const float a[4] = {
        first ? image[taps[i][0] + offset.v[0]] : 0.f, first ? image[taps[i][1] + offset.v[0]] : 0.f,
        second ? image[taps[i][0] + offset.v[1]] : 0.f, second ? image[taps[i][1] + offset.v[1]] : 0.f};
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) MultiplyTiles(sums[i][j], a, b[j]);
  }
}

// Adds the sums of the warps that share pixels. `shared` is reused: its previous contents are no longer
// needed.
__device__ __forceinline__ void AddUpWarps(const float (&sums)[kTilesM][kTilesN][4], int first_row,
                                           float* shared, float* partials) {
  const int thread = threadIdx.x, warp = thread / 32, row = thread % 32 / 4;
  float* own = shared + warp / kWarpsM * (kBlockRows * kColumns) + warp % kWarpsM * (kTilesM * 16);
  sn_barrier();
#pragma unroll
  for (int e = 0; e < kTilesM * kTilesN * 4; ++e) {
    const int i = e / (kTilesN * 4), j = e / 4 % kTilesN, k = e % 4;
    const int n = j * 8 + thread % 4 * 2 + k % 2;
    own[n * kBlockRows + i * 16 + k / 2 * 8 + row] = sums[i][j][k];
  }
  sn_barrier();
  for (int e = thread; e < kOut * kBlockRows; e += kThreads) {
    const int n = e / kBlockRows, m = first_row + e % kBlockRows;
    float sum = shared[e];
    for (int k = 1; k < kWarpsK; ++k) sum += shared[k * (kBlockRows * kColumns) + e];
    if (m < kRows) partials[n * kRows + m] = sum;
  }
}

// partials: [kGroups][kOut][kRows].
__device__ __forceinline__ void WeightGrad(const float* x, const float* g, float* partials) {
  __shared__ float image[kTouched * kPaddedPlane];
  __shared__ Vec<float, 4> gradients[kOut * kPitch / 4];
  __shared__ Vec<int, 2> offsets[(kPixels + 7) / 8 * 4];
  const int thread = threadIdx.x, warp = thread / 32, row = thread % 32 / 4;
  const int group = blockIdx.x / int(kParts), part = blockIdx.x % int(kParts);
  for (int e = thread; e < (kPixels + 7) / 8 * 8; e += kThreads)
    ((int*)offsets)[e] = e < kPixels ? WindowOffset(e) : 0;
  ClearPadding<kTouched>(image);

  const int first_channel = part * kBlockRows / kTaps;
  const int channels = sn_imin(int(kTouched), int(kChannels) - first_channel);
  const int first_row = (part * kWarpsM + warp % kWarpsM) * (kTilesM * 16), own_k = warp / kWarpsM * 8;
  int taps[kTilesM][2];
  const float* columns[kTilesN];
  float sums[kTilesM][kTilesN][4] = {};
  // Tiles beyond the edge repeat the last tap or channel.
#pragma unroll
  for (int i = 0; i < kTilesM * 2; ++i)
    taps[i / 2][i % 2] = TapOffset(sn_imin(first_row + i * 8 + row, kRows - 1) - first_channel * kTaps);
#pragma unroll
  for (int j = 0; j < kTilesN; ++j)
    columns[j] = (const float*)gradients + sn_imin(j * 8 + row, int(kOut) - 1) * kPitch + thread % 4 * 2;

  const int end = sn_imin(int(kBatch), (group + 1) * int(kGroup));
  for (int number = group * kGroup; number < end; ++number) {
    for (int pixel = 0; pixel < kPixels; pixel += kChunk) {
      const int pixels = sn_imin(int(kChunk), kPixels - pixel);
      sn_barrier();
      if (pixel == 0)
        FetchImage<kTouched>(x + (idx(number) * kChannels + first_channel) * kPlane, channels, image);
      FetchGradients(g + idx(number) * (kOut * kPixels), pixel, pixels, (float*)gradients);
      sn_barrier();
      const Vec<int, 2>* windows = offsets + pixel / 2;
      int k = own_k;
#pragma unroll 2
      for (; k + 8 <= pixels; k += kWarpsK * 8)
        AddPixels<false>(k, pixels, image, windows, taps, columns, sums);
      if (k < pixels) AddPixels<true>(k, pixels, image, windows, taps, columns, sums);
    }
  }
  partials += idx(group) * (kOut * kRows);
  if constexpr (kWarpsK == 1) {
#pragma unroll
    for (int e = 0; e < kTilesM * kTilesN * 4; ++e) {
      const int i = e / (kTilesN * 4), j = e / 4 % kTilesN, k = e % 4;
      const int m = first_row + i * 16 + k / 2 * 8 + row, n = j * 8 + thread % 4 * 2 + k % 2;
      if (m < kRows && n < kOut) partials[n * kRows + m] = sums[i][j][k];
    }
  } else {
    AddUpWarps(sums, part * kBlockRows, (float*)gradients, partials);
  }
}

// Computes dw, the sum over groups. A block sums 32 adjacent elements; each of its warps sums an eighth of
// the groups.
__device__ __forceinline__ void SumGroups(const float* partials, float* dw) {
  __shared__ float sums[8][32];
  const int lane = threadIdx.x % 32, slice = threadIdx.x / 32, e = blockIdx.x * 32 + lane;
  float sum = 0;
  if (e < kOut * kRows) {
#pragma unroll 8
    for (int group = slice; group < kGroups; group += 8)
      sum += sn_load(partials + idx(group) * (kOut * kRows) + e);
  }
  sums[slice][lane] = sum;
  sn_barrier();
  if (slice > 0 || e >= kOut * kRows) return;
#pragma unroll
  for (int s = 1; s < 8; ++s) sum += sums[s][lane];
  dw[e] = sum;
}
