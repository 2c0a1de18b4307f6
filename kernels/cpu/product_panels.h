// How products and convolutions of floats cut their work and bring operands before the tiles of product_tile.h.
//
//   const EvenParts tiles(m, 120);
//   for (int64_t t = 0; t < tiles.count; ++t) Unit(tiles.start(t), tiles.size(t));
//   PackColumns<E>(b, /*column_stride=*/1, /*k_stride=*/n, columns, depth, panel, width);
#ifndef SINTER_KERNELS_CPU_PRODUCT_PANELS_H_
#define SINTER_KERNELS_CPU_PRODUCT_PANELS_H_

#include <cstdint>
#include <cstring>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/product_tile.h"

namespace sinter::kernels {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }

// `total` cut into the fewest parts of at most `most`, which differ by at most one.
struct EvenParts {
  int64_t total, count;
  EvenParts(int64_t total, int64_t most) : total(total), count(CeilDiv(total, most)) {}
  int64_t start(int64_t i) const { return i * (total / count) + Least(i, total % count); }
  int64_t size(int64_t i) const { return total / count + (i < total % count ? 1 : 0); }
};

// One vector of 32 bytes of the compute type.
template <typename C>
struct Lanes32 {
  typedef C Type __attribute__((vector_size(32)));
  static constexpr int kCount = 32 / static_cast<int>(sizeof(C));
};

template <typename E>
typename Lanes32<typename E::Compute>::Type LoadLanes(const typename E::Storage* from) {
  using C = typename E::Compute;
  typename Lanes32<C>::Type lanes;
  if constexpr (sizeof(typename E::Storage) == sizeof(C)) {
    std::memcpy(&lanes, from, sizeof(lanes));
  } else {
    C values[Lanes32<C>::kCount];
    for (int i = 0; i < Lanes32<C>::kCount; ++i) values[i] = E::Load(from[i]);
    std::memcpy(&lanes, values, sizeof(lanes));
  }
  return lanes;
}

// Transposes a square of rows.
inline void Transpose(Lanes32<float>::Type (&v)[8]) {
  using V = Lanes32<float>::Type;
  V t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      v[i + 2 * j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      v[i + 2 * j + 1] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    t[i + 4] = __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) v[i] = t[i];
}
inline void Transpose(Lanes32<double>::Type (&v)[4]) {
  using V = Lanes32<double>::Type;
  V t[4];
  for (int i = 0; i < 4; i += 2) {
    t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 2, 6);
    t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    v[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
    v[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
  }
}

// Elements one beside the other, converted.
template <typename E>
void ConvertRow(const typename E::Storage* from, int64_t count, typename E::Compute* to) {
  if constexpr (sizeof(typename E::Storage) == sizeof(typename E::Compute)) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(*to));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = E::Load(from[i]);
  }
}

// The other way, rounded to the nearest.
template <typename E>
void StoreRow(const typename E::Compute* from, int64_t count, typename E::Storage* to) {
  if constexpr (sizeof(typename E::Storage) == sizeof(typename E::Compute)) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(*to));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = E::Store(from[i]);
  }
}

// to[RowOf(k) * width + j] = from[j * column_stride + k]: columns that lie along k become rows of a panel.
template <typename E, typename RowOf>
void PackTransposed(const typename E::Storage* from, int64_t column_stride, int64_t columns, int64_t depth,
                    typename E::Compute* to, int64_t width, const RowOf& row_of) {
  using C = typename E::Compute;
  using V = typename Lanes32<C>::Type;
  constexpr int kCount = Lanes32<C>::kCount;
  const int64_t whole = columns / kCount * kCount, deep = depth / kCount * kCount;
  for (int64_t j = 0; j < whole; j += kCount) {
    for (int64_t k = 0; k < deep; k += kCount) {
      V block[kCount];
      for (int i = 0; i < kCount; ++i) block[i] = LoadLanes<E>(from + (j + i) * column_stride + k);
      Transpose(block);
      for (int i = 0; i < kCount; ++i) std::memcpy(to + row_of(k + i) * width + j, &block[i], sizeof(V));
    }
    for (int64_t k = deep; k < depth; ++k) {
      for (int i = 0; i < kCount; ++i)
        to[row_of(k) * width + j + i] = E::Load(from[(j + i) * column_stride + k]);
    }
  }
  for (int64_t k = 0; whole < columns && k < depth; ++k) {
    for (int64_t j = whole; j < columns; ++j)
      to[row_of(k) * width + j] = E::Load(from[j * column_stride + k]);
  }
}

// Asks for the `part`-th of `parts` parts of what PackColumns will read, into the second cache.
template <typename S>
void PrefetchColumns(const S* from, int64_t column_stride, int64_t k_stride, int64_t columns, int64_t depth,
                     int64_t part, int64_t parts) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(S));
  const int64_t lines = column_stride == 1 ? depth : columns, length = column_stride == 1 ? columns : depth;
  const int64_t stride = column_stride == 1 ? k_stride : column_stride;
  for (int64_t i = part * lines / parts; i < (part + 1) * lines / parts; ++i) {
    for (int64_t at = 0; at < length; at += kLine) __builtin_prefetch(from + i * stride + at, 0, 2);
  }
}

// Columns [columns, width) of a panel of `depth` rows become zero.
template <typename C>
void ClearColumns(int64_t columns, int64_t depth, C* panel, int64_t width) {
  if (columns == width) return;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = columns; j < width; ++j) panel[k * width + j] = 0;
  }
}

// `count` elements one beside the other, converted: without a call, for the short rows of panels.
template <typename E>
void ConvertShortRow(const typename E::Storage* from, int64_t count, typename E::Compute* to) {
  constexpr int kCount = Lanes32<typename E::Compute>::kCount;
  int64_t j = 0;
  for (; j + kCount <= count; j += kCount) {
    const auto lanes = LoadLanes<E>(from + j);
    std::memcpy(to + j, &lanes, sizeof(lanes));
  }
  for (; j < count; ++j) to[j] = E::Load(from[j]);
}

// to[k, j] = from[j * column_stride + k * k_stride], where one of the strides is 1; zero for j in [columns, width).
template <typename E>
void PackColumns(const typename E::Storage* from, int64_t column_stride, int64_t k_stride, int64_t columns,
                 int64_t depth, typename E::Compute* to, int64_t width) {
  ClearColumns(columns, depth, to, width);
  if (column_stride == 1) {
    for (int64_t k = 0; k < depth; ++k) ConvertShortRow<E>(from + k * k_stride, columns, to + k * width);
  } else {
    PackTransposed<E>(from, column_stride, columns, depth, to, width, [](int64_t k) { return k; });
  }
}

// A tile of `rows` rows and `columns` columns, by tiles of registers. What these share is in `tile`: b and sums are those of
// the first row and panel; panels are as wide as two registers.
template <typename C>
void MultiplyPanels(const ProductKernels& kernels, ProductTile<C> tile, const C* const* pointers,
                    int64_t rows, int64_t columns) {
  const int64_t width = 2 * kernels.lanes<C>(), whole = columns / width, rest = columns % width;
  const C* const b = tile.b;
  C* const sums = tile.sums;
  const EvenParts heights(rows, kernels.rows);
  for (int64_t h = 0; h < heights.count; ++h) {
    tile.rows = pointers + heights.start(h), tile.row_count = static_cast<int>(heights.size(h));
    tile.b = b, tile.sums = sums + heights.start(h) * tile.sums_stride, tile.panels = whole, tile.vectors = 2;
    if (whole > 0) kernels.Multiply(tile);
    if (rest == 0) continue;
    tile.b += whole * tile.panel_stride, tile.sums += whole * width, tile.panels = 1;
    tile.vectors = rest > kernels.lanes<C>() ? 2 : 1;
    kernels.Multiply(tile);
  }
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_PRODUCT_PANELS_H_
