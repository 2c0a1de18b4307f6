// y = activation(x * w + bias) for images, and the gradient of images, by tf32 tensor cores.
// The gradient is a convolution of g with the weights reversed. Both are matmuls of tiles of 16 pixels, 8
// taps and 8 channels.
//
// A block computes kWarpsM * kTilesM * 16 pixels of one image in all kOut channels. It loops over the
// channels of x, kChunk at a time, and holds them and their weights in shared memory. A warp computes kTilesM
// by kTilesN tiles. Sums follow the order of the taps on every GPU.
//
// Constants besides those of conv_image.cuh: kChannels of x, kOut, kOutH; kChunk; kParts, the blocks of an
// image; kPitch, of the weights in shared memory; kWarpsM, kWarpsN, kTilesM, kTilesN; kTurned, true for the
// gradient; kHasBias, kRelu.
constexpr int kPixels = kOutH * kOutW, kChunkTaps = kChunk * kTaps;
static_assert(kPitch % 16 == 8 && kPitch >= kChunkTaps,
              "pairs of taps of four channels lie in different banks");

// Copies the weights of `channels` channels, starting at `first`, to [kOut][kPitch].
__device__ __forceinline__ void FetchWeights(const float* w, int first, int channels, float* to) {
  if constexpr (kTurned) {
    FetchEach<kChunk * kOut * kTaps>(
        w + first * (kOut * kTaps), channels * kOut * kTaps, [&](int e, float x) {
          const int c = e / (kOut * kTaps), n = e / kTaps % kOut, tap = e % kTaps;
          to[n * kPitch + c * kTaps + kTaps - 1 - tap] = x;
        });
  } else {
    FetchRows<kOut, kChunkTaps, kChannels * kTaps>(w + first * kTaps, channels * kTaps, to);
  }
}

// Adds eight taps that start at `tap`. Taps from number `taps` on do not exist.
template <bool is_last>
__device__ __forceinline__ void AddTaps(int tap, int taps, const float* image, const Vec<int, 2>* offsets,
                                        const int (&windows)[kTilesM][2],
                                        const float* const (&weights)[kTilesN],
                                        float (&sums)[kTilesM][kTilesN][4]) {
  const int own = tap + threadIdx.x % 4 * 2;
  const Vec<int, 2> offset = offsets[own / 2];
  const bool first = !is_last || own < taps, second = !is_last || own + 1 < taps;
  float b[kTilesN][2];
#pragma unroll
  for (int j = 0; j < kTilesN; ++j) {
    const Vec<float, 2> pair = *(const Vec<float, 2>*)(weights[j] + tap);
    b[j][0] = first ? pair.v[0] : 0.f;
    b[j][1] = second ? pair.v[1] : 0.f;
  }
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
    const float a[4] = {
        first ? image[windows[i][0] + offset.v[0]] : 0.f, first ? image[windows[i][1] + offset.v[0]] : 0.f,
        second ? image[windows[i][0] + offset.v[1]] : 0.f, second ? image[windows[i][1] + offset.v[1]] : 0.f};
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) MultiplyTiles(sums[i][j], a, b[j]);
  }
}

__device__ __forceinline__ void StoreTile(const float (&sums)[4], int pixel, int channel, const float* bias,
                                          float* y) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int at = pixel + k / 2 * 8, n = channel + k % 2;
    if (at >= kPixels || n >= kOut) continue;
    float sum = sums[k];
    if constexpr (kHasBias) sum += sn_load(bias + n);
    if constexpr (kRelu) sum = sum < 0 ? 0.f : sum;  // NaN stays NaN.
    y[n * kPixels + at] = sum;
  }
}

__device__ __forceinline__ void Convolve(const float* x, const float* w, const float* bias, float* y) {
  __shared__ Vec<float, 4> weights[kOut * kPitch / 4];
  __shared__ float image[kChunk * kPaddedPlane];
  __shared__ Vec<int, 2> offsets[(kChunkTaps + 7) / 8 * 4];
  const int thread = threadIdx.x, warp = thread / 32, row = thread % 32 / 4;
  const idx number = idx(blockIdx.x) / kParts;
  x += number * (kChannels * kPlane);
  y += number * (kOut * kPixels);
  for (int e = thread; e < (kChunkTaps + 7) / 8 * 8; e += kThreads)
    ((int*)offsets)[e] = e < kChunkTaps ? TapOffset(e) : 0;
  ClearPadding<kChunk>(image);

  const int first_tile = (int(blockIdx.x) % kParts * kWarpsM + warp % kWarpsM) * kTilesM;
  const int first_channel = warp / kWarpsM * (kTilesN * 8);
  int windows[kTilesM][2];
  const float* columns[kTilesN];
  float sums[kTilesM][kTilesN][4] = {};
  // Tiles beyond the edge repeat the last pixel or channel.
#pragma unroll
  for (int i = 0; i < kTilesM * 2; ++i)
    windows[i / 2][i % 2] = WindowOffset(sn_imin((first_tile + i / 2) * 16 + i % 2 * 8 + row, kPixels - 1));
#pragma unroll
  for (int j = 0; j < kTilesN; ++j)
    columns[j] =
        (const float*)weights + sn_imin(first_channel + j * 8 + row, int(kOut) - 1) * kPitch + thread % 4 * 2;

  for (int c = 0; c < kChannels; c += kChunk) {
    const int channels = sn_imin(int(kChunk), int(kChannels) - c), taps = channels * kTaps;
    sn_barrier();
    FetchImage<kChunk>(x + c * kPlane, channels, image);
    FetchWeights(w, c, channels, (float*)weights);
    sn_barrier();
    int tap = 0;
#pragma unroll 2
    for (; tap + 8 <= taps; tap += 8) AddTaps<false>(tap, taps, image, offsets, windows, columns, sums);
    if (tap < taps) AddTaps<true>(tap, taps, image, offsets, windows, columns, sums);
  }
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int j = 0; j < kTilesN; ++j)
      StoreTile(sums[i][j], (first_tile + i) * 16 + row, first_channel + j * 8 + thread % 4 * 2, bias, y);
  }
}
