// Helpers of the convolution kernels: an image in shared memory, in tf32, with zero padding.
//
// Constants: kThreads; kHeight, kWidth; kPadTop, kPadLeft; kPaddedH, kPaddedW, the size with padding;
// kKernelH, kKernelW; kStrideH, kStrideW; kDilationH, kDilationW; kOutW, of the convolution's result; kPitch,
// of rows in shared memory, a multiple of 8.
constexpr int kPlane = kHeight * kWidth, kPaddedPlane = kPaddedH * kPaddedW;
constexpr int kTaps = kKernelH * kKernelW;
constexpr bool kIsPadded = kPaddedPlane != kPlane;

// Clears the padding. Once is enough, because all images cover the same elements.
template <int channels>
__device__ __forceinline__ void ClearPadding(float* to) {
  if constexpr (kIsPadded) {
    for (int e = threadIdx.x; e < channels * kPaddedPlane; e += kThreads) to[e] = 0;
  }
}

// Calls put(e, element e in tf32) for the first `count` elements, distributed over the block's threads.
// `at_once` accesses of `n` elements are in flight together.
template <int n, int at_once, typename Put>
__device__ __forceinline__ void FetchPacks(const float* from, int count, Put put) {
  for (int first = threadIdx.x * n; first < count; first += kThreads * n * at_once) {
    Vec<float, n> packs[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int e = first + i * kThreads * n;
      if (e < count) packs[i] = sn_load((const Vec<float, n>*)(from + e));
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int e = first + i * kThreads * n;
      if (e >= count) break;
#pragma unroll
      for (int j = 0; j < n; ++j) put(e + j, RoundToTf32(packs[i].v[j]));
    }
  }
}
// Like FetchPacks, for `count` of at most `most` elements. All accesses are in flight together if they fit in
// registers.
template <int most, typename Put>
__device__ __forceinline__ void FetchEach(const float* from, int count, Put put) {
  constexpr int own = (most + kThreads - 1) / kThreads, kept = own <= 40 ? own : 16;
  constexpr int singles = kept <= 16 ? kept : 16;
  if (count % 4 == 0 && IsPackAligned<4>(from)) {
    FetchPacks<4, (kept + 3) / 4>(from, count, put);
  } else if (count % 2 == 0 && IsPackAligned<2>(from)) {
    FetchPacks<2, (kept + 1) / 2>(from, count, put);
  } else {
    FetchPacks<1, singles>(from, count, put);
  }
}

// Copies `channels` planes, at most `most`, to [channel][kPaddedH][kPaddedW].
template <int most>
__device__ __forceinline__ void FetchImage(const float* from, int channels, float* to) {
  FetchEach<most * kPlane>(from, channels * kPlane, [&](int e, float x) {
    if constexpr (kIsPadded) {
      const int c = e / kPlane, y = e % kPlane / kWidth + kPadTop, at = e % kWidth + kPadLeft;
      to[c * kPaddedPlane + y * kPaddedW + at] = x;
    } else {
      to[e] = x;
    }
  });
}

// Copies `rows` rows of `length` elements, `stride` apart, to rows that are kPitch apart. Only the first
// `count` elements of a row exist.
template <int rows, int length, int stride, int n, int at_once>
__device__ __forceinline__ void FetchRowPacks(const float* from, int count, float* to) {
  for (int first = threadIdx.x * n; first < rows * length; first += kThreads * n * at_once) {
    Vec<float, n> packs[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int e = first + i * kThreads * n, at = e % length;
      if (e < rows * length && at < count)
        packs[i] = sn_load((const Vec<float, n>*)(from + e / length * stride + at));
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int e = first + i * kThreads * n, at = e % length;
      if (e >= rows * length || at >= count) continue;
#pragma unroll
      for (int j = 0; j < n; ++j) packs[i].v[j] = RoundToTf32(packs[i].v[j]);
      *(Vec<float, n>*)(to + e / length * kPitch + at) = packs[i];
    }
  }
}
template <int rows, int length, int stride>
__device__ __forceinline__ void FetchRows(const float* from, int count, float* to) {
  if (length % 4 == 0 && stride % 4 == 0 && count % 4 == 0 && IsPackAligned<4>(from)) {
    FetchRowPacks<rows, length, stride, 4, 5>(from, count, to);
  } else {
    FetchRowPacks<rows, length, stride, 1, 16>(from, count, to);
  }
}

// Returns the offset from a window's first element to its element `tap`, counted over all channels.
__device__ __forceinline__ int TapOffset(int tap) {
  const int c = tap / kTaps, y = tap % kTaps / kKernelW * kDilationH, x = tap % kKernelW * kDilationW;
  return c * kPaddedPlane + y * kPaddedW + x;
}
// Returns the offset of the window of a result's pixel.
__device__ __forceinline__ int WindowOffset(int pixel) {
  return pixel / kOutW * (kStrideH * kPaddedW) + pixel % kOutW * kStrideW;
}
