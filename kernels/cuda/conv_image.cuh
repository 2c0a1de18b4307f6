// What the kernels of convolutions share: an image in shared memory, in tf32, with zeros around it.
//
// Constants: kThreads; kHeight, kWidth; kPadTop, kPadLeft; kPaddedH, kPaddedW, the size with what is around;
// kKernelH, kKernelW; kStrideH, kStrideW; kDilationH, kDilationW; kOutW, of the convolution's result; kPitch, of
// rows in shared memory, a multiple of 8.
constexpr int kPlane = kHeight * kWidth, kPaddedPlane = kPaddedH * kPaddedW;
constexpr int kTaps = kKernelH * kKernelW;
constexpr bool kIsPadded = kPaddedPlane != kPlane;

// What no image covers; once, since images all cover the same.
template <int channels>
__device__ __forceinline__ void ClearPadding(float* to) {
  if constexpr (kIsPadded) {
    for (int e = threadIdx.x; e < channels * kPaddedPlane; e += kThreads) to[e] = 0;
  }
}

// Runs put(e, element e in tf32) for the first `count` elements, shared among the block's threads.
template <typename Put>
__device__ __forceinline__ void FetchEach(const float* from, int count, Put put) {
  if (count % 4 == 0 && IsPackAligned<4>(from)) {
#pragma unroll 4
    for (int e = threadIdx.x * 4; e < count; e += kThreads * 4) {
      const Vec<float, 4> pack = sn_load((const Vec<float, 4>*)(from + e));
#pragma unroll
      for (int i = 0; i < 4; ++i) put(e + i, RoundToTf32(pack.v[i]));
    }
  } else {
#pragma unroll 8
    for (int e = threadIdx.x; e < count; e += kThreads) put(e, RoundToTf32(sn_load(from + e)));
  }
}

// `channels` planes, to [channel][kPaddedH][kPaddedW].
__device__ __forceinline__ void FetchImage(const float* from, int channels, float* to) {
  FetchEach(from, channels * kPlane, [&](int e, float x) {
    if constexpr (kIsPadded) {
      const int c = e / kPlane, y = e % kPlane / kWidth + kPadTop, at = e % kWidth + kPadLeft;
      to[c * kPaddedPlane + y * kPaddedW + at] = x;
    } else {
      to[e] = x;
    }
  });
}

// `rows` rows of `length` elements, of which the first `count` exist, `stride` apart: to rows kPitch apart.
template <int rows, int length, int stride>
__device__ __forceinline__ void FetchRows(const float* from, int count, float* to) {
  if (length % 4 == 0 && stride % 4 == 0 && count % 4 == 0 && IsPackAligned<4>(from)) {
#pragma unroll 4
    for (int e = threadIdx.x * 4; e < rows * length; e += kThreads * 4) {
      const int n = e / length, at = e % length;
      if (at >= count) continue;
      Vec<float, 4> pack = sn_load((const Vec<float, 4>*)(from + n * stride + at));
#pragma unroll
      for (int i = 0; i < 4; ++i) pack.v[i] = RoundToTf32(pack.v[i]);
      *(Vec<float, 4>*)(to + n * kPitch + at) = pack;
    }
  } else {
#pragma unroll 8
    for (int e = threadIdx.x; e < rows * length; e += kThreads) {
      const int n = e / length, at = e % length;
      if (at < count) to[n * kPitch + at] = RoundToTf32(sn_load(from + n * stride + at));
    }
  }
}

// From the place of a window in the image to that of its element `tap`, counted over channels.
__device__ __forceinline__ int TapOffset(int tap) {
  const int c = tap / kTaps, y = tap % kTaps / kKernelW * kDilationH, x = tap % kKernelW * kDilationW;
  return c * kPaddedPlane + y * kPaddedW + x;
}
// The place of the window of a result's pixel.
__device__ __forceinline__ int WindowOffset(int pixel) {
  return pixel / kOutW * (kStrideH * kPaddedW) + pixel % kOutW * kStrideW;
}
