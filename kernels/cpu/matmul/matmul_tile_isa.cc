// The tiles of matmul_tile.h, compiled once for each instruction set (batch_isa.h).
#include <utility>

#include "sinter/kernels/cpu/images/batch_lanes.h"
#include "sinter/kernels/cpu/matmul/matmul_tile.h"

namespace sinter::kernels {
namespace {

// The sums (kRows times two vectors), the vectors of b and one vector of a must fit in the registers.
constexpr int kRows = kLanes == 16 ? 12 : 6;
static_assert(kRows <= kMostTileRows && kRows >= kLeastTileRows && 2 * kLanes <= kMostTileColumns);

template <typename C>
struct Register {
  static constexpr int kCount = kLanes * static_cast<int>(sizeof(float)) / static_cast<int>(sizeof(C));
  typedef C Type __attribute__((vector_size(kLanes * sizeof(float))));
};

template <typename C>
SINTER_ALWAYS_INLINE typename Register<C>::Type LoadRegister(const C* from) {
  typename Register<C>::Type value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Keeps a value in a register: GCC would otherwise load it from memory for each multiplication.
template <typename V>
SINTER_ALWAYS_INLINE V Keep(V value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#endif
  return value;
}

template <typename C, int kCount, int kVectors>
SINTER_ALWAYS_INLINE void StoreSums(const typename Register<C>::Type (&sum)[kCount][kVectors], C* to,
                                    int64_t stride, bool adds) {
  using V = typename Register<C>::Type;
  SINTER_UNROLL
  for (int i = 0; i < kCount; ++i, to += stride) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      C* const place = to + v * Register<C>::kCount;
      const V value = adds ? LoadRegister(place) + sum[i][v] : sum[i][v];
      std::memcpy(place, &value, sizeof(value));
    }
  }
}

template <typename C, int kCount, int kVectors>
void MultiplyTile(const MatmulTile<C>& tile) {
  using V = typename Register<C>::Type;
  constexpr int kLaneCount = Register<C>::kCount;
  const C* row[kCount];
  SINTER_UNROLL
  for (int i = 0; i < kCount; ++i) row[i] = tile.rows[i];
  V sum[kCount][kVectors];
  SINTER_UNROLL
  for (int i = 0; i < kCount; ++i) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = V{};
  }
  const C* b = tile.b;
  for (int64_t s = 0; s < tile.segments; ++s) {
    int64_t at = tile.offsets[s];
    for (int64_t k = 0; k < tile.length; ++k, at += tile.k_stride, b += tile.b_stride) {
      V column[kVectors];
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) column[v] = Keep(LoadRegister(b + v * kLaneCount));
      SINTER_UNROLL
      for (int i = 0; i < kCount; ++i) {
        // Broadcasts. The compiler folds x - 0 to x, but not x + 0, because of -0.
        const V value = Keep(row[i][at] - V{});
        SINTER_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[i][v] += value * column[v];
      }
    }
  }
  StoreSums<C, kCount, kVectors>(sum, tile.sums, tile.sums_stride, tile.adds);
}

SINTER_ALWAYS_INLINE void AskForBlock(Ahead& ahead) {
  for (int64_t i = 0; i < ahead.per_block && ahead.lines > 0; ++i, --ahead.lines) {
    __builtin_prefetch(ahead.at + ahead.done * kLine, 0, 2);
    if (++ahead.done == ahead.run) ahead.done = 0, ahead.at += ahead.stride;
  }
}

// Half a register.
typedef float Half __attribute__((vector_size(kLanes * sizeof(float) / 2)));

// Transposes a square block. Each register holds two rows: row i, and the row half a block later.
template <int kRows>
SINTER_ALWAYS_INLINE void TransposeHalves(Lanes (&v)[kRows]) {
  Lanes t[kRows];
#if defined(__AVX512F__)
  SINTER_UNROLL
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    t[i + 1] =
        __builtin_shufflevector(v[i], v[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  SINTER_UNROLL
  for (int i = 0; i < 8; i += 4) {
    SINTER_UNROLL
    for (int j = 0; j < 2; ++j) {
      v[i + 2 * j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25,
                                             12, 13, 28, 29);
      v[i + 2 * j + 1] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11,
                                                 26, 27, 14, 15, 30, 31);
    }
  }
  SINTER_UNROLL
  for (int i = 0; i < 4; ++i) {
    t[i] = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    t[i + 4] =
        __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
  }
  SINTER_UNROLL
  for (int i = 0; i < 8; ++i) v[i] = t[i];
#elif defined(__AVX__)
  SINTER_UNROLL
  for (int i = 0; i < 4; i += 2) {
    t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  SINTER_UNROLL
  for (int j = 0; j < 2; ++j) {
    v[2 * j] = __builtin_shufflevector(t[j], t[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    v[2 * j + 1] = __builtin_shufflevector(t[j], t[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#else
  t[0] = v[0], t[1] = v[1];
  v[0] = __builtin_shufflevector(t[0], t[1], 0, 4, 2, 6);
  v[1] = __builtin_shufflevector(t[0], t[1], 1, 5, 3, 7);
#endif
}

SINTER_ALWAYS_INLINE Lanes Join(const float* low, const float* high) {
  Half halves[2];
  std::memcpy(&halves[0], low, sizeof(Half));
  std::memcpy(&halves[1], high, sizeof(Half));
#if defined(__AVX512F__)
  return __builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(__AVX__)
  return __builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return __builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3);
#endif
}

void TransposeRows(const float* from, int64_t stride, int count, int64_t depth, float* to,
                   int64_t to_stride) {
  constexpr int kHalf = kLanes / 2;
  const float* rows[kLanes];
  for (int i = 0; i < kLanes; ++i) rows[i] = from + (i < count ? i : count - 1) * stride;
  if (depth < kHalf) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int i = 0; i < count; ++i) to[k * to_stride + i] = rows[i][k];
    }
    return;
  }
  for (int64_t next = 0; next < depth; next += kHalf) {
    const int64_t k =
        // The last square may overlap the one before.
        next + kHalf <= depth ? next : depth - kHalf;
    Lanes block[kHalf];
    SINTER_UNROLL
    for (int i = 0; i < kHalf; ++i) block[i] = Join(rows[i] + k, rows[kHalf + i] + k);
    TransposeHalves(block);
    SINTER_UNROLL
    for (int i = 0; i < kHalf; ++i) std::memcpy(to + (k + i) * to_stride, &block[i], sizeof(Lanes));
  }
}

template <typename C, int kCount, int kVectors, bool kCopies>
void MultiplyPanel(const PanelTile<C>& tile) {
  using V = typename Register<C>::Type;
  constexpr int kLaneCount = Register<C>::kCount;
  V sum[kCount][kVectors];
  C* to = tile.sums;
  SINTER_UNROLL
  for (int i = 0; i < kCount; ++i, to += tile.sums_stride) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sum[i][v] = V{};
      __builtin_prefetch(to + v * kLaneCount, 1);
    }
  }
  const C* a = tile.a;
  const C* b = tile.b;
  C* copy = tile.copy;
  for (int64_t left = tile.depth; left > 0;) {
    int64_t steps = left < kAheadBlock ? left : kAheadBlock;
    left -= steps;
    AskForBlock(*tile.ahead_b);
    AskForBlock(*tile.ahead_a);
    for (; steps > 0; --steps, a += tile.a_stride, b += tile.b_stride) {
      V column[kVectors];
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        column[v] = Keep(LoadRegister(b + v * kLaneCount));
        if constexpr (kCopies) {
          std::memcpy(copy, &column[v], sizeof(V));
          copy += kLaneCount;
        }
      }
      SINTER_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const V value = Keep(a[i] - V{});
        SINTER_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[i][v] += value * column[v];
      }
    }
  }
  StoreSums<C, kCount, kVectors>(sum, tile.sums, tile.sums_stride, tile.adds);
}

template <typename C>
using PanelFunction = void (*)(const PanelTile<C>& tile);

template <typename C, typename Counts>
struct PanelFunctions;
template <typename C, int... kCounts>
struct PanelFunctions<C, std::integer_sequence<int, kCounts...>> {
  static constexpr PanelFunction<C> kByRows[][2][2] = {
      {{MultiplyPanel<C, kCounts + 1, 1, false>, MultiplyPanel<C, kCounts + 1, 1, true>},
       {MultiplyPanel<C, kCounts + 1, 2, false>, MultiplyPanel<C, kCounts + 1, 2, true>}}...};
};

template <typename C>
void MultiplyOnePanel(const PanelTile<C>& tile) {
  PanelFunctions<C, std::make_integer_sequence<int, kRows>>::kByRows[tile.row_count - 1][tile.vectors - 1]
                                                                    [tile.copy != nullptr](tile);
}

template <typename C>
using MultiplyFunction = void (*)(const MatmulTile<C>& tile);

// MultiplyTile for each number of rows and vectors.
template <typename C, typename Counts>
struct Functions;
template <typename C, int... kCounts>
struct Functions<C, std::integer_sequence<int, kCounts...>> {
  static constexpr MultiplyFunction<C> kByRows[][2] = {
      {MultiplyTile<C, kCounts + 1, 1>, MultiplyTile<C, kCounts + 1, 2>}...};
};

template <typename C>
void Multiply(const MatmulTile<C>& tile) {
  Functions<C, std::make_integer_sequence<int, kRows>>::kByRows[tile.row_count - 1][tile.vectors - 1](tile);
}

}  // namespace

template <>
const MatmulKernels& MatmulKernelsOf<kIsa>() {
  static constexpr MatmulKernels kKernels = {.vector_bytes = kLanes * static_cast<int>(sizeof(float)),
                                             .rows = kRows,
                                             .multiply_f32 = Multiply<float>,
                                             .multiply_f64 = Multiply<double>,
                                             .transpose_f32 = TransposeRows,
                                             .multiply_panel_f32 = MultiplyOnePanel<float>,
                                             .multiply_panel_f64 = MultiplyOnePanel<double>};
  return kKernels;
}

}  // namespace sinter::kernels
