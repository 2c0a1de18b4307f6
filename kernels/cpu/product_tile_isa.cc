// The tiles of product_tile.h, compiled once for each instruction set (batch_isa.h).
#include <utility>

#include "sinter/kernels/cpu/batch_lanes.h"
#include "sinter/kernels/cpu/product_tile.h"

namespace sinter::kernels {
namespace {

// Rows times two vectors of sums, the vectors of b and one of a must fit into the registers.
constexpr int kRows = kLanes == 16 ? 12 : 6;
static_assert(kRows <= kMostTileRows && 2 * kLanes <= kMostTileColumns);

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

// Keeps a value in a register: GCC would read it from memory once for each product.
template <typename V>
SINTER_ALWAYS_INLINE V Keep(V value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#endif
  return value;
}

template <typename C, int kCount, int kVectors>
void MultiplyPanels(const ProductTile<C>& tile) {
  using V = typename Register<C>::Type;
  constexpr int kLaneCount = Register<C>::kCount;
  const C* row[kCount];
  SINTER_UNROLL
  for (int i = 0; i < kCount; ++i) row[i] = tile.rows[i];
  for (int64_t p = 0; p < tile.panels; ++p) {
    V sum[kCount][kVectors];
    SINTER_UNROLL
    for (int i = 0; i < kCount; ++i) {
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = V{};
    }
    const C* b = tile.b + p * tile.panel_stride;
    for (int64_t s = 0; s < tile.segments; ++s) {
      int64_t at = tile.offsets[s];
      for (int64_t k = 0; k < tile.length; ++k, at += tile.k_stride, b += tile.b_stride) {
        V column[kVectors];
        SINTER_UNROLL
        for (int v = 0; v < kVectors; ++v) column[v] = Keep(LoadRegister(b + v * kLaneCount));
        SINTER_UNROLL
        for (int i = 0; i < kCount; ++i) {
          const V value = Keep(row[i][at] - V{});  // Less zero, unlike plus zero, is nothing to do.
          SINTER_UNROLL
          for (int v = 0; v < kVectors; ++v) sum[i][v] += value * column[v];
        }
      }
    }
    C* to = tile.sums + p * kVectors * kLaneCount;
    SINTER_UNROLL
    for (int i = 0; i < kCount; ++i, to += tile.sums_stride) {
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        C* const place = to + v * kLaneCount;
        const V value = tile.adds ? LoadRegister(place) + sum[i][v] : sum[i][v];
        std::memcpy(place, &value, sizeof(value));
      }
    }
  }
}

template <typename C>
using MultiplyFunction = void (*)(const ProductTile<C>& tile);

// MultiplyPanels by rows and vectors.
template <typename C, typename Counts>
struct Functions;
template <typename C, int... kCounts>
struct Functions<C, std::integer_sequence<int, kCounts...>> {
  static constexpr MultiplyFunction<C> kByRows[][2] = {
      {MultiplyPanels<C, kCounts + 1, 1>, MultiplyPanels<C, kCounts + 1, 2>}...};
};

template <typename C>
void Multiply(const ProductTile<C>& tile) {
  Functions<C, std::make_integer_sequence<int, kRows>>::kByRows[tile.row_count - 1][tile.vectors - 1](tile);
}

}  // namespace

template <>
const ProductKernels& ProductKernelsOf<kIsa>() {
  static constexpr ProductKernels kKernels = {.vector_bytes = kLanes * static_cast<int>(sizeof(float)),
                                              .rows = kRows,
                                              .multiply_f32 = Multiply<float>,
                                              .multiply_f64 = Multiply<double>};
  return kKernels;
}

}  // namespace sinter::kernels
