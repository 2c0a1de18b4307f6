// Pools of pool.h. A unit of work is one row of the result, computed tap by tap of the window.
// The row is kept in the compute type in the thread's workspace. So the inner loop runs over adjacent
// elements: columns in nchw, channels in nhwc. Loops have elements of one width, so that they vectorize.
#include "sinter/kernels/cpu/images/pool.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/images/image.h"

namespace sinter::kernels {
namespace {

// The common form of both layouts: [planes, height, width, lanes].
struct Planes {
  int64_t planes, lanes;
  explicit Planes(const Pool& p)
      : planes(p.channels_last ? p.batch : p.batch * p.channels), lanes(p.channels_last ? p.channels : 1) {}
};

// Rows of a thread: the result's, and with maxima their positions and the row that they are found in.
int64_t RowBytes(const Pool& p) {
  const int64_t width = p.in_w > p.out_w ? p.in_w : p.out_w;
  return (3 * width * Planes(p).lanes * static_cast<int64_t>(sizeof(double)) + 63) / 64 * 64;
}

// Numbers as wide as C, so that a loop over both has vectors of one width.
template <typename C>
using NumberOf = std::conditional_t<sizeof(C) == sizeof(int64_t), int64_t, int32_t>;

// Returns `count` elements of x in the compute type: x itself, or in `room`.
template <typename E>
const typename E::Compute* Widen(const typename E::Storage* x, int64_t count, typename E::Compute* room) {
  if constexpr (std::is_same_v<typename E::Storage, typename E::Compute>) {
    return x;
  } else {
    for (int64_t e = 0; e < count; ++e) room[e] = E::Load(x[e]);
    return room;
  }
}

// Calls f(small, large) for each column that the tap reaches: the offsets of the pooled and the unpooled
// element in their rows. Strides 1 and 2 have separate loops so that they vectorize.
template <typename F>
void ForColumns(const Pool& p, int64_t lanes, int64_t tap, F&& f) {
  const int64_t shift = tap - p.pad_left;
  const Range range = TapRange(p.out_w, p.in_w, p.stride_w, shift);
  if (lanes > 1) {
    for (int64_t o = range.begin; o < range.end; ++o) {
      const int64_t small = o * lanes, large = (o * p.stride_w + shift) * lanes;
      for (int64_t lane = 0; lane < lanes; ++lane) f(small + lane, large + lane);
    }
  } else if (p.stride_w == 2) {
    for (int64_t o = range.begin; o < range.end; ++o) f(o, o * 2 + shift);
  } else if (p.stride_w == 1) {
    for (int64_t o = range.begin; o < range.end; ++o) f(o, o + shift);
  } else {
    for (int64_t o = range.begin; o < range.end; ++o) f(o, o * p.stride_w + shift);
  }
}

// Shares the image's rows among the threads: calls f(plane, row, workspace).
template <typename F>
void ForRows(const Pool& p, int64_t rows, int64_t row_elements, void* workspace, const Parallel& parallel,
             F&& f) {
  const int64_t work = row_elements * p.window_h * p.window_w + 1;
  parallel.For(Planes(p).planes * rows, 1 + 32768 / work, [&](int64_t begin, int64_t end, int thread) {
    void* const own = static_cast<char*>(workspace) + RowBytes(p) * thread;
    for (int64_t unit = begin; unit < end; ++unit) f(unit / rows, unit % rows, own);
  });
}

template <typename E>
void MaxRow(const Pool& p, const typename E::Storage* plane, int64_t row, typename E::Storage* y,
            uint8_t* position, typename E::Compute* best) {
  using C = typename E::Compute;
  using N = NumberOf<C>;
  const int64_t lanes = Planes(p).lanes, width = p.out_w * lanes;
  const int64_t top = row * p.stride_h - p.pad_top;
  const int64_t first = top < 0 ? -top : 0;
  N* const numbers = reinterpret_cast<N*>(best + width);
  C* const room = reinterpret_cast<C*>(numbers + width);
  for (int64_t o = 0; o < p.out_w; ++o) {
    const int64_t left = p.pad_left - o * p.stride_w;
    const N number = static_cast<N>(first * p.window_w + (left > 0 ? left : 0));
    for (int64_t lane = 0; lane < lanes; ++lane) numbers[o * lanes + lane] = number;
  }
  for (int64_t e = 0; e < width; ++e) best[e] = -std::numeric_limits<C>::infinity();
  for (int64_t tap = first; tap < p.window_h && top + tap < p.in_h; ++tap) {
    const typename E::Storage* const x = plane + (top + tap) * p.in_w * lanes;
    const auto take = [&](const auto* from, auto load) {
      for (int64_t column = 0; column < p.window_w; ++column) {
        const N number = static_cast<N>(tap * p.window_w + column);
        ForColumns(p, lanes, column, [&](int64_t small, int64_t large) {
          const C value = load(from[large]), old = best[small];
          const bool wins = (old == old) & !(value <= old);  // Larger, or the first NaN.
          best[small] = wins ? value : old;
          numbers[small] = wins ? number : numbers[small];
        });
      }
    };
    if (lanes == 1) {
      take(Widen<E>(x, p.in_w, room), [](C value) { return value; });
    } else {
      take(x, [](typename E::Storage value) { return E::Load(value); });
    }
  }
  for (int64_t e = 0; e < width; ++e) y[e] = E::Store(best[e]);
  for (int64_t e = 0; e < width; ++e) position[e] = static_cast<uint8_t>(numbers[e]);
}

template <typename E>
void AvgRow(const Pool& p, const typename E::Storage* plane, int64_t row, typename E::Storage* y,
            typename E::Compute* sums) {
  using C = typename E::Compute;
  const int64_t lanes = Planes(p).lanes;
  const int64_t top = row * p.stride_h - p.pad_top;
  std::memset(sums, 0, static_cast<size_t>(p.out_w * lanes) * sizeof(C));
  for (int64_t tap = top < 0 ? -top : 0; tap < p.window_h && top + tap < p.in_h; ++tap) {
    const typename E::Storage* const x = plane + (top + tap) * p.in_w * lanes;
    for (int64_t column = 0; column < p.window_w; ++column) {
      ForColumns(p, lanes, column, [&](int64_t small, int64_t large) { sums[small] += E::Load(x[large]); });
    }
  }
  const C count = static_cast<C>(p.window_h * p.window_w);
  for (int64_t e = 0; e < p.out_w * lanes; ++e) y[e] = E::Store(sums[e] / count);
}

// Computes one row of the unpooled image's gradient: each element sums the contributions of all windows that
// contain it. `positions` is null for the gradient of a mean.
template <typename E>
void GradRow(const Pool& p, const typename E::Storage* g, const uint8_t* positions, int64_t row,
             typename E::Storage* dx, typename E::Compute* sums) {
  using C = typename E::Compute;
  const int64_t lanes = Planes(p).lanes;
  std::memset(sums, 0, static_cast<size_t>(p.in_w * lanes) * sizeof(C));
  const int64_t padded = row + p.pad_top;
  const int64_t last = padded / p.stride_h < p.out_h - 1 ? padded / p.stride_h : p.out_h - 1;
  for (int64_t o = padded < p.window_h ? 0 : (padded - p.window_h) / p.stride_h + 1; o <= last; ++o) {
    const int64_t tap = padded - o * p.stride_h;
    const int64_t at = o * p.out_w * lanes;
    for (int64_t column = 0; column < p.window_w; ++column) {
      if (positions == nullptr) {
        ForColumns(p, lanes, column,
                   [&](int64_t small, int64_t large) { sums[large] += E::Load(g[at + small]); });
        continue;
      }
      const uint8_t number = static_cast<uint8_t>(tap * p.window_w + column);
      ForColumns(p, lanes, column, [&](int64_t small, int64_t large) {
        const C gradient = E::Load(g[at + small]);
        sums[large] += positions[at + small] == number ? gradient : C(0);
      });
    }
  }
  const C divisor = positions == nullptr ? static_cast<C>(p.window_h * p.window_w) : C(1);
  for (int64_t e = 0; e < p.in_w * lanes; ++e) dx[e] = E::Store(sums[e] / divisor);
}

void RunGrad(const Pool& p, const void* g, const uint8_t* positions, void* dx, void* workspace,
             const Parallel& parallel) {
  const int64_t lanes = Planes(p).lanes;
  const int64_t small = p.out_h * p.out_w * lanes;
  WithFloatElement(p.dtype, [&](auto element) {
    using E = decltype(element);
    using S = typename E::Storage;
    ForRows(p, p.in_h, p.in_w * lanes, workspace, parallel, [&](int64_t plane, int64_t row, void* own) {
      GradRow<E>(p, static_cast<const S*>(g) + plane * small,
                 positions == nullptr ? nullptr : positions + plane * small, row,
                 static_cast<S*>(dx) + (plane * p.in_h + row) * p.in_w * lanes,
                 static_cast<typename E::Compute*>(own));
    });
  });
}

}  // namespace

size_t PoolWorkspaceBytes(const Pool& pool, int threads) {
  return static_cast<size_t>(RowBytes(pool)) * static_cast<size_t>(threads);
}

void RunMaxPool(const Pool& p, const void* x, void* y, uint8_t* position, void* workspace,
                const Parallel& parallel) {
  const int64_t lanes = Planes(p).lanes;
  WithFloatElement(p.dtype, [&](auto element) {
    using E = decltype(element);
    using S = typename E::Storage;
    ForRows(p, p.out_h, p.out_w * lanes, workspace, parallel, [&](int64_t plane, int64_t row, void* own) {
      const int64_t at = (plane * p.out_h + row) * p.out_w * lanes;
      MaxRow<E>(p, static_cast<const S*>(x) + plane * p.in_h * p.in_w * lanes, row, static_cast<S*>(y) + at,
                position + at, static_cast<typename E::Compute*>(own));
    });
  });
}

void RunMaxPoolGrad(const Pool& pool, const void* g, const uint8_t* position, void* dx, void* workspace,
                    const Parallel& parallel) {
  RunGrad(pool, g, position, dx, workspace, parallel);
}

void RunAvgPool(const Pool& p, const void* x, void* y, void* workspace, const Parallel& parallel) {
  const int64_t lanes = Planes(p).lanes;
  WithFloatElement(p.dtype, [&](auto element) {
    using E = decltype(element);
    using S = typename E::Storage;
    ForRows(p, p.out_h, p.out_w * lanes, workspace, parallel, [&](int64_t plane, int64_t row, void* own) {
      AvgRow<E>(p, static_cast<const S*>(x) + plane * p.in_h * p.in_w * lanes, row,
                static_cast<S*>(y) + (plane * p.out_h + row) * p.out_w * lanes,
                static_cast<typename E::Compute*>(own));
    });
  });
}

void RunAvgPoolGrad(const Pool& pool, const void* g, void* dx, void* workspace, const Parallel& parallel) {
  RunGrad(pool, g, nullptr, dx, workspace, parallel);
}

}  // namespace sinter::kernels
