// Pools of batch_pool.h, one plane (one channel of one block of images) at a time.
#include "sinter/kernels/cpu/images/batch_lanes.h"

namespace sinter::kernels {
namespace {

// The part of output pixel (oy, ox)'s window that is inside the image, in image coordinates.
struct Window {
  int64_t top, left;  // Corner of the whole window; may be negative.
  int64_t y0, y1, x0, x1;

  SINTER_ALWAYS_INLINE Window(const BatchPool& pool, int64_t oy, int64_t ox)
      : top(oy * pool.stride_h - pool.pad_top),
        left(ox * pool.stride_w - pool.pad_left),
        y0(Max(top, 0)),
        y1(Min(top + pool.window_h, pool.in_h)),
        x0(Max(left, 0)),
        x1(Min(left + pool.window_w, pool.in_w)) {}
};

// Calls body(window, offset of the output pixel in floats) for every output pixel of a plane.
template <typename Body>
SINTER_ALWAYS_INLINE void ForWindows(const BatchPool& pool, Body body) {
  for (int64_t oy = 0; oy < pool.out_h; ++oy) {
    for (int64_t ox = 0; ox < pool.out_w; ++ox) {
      body(Window(pool, oy, ox), (oy * pool.out_w + ox) * kPixel);
    }
  }
}

// True if the windows tile the image: then each pixel of a gradient is written exactly once, without
// additions.
bool Tiles(const BatchPool& pool) {
  return pool.pad_top == 0 && pool.pad_left == 0 && pool.stride_h == pool.window_h &&
         pool.stride_w == pool.window_w && pool.out_h * pool.stride_h == pool.in_h &&
         pool.out_w * pool.stride_w == pool.in_w;
}

int64_t InPlane(const BatchPool& pool) { return pool.in_h * pool.in_w * kPixel; }
int64_t OutPlane(const BatchPool& pool) { return pool.out_h * pool.out_w * kPixel; }

// Adds part(offset of the output pixel, row-major position in the window) to every pixel of each window.
template <typename Part>
SINTER_ALWAYS_INLINE void SendBack(const BatchPool& pool, float* dx, Part part) {
  const bool tiles = Tiles(pool);
  if (!tiles) std::memset(dx, 0, static_cast<size_t>(InPlane(pool)) * sizeof(float));
  ForWindows(pool, [&](const Window& window, int64_t out) {
    for (int64_t iy = window.y0; iy < window.y1; ++iy) {
      for (int64_t ix = window.x0; ix < window.x1; ++ix) {
        const int64_t position = (iy - window.top) * pool.window_w + ix - window.left;
        SINTER_UNROLL
        for (int piece = 0; piece < kPieces; ++piece) {
          float* to = dx + (iy * pool.in_w + ix) * kPixel + piece * kLanes;
          const Lanes lanes = part(out + piece * kLanes, static_cast<int>(position));
          Store(to, tiles ? lanes : Load(to) + lanes);
        }
      }
    }
  });
}

}  // namespace

template <>
void BatchIsa<kIsa>::MaxPool(const BatchPool& pool, const float* x, float* y, uint8_t* position,
                             int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const float* from = x + unit * InPlane(pool);
    ForWindows(pool, [&](const Window& window, int64_t out) {
      for (int piece = 0; piece < kPieces; ++piece) {
        const auto pixel = [&](int64_t iy, int64_t ix) {
          return Load(from + (iy * pool.in_w + ix) * kPixel + piece * kLanes);
        };
        Lanes best = pixel(window.y0, window.x0);
        IntLanes where = IntLanes{} + static_cast<int32_t>((window.y0 - window.top) * pool.window_w +
                                                           window.x0 - window.left);
        for (int64_t iy = window.y0; iy < window.y1; ++iy) {
          for (int64_t ix = window.x0; ix < window.x1; ++ix) {
            const Lanes value = pixel(iy, ix);
            // The first NaN wins and stays.
            const IntLanes wins = (value > best) | ((value != value) & (best == best));
            best = wins ? value : best;
            where =
                wins ? IntLanes{} + static_cast<int32_t>((iy - window.top) * pool.window_w + ix - window.left)
                     : where;
          }
        }
        Store(y + unit * OutPlane(pool) + out + piece * kLanes, best);
        const ByteLanes bytes = __builtin_convertvector(where, ByteLanes);
        std::memcpy(position + unit * OutPlane(pool) + out + piece * kLanes, &bytes, sizeof(bytes));
      }
    });
  }
}

template <>
void BatchIsa<kIsa>::MaxPoolGrad(const BatchPool& pool, const float* g, const uint8_t* position, float* dx,
                                 int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const float* gradient = g + unit * OutPlane(pool);
    const uint8_t* winner = position + unit * OutPlane(pool);
    SendBack(pool, dx + unit * InPlane(pool), [&](int64_t at, int place) {
      ByteLanes bytes;
      std::memcpy(&bytes, winner + at, sizeof(bytes));
      return __builtin_convertvector(bytes, IntLanes) == IntLanes{} + place ? Load(gradient + at) : Lanes{};
    });
  }
}

template <>
void BatchIsa<kIsa>::AvgPool(const BatchPool& pool, const float* x, float* y, int64_t begin, int64_t end) {
  const float share = 1.0f / static_cast<float>(pool.window_h * pool.window_w);
  for (int64_t unit = begin; unit < end; ++unit) {
    const float* from = x + unit * InPlane(pool);
    ForWindows(pool, [&](const Window& window, int64_t out) {
      for (int piece = 0; piece < kPieces; ++piece) {
        Lanes sum = {};
        for (int64_t iy = window.y0; iy < window.y1; ++iy) {
          for (int64_t ix = window.x0; ix < window.x1; ++ix) {
            sum += Load(from + (iy * pool.in_w + ix) * kPixel + piece * kLanes);
          }
        }
        Store(y + unit * OutPlane(pool) + out + piece * kLanes, sum * Splat(share));
      }
    });
  }
}

template <>
void BatchIsa<kIsa>::AvgPoolGrad(const BatchPool& pool, const float* g, float* dx, int64_t begin,
                                 int64_t end) {
  const float share = 1.0f / static_cast<float>(pool.window_h * pool.window_w);
  for (int64_t unit = begin; unit < end; ++unit) {
    const float* gradient = g + unit * OutPlane(pool);
    SendBack(pool, dx + unit * InPlane(pool),
             [&](int64_t at, int) { return Load(gradient + at) * Splat(share); });
  }
}

}  // namespace sinter::kernels
