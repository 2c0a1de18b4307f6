// Pools: one thread computes a result of kVector adjacent channels (nhwc) or of kRun adjacent pixels (nchw).
// In both layouts images are [planes, height, width, kLanes]. NaN wins, ties select the first largest
// element, and padding never wins. Gradients gather from every window that contains their pixel, in a fixed
// order.
//
// Constants: E; kInH, kInW, kOutH, kOutW, kLanes, kWindowH, kWindowW, kWindowElements, kStrideH, kStrideW,
// kPadTop, kPadLeft; kVector; kRun, 1 unless kVector is 1, and windows lie inside the image or a gradient is
// computed; kWide, the elements that a thread of a run reads at once; kUnits, the number of threads; kShare,
// the threads that share a window of nchw.
typedef E::Storage Storage;
typedef E::Compute Compute;
typedef Vec<Storage, kVector> Pack;
typedef Vec<u8, kVector> Marks;

// True if no window of the pooled image reaches into padding.
constexpr bool kInsideH = kPadTop == 0 && (kOutH - 1) * kStrideH + kWindowH <= kInH;
constexpr bool kInsideW = kPadLeft == 0 && (kOutW - 1) * kStrideW + kWindowW <= kInW;
// Loads of a window's row that are started together.
constexpr int kTogether = kWindowW <= 4 ? kWindowW : 4;
constexpr int kUnrollWindow = kWindowH * kWindowW * kVector <= 64 ? int(kWindowH) : 1;
// Maximum number of windows that contain one pixel.
constexpr idx kReachH = (kWindowH + kStrideH - 1) / kStrideH, kReachW = (kWindowW + kStrideW - 1) / kStrideW;
constexpr idx kMostH = kReachH < kOutH ? kReachH : kOutH, kMostW = kReachW < kOutW ? kReachW : kOutW;
constexpr int kUnrollMost = kMostH * kMostW * kVector <= 64 ? int(kMostW) : 1;

__device__ __forceinline__ uidx FirstThread() { return (uidx)blockIdx.x * blockDim.x + threadIdx.x; }

// The position of the unit's first element in an image of this size.
struct Place {
  uidx plane, row, column, lane;
  __device__ __forceinline__ Place(uidx unit, uidx height, uidx width) {
    constexpr uidx packs = kLanes / kVector;
    lane = unit % packs * kVector;
    unit /= packs;
    column = unit % width;
    unit /= width;
    row = unit % height;
    plane = unit / height;
  }
};

// Calls f(number in the window, pack) for the elements of a window that are not padding, in row-major order.
template <typename F>
__device__ __forceinline__ void ForWindow(const Storage* x, const Place& at, bool aligned, F&& f) {
  const idx top = idx(at.row) * kStrideH - kPadTop, left = idx(at.column) * kStrideW - kPadLeft;
  const Storage* const from = x + idx(at.plane) * (kInH * kInW * kLanes) + at.lane;
#pragma unroll kUnrollWindow
  for (idx h = 0; h < kWindowH; ++h) {
    if (!kInsideH && (uidx)(top + h) >= (uidx)kInH) continue;
    const Storage* const line = from + (top + h) * (kInW * kLanes);
    for (idx w = 0; w < kWindowW; w += kTogether) {
      Pack packs[kTogether];
      bool exists[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const idx column = left + w + i;
        exists[i] =
            (kWindowW % kTogether == 0 || w + i < kWindowW) && (kInsideW || (uidx)column < (uidx)kInW);
        if (exists[i]) packs[i] = ReadPack<kVector>(line + column * kLanes, aligned);
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        if (exists[i]) f(h * kWindowW + w + i, packs[i]);
      }
    }
  }
}

// Reads `count` elements, kWide at once if `aligned`.
template <int count>
__device__ __forceinline__ void ReadLine(const Storage* from, bool aligned, Storage (&line)[count]) {
  constexpr int kWhole = count / kWide * kWide;
#pragma unroll
  for (int e = 0; e < kWhole; e += kWide) {
    const Vec<Storage, kWide> pack = ReadPack<kWide>(from + e, aligned);
#pragma unroll
    for (int i = 0; i < kWide; ++i) line[e + i] = pack.v[i];
  }
#pragma unroll
  for (int e = kWhole; e < count; ++e) line[e] = sn_load(from + e);
}

// A run of kRun pixels in an image of this size. The last run of a line ends with it: it may compute some
// pixels of the run before it again.
template <int height, int width>
struct Run {
  static constexpr uidx kRuns = (width + kRun - 1) / kRun;
  uidx plane, row, column;
  __device__ __forceinline__ explicit Run(uidx unit) {
    column = sn_imin(uidx(unit % kRuns * kRun), uidx(width - kRun));
    unit /= kRuns;
    row = unit % height;
    plane = unit / height;
  }
  template <typename T>
  __device__ __forceinline__ void store(T* images, const Vec<T, kRun>& run) const {
    T* const to = images + (idx(plane) * height + row) * width + column;
    WritePack<kRun>(to, run, width % kRun == 0 && IsPackAligned<kRun>(to));
  }
};

// Calls f(result, number in the window, element) for the windows of a run of results.
template <typename F>
__device__ __forceinline__ void ForWindows(const Storage* x, const Run<kOutH, kOutW>& at, F&& f) {
  const bool aligned = IsPackAligned<kWide>(x);
  const Storage* const from =
      x + (idx(at.plane) * kInH + idx(at.row) * kStrideH) * kInW + idx(at.column) * kStrideW;
#pragma unroll kUnrollWindow
  for (idx h = 0; h < kWindowH; ++h) {
    Storage elements[(kRun - 1) * kStrideW + kWindowW];
    ReadLine(from + h * kInW, aligned, elements);
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
#pragma unroll
      for (int w = 0; w < kWindowW; ++w) f(i, h * kWindowW + w, elements[i * kStrideW + w]);
    }
  }
}

// Like MaxPool, for runs.
__device__ __forceinline__ void MaxPoolRun(const Storage* x, Storage* y, u8* position) {
  const uidx unit = FirstThread();
  if (unit >= kUnits) return;
  Compute best[kRun];
  u32 number[kRun];
#pragma unroll
  for (int i = 0; i < kRun; ++i) best[i] = Compute(-__int_as_float(0x7f800000)), number[i] = 0;
  const Run<kOutH, kOutW> at(unit);
  ForWindows(x, at, [&](int i, idx n, Storage element) {
    const Compute value = E::load(element), old = best[i];
    const bool wins = value > old || (value != value && old == old);
    best[i] = wins ? value : old;
    number[i] = wins ? (u32)n : number[i];
  });
  Vec<Storage, kRun> result;
  Vec<u8, kRun> marks;
#pragma unroll
  for (int i = 0; i < kRun; ++i) result.v[i] = E::store(best[i]), marks.v[i] = (u8)number[i];
  at.store(y, result);
  at.store(position, marks);
}

// Like AvgPool, for runs.
__device__ __forceinline__ void AvgPoolRun(const Storage* x, Storage* y) {
  const uidx unit = FirstThread();
  if (unit >= kUnits) return;
  Compute sums[kRun] = {};
  const Run<kOutH, kOutW> at(unit);
  ForWindows(x, at, [&](int i, idx, Storage element) { sums[i] += E::load(element); });
  Vec<Storage, kRun> result;
#pragma unroll
  for (int i = 0; i < kRun; ++i) result.v[i] = E::store(sums[i] / Compute(kWindowElements));
  at.store(y, result);
}

// Reads the pooled elements of x once; writes y and the positions.
__device__ __forceinline__ void MaxPool(const Storage* x, Storage* y, u8* position) {
  const uidx unit = FirstThread();
  if (unit >= kUnits) return;
  const bool aligned =
      IsPackAligned<kVector>(x) && IsPackAligned<kVector>(y) && IsPackAligned<kVector>(position);
  const Place at(unit, kOutH, kOutW);
  // The window's first element wins if no element is larger than minus infinity.
  const idx top = kPadTop - idx(at.row) * kStrideH, left = kPadLeft - idx(at.column) * kStrideW;
  const u32 first = u32((top > 0 ? top : 0) * kWindowW + (left > 0 ? left : 0));
  Compute best[kVector];
  u32 number[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) best[i] = Compute(-__int_as_float(0x7f800000)), number[i] = first;
  ForWindow(x, at, aligned, [&](idx n, const Pack& pack) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const Compute value = E::load(pack.v[i]), old = best[i];
      const bool wins = value > old || (value != value && old == old);
      best[i] = wins ? value : old;
      number[i] = wins ? (u32)n : number[i];
    }
  });
  Pack result;
  Marks marks;
#pragma unroll
  for (int i = 0; i < kVector; ++i) result.v[i] = E::store(best[i]), marks.v[i] = (u8)number[i];
  WritePack<kVector>(y + unit * kVector, result, aligned);
  WritePack<kVector>(position + unit * kVector, marks, aligned);
}

// Reads the pooled elements of x once; writes y.
__device__ __forceinline__ void AvgPool(const Storage* x, Storage* y) {
  const uidx unit = FirstThread();
  if (unit >= kUnits) return;
  const bool aligned = IsPackAligned<kVector>(x) && IsPackAligned<kVector>(y);
  Compute sums[kVector] = {};
  ForWindow(x, Place(unit, kOutH, kOutW), aligned, [&](idx, const Pack& pack) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) sums[i] += E::load(pack.v[i]);
  });
  Pack result;
#pragma unroll
  for (int i = 0; i < kVector; ++i) result.v[i] = E::store(sums[i] / Compute(kWindowElements));
  WritePack<kVector>(y + unit * kVector, result, aligned);
}

// Like AvgPool, for large windows of nchw: kShare adjacent threads read one window together.
__device__ __forceinline__ void AvgPoolShared(const Storage* x, Storage* y) {
  const uidx unit = FirstThread() / kShare;
  const bool exists = unit < kUnits;
  const Place at(exists ? unit : 0, kOutH, kOutW);
  const idx top = idx(at.row) * kStrideH - kPadTop, left = idx(at.column) * kStrideW - kPadLeft;
  const Storage* const from = x + idx(at.plane) * (kInH * kInW);
  Compute sum = 0;
#pragma unroll 4
  for (uidx n = threadIdx.x % kShare; n < kWindowElements; n += kShare) {
    const idx row = top + idx(n / uidx(kWindowW)), column = left + idx(n % uidx(kWindowW));
    const bool inside = (kInsideH || (uidx)row < (uidx)kInH) && (kInsideW || (uidx)column < (uidx)kInW);
    if (inside) sum += E::load(sn_load(from + row * kInW + column));
  }
#pragma unroll
  for (int distance = kShare / 2; distance > 0; distance /= 2) sum += sn_shuffle_xor(sum, distance);
  if (exists && threadIdx.x % kShare == 0) y[unit] = E::store(sum / Compute(kWindowElements));
}

// Computes the gradient of one pixel of the unpooled image: the sum of the contributions of each window. The
// order is rows top down and columns right to left, as on the CPU. Without `is_max`, the gradient of a mean.
template <bool is_max>
__device__ __forceinline__ void PoolGrad(const Storage* g, const u8* position, Storage* dx) {
  const uidx unit = FirstThread();
  if (unit >= kUnits) return;
  const bool aligned = IsPackAligned<kVector>(g) && IsPackAligned<kVector>(dx) &&
                       (!is_max || IsPackAligned<kVector>(position));
  const Place at(unit, kInH, kInW);
  const uidx down = at.row + kPadTop, right = at.column + kPadLeft;
  const idx first_h = down < kWindowH ? 0 : idx((down - kWindowH) / kStrideH + 1);
  const idx first_w = right < kWindowW ? 0 : idx((right - kWindowW) / kStrideW + 1);
  const idx last_h = sn_imin(idx(down / kStrideH), kOutH - 1),
            last_w = sn_imin(idx(right / kStrideW), kOutW - 1);
  const idx from = idx(at.plane) * (kOutH * kOutW * kLanes) + at.lane;
  Compute sums[kVector] = {};
  for (idx i = 0; i < kMostH; ++i) {
    const idx h = first_h + i;
    if (h > last_h) break;
#pragma unroll kUnrollMost
    for (idx j = 0; j < kMostW; ++j) {
      const idx w = last_w - j;
      if (w < first_w) continue;
      const idx element = from + (h * kOutW + w) * kLanes;
      const u32 number = u32((idx(down) - h * kStrideH) * kWindowW + (idx(right) - w * kStrideW));
      const Pack gradient = ReadPack<kVector>(g + element, aligned);
      if (is_max) {
        const Marks marks = ReadPack<kVector>(position + element, aligned);
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          sums[k] += marks.v[k] == number ? E::load(gradient.v[k]) : Compute(0);
        }
      } else {
#pragma unroll
        for (int k = 0; k < kVector; ++k) sums[k] += E::load(gradient.v[k]);
      }
    }
  }
  Pack result;
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    result.v[k] = E::store(is_max ? sums[k] : sums[k] / Compute(kWindowElements));
  }
  WritePack<kVector>(dx + unit * kVector, result, aligned);
}

// Like PoolGrad, for runs: each line of windows is read once for all pixels of a run.
template <bool is_max>
__device__ __forceinline__ void PoolGradRun(const Storage* g, const u8* position, Storage* dx) {
  // Windows of a line that contain a pixel of a run.
  constexpr int kSpan = (kRun + kWindowW - 2) / kStrideW + 1;
  const uidx unit = FirstThread();
  if (unit >= kUnits) return;
  const Run<kInH, kInW> at(unit);
  const uidx down = at.row + kPadTop;
  const idx first_h = down < kWindowH ? 0 : idx((down - kWindowH) / kStrideH + 1);
  const idx last_h = sn_imin(idx(down / kStrideH), kOutH - 1);
  // The first window with the first pixel, maybe left of the image, and the pixel's place in it.
  const idx right = idx(at.column) + kPadLeft;
  const idx low = (right + kWindowW * kStrideW - kWindowW + kStrideW) / kStrideW - kWindowW;
  const int place = kStrideW == 1 ? int(kWindowW) - 1 : int(right - low * kStrideW);
  Compute sums[kRun] = {};
  for (idx i = 0; i < kMostH; ++i) {
    const idx h = first_h + i;
    if (h > last_h) break;
    const idx line = (idx(at.plane) * kOutH + h) * kOutW;
    Compute values[kSpan];
    u32 marks[kSpan];
#pragma unroll
    for (int j = 0; j < kSpan; ++j) {
      const bool exists = (uidx)(low + j) < (uidx)kOutW;
      values[j] = exists ? E::load(sn_load(g + line + low + j)) : Compute(0);
      marks[j] = is_max && exists ? u32(sn_load(position + line + low + j)) : 0;
    }
    const u32 number = u32((idx(down) - h * kStrideH) * kWindowW);
#pragma unroll
    for (int e = 0; e < kRun; ++e) {
#pragma unroll
      for (int j = kSpan - 1; j >= 0; --j) {
        const int n = place + e - j * int(kStrideW);
        const bool counts = (u32)n < (u32)kWindowW && (!is_max || marks[j] == number + (u32)n);
        sums[e] += counts ? values[j] : Compute(0);
      }
    }
  }
  Vec<Storage, kRun> run;
#pragma unroll
  for (int e = 0; e < kRun; ++e) run.v[e] = E::store(is_max ? sums[e] : sums[e] / Compute(kWindowElements));
  at.store(dx, run);
}

// Reads g and the positions once; writes dx.
__device__ __forceinline__ void MaxPoolGrad(const Storage* g, const u8* position, Storage* dx) {
  if constexpr (kRun > 1) {
    PoolGradRun<true>(g, position, dx);
  } else {
    PoolGrad<true>(g, position, dx);
  }
}
// Reads g once; writes dx.
__device__ __forceinline__ void AvgPoolGrad(const Storage* g, Storage* dx) {
  if constexpr (kRun > 1) {
    PoolGradRun<false>(g, nullptr, dx);
  } else {
    PoolGrad<false>(g, nullptr, dx);
  }
}
