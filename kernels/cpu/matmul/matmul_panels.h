// Splits the work of float matmuls and convolutions, and packs operands for the tiles of matmul_tile.h.
//
//   const TileGrid grid(m, n, panel_width, matmuls, threads, most_rows, most_columns);
//   for (int64_t t = 0; t < grid.rows.count; ++t) Unit(grid.rows.start(t), grid.rows.size(t));
//   PackRows<E>(kernels, a, /*row_stride=*/k, /*k_stride=*/1, rows, depth, m * k, row_panels);
//   PackColumns<E>(kernels, b, /*column_stride=*/1, /*k_stride=*/n, columns, depth, panel, width);
#ifndef SINTER_KERNELS_CPU_MATMUL_MATMUL_PANELS_H_
#define SINTER_KERNELS_CPU_MATMUL_MATMUL_PANELS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/matmul/matmul_tile.h"

namespace sinter::kernels {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }

// Splits `total` into the fewest parts of at most `most`. Their sizes differ by at most one.
struct EvenParts {
  int64_t total, count;
  EvenParts(int64_t total, int64_t most) : total(total), count(CeilDiv(total, most)) {}
  int64_t start(int64_t i) const { return i * (total / count) + Least(i, total % count); }
  int64_t size(int64_t i) const { return total / count + (i < total % count ? 1 : 0); }
};

// The tiles of a result with `m` rows and `n` columns. They do not affect the bits, so they may depend on the
// number of threads and the register width.
struct TileGrid {
  EvenParts rows, panels;
  int64_t panel_width;

  // `matmuls` results are shared among `threads` threads in contiguous parts. Tiles have at most `most_rows`
  // rows and `most_columns` columns.
  TileGrid(int64_t m, int64_t n, int64_t panel_width, int64_t matmuls, int threads, int64_t most_rows,
           int64_t most_columns)
      : rows(m, most_rows),
        panels(CeilDiv(n, panel_width), most_columns / panel_width),
        panel_width(panel_width) {
    // Minimizes the time of the busiest thread. Packing one element costs as much as kPack multiplications.
    constexpr int64_t kPack = 8, kMostTried = 16;
    const int64_t least_rows = rows.count, least_panels = panels.count;
    int64_t least = 0;
    for (int64_t r = least_rows;
         r == least_rows || (r <= least_rows + Least(threads, kMostTried) && r * kLeastRows <= m); ++r) {
      // Tries the fewest column parts, and enough of them for one or two tiles per thread.
      for (int64_t tiles = 0; tiles <= 2; ++tiles) {
        const int64_t c = Least(Most(tiles * threads / (matmuls * r), least_panels), panels.total);
        const int64_t height = CeilDiv(m, r), width = CeilDiv(panels.total, c) * panel_width;
        const int64_t time = CeilDiv(matmuls * r * c, threads) * (height * width + kPack * (height + width));
        if (least == 0 || time < least) least = time, rows.count = r, panels.count = c;
      }
    }
  }
  int64_t tiles() const { return rows.count * panels.count; }
  int64_t column(int64_t tile) const { return panels.start(tile) * panel_width; }

 private:
  static constexpr int64_t kLeastRows = 24;
};

// A vector of 32 bytes of the compute type.
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

// Transposes a square block; each vector is a row.
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

// Converts contiguous elements to the compute type.
template <typename E>
void ConvertRow(const typename E::Storage* from, int64_t count, typename E::Compute* to) {
  if constexpr (sizeof(typename E::Storage) == sizeof(typename E::Compute)) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(*to));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = E::Load(from[i]);
  }
}

// Converts contiguous elements to the storage type, rounded to nearest.
template <typename E>
void StoreRow(const typename E::Compute* from, int64_t count, typename E::Storage* to) {
  if constexpr (sizeof(typename E::Storage) == sizeof(typename E::Compute)) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(*to));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = E::Store(from[i]);
  }
}

// to[k * width + j] = from[j * column_stride + k]: columns that are contiguous along k become rows of a
// panel.
template <typename E>
void PackTransposed(const typename E::Storage* from, int64_t column_stride, int64_t columns, int64_t depth,
                    typename E::Compute* to, int64_t width) {
  using C = typename E::Compute;
  using V = typename Lanes32<C>::Type;
  constexpr int kCount = Lanes32<C>::kCount;
  const int64_t whole = columns / kCount * kCount, deep = depth / kCount * kCount;
  for (int64_t j = 0; j < whole; j += kCount) {
    for (int64_t k = 0; k < deep; k += kCount) {
      V block[kCount];
      for (int i = 0; i < kCount; ++i) block[i] = LoadLanes<E>(from + (j + i) * column_stride + k);
      Transpose(block);
      for (int i = 0; i < kCount; ++i) std::memcpy(to + (k + i) * width + j, &block[i], sizeof(V));
    }
    for (int64_t k = deep; k < depth; ++k) {
      for (int i = 0; i < kCount; ++i) to[k * width + j + i] = E::Load(from[(j + i) * column_stride + k]);
    }
  }
  for (int64_t k = 0; whole < columns && k < depth; ++k) {
    for (int64_t j = whole; j < columns; ++j) to[k * width + j] = E::Load(from[j * column_stride + k]);
  }
}

// Sets columns [columns, width) of a panel of `depth` rows to zero.
template <typename C>
void ClearColumns(int64_t columns, int64_t depth, C* panel, int64_t width) {
  if (columns == width) return;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = columns; j < width; ++j) panel[k * width + j] = 0;
  }
}

// Converts `count` contiguous elements without a function call; for the short rows of panels.
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

// to[k, j] = from[j * column_stride + k * k_stride]; one of the strides is 1. Columns [columns, width) are
// unspecified.
template <typename E>
void PackColumns(const MatmulKernels& kernels, const typename E::Storage* from, int64_t column_stride,
                 int64_t k_stride, int64_t columns, int64_t depth, typename E::Compute* to, int64_t width) {
  if constexpr (std::is_same_v<typename E::Storage, float>) {
    const int64_t lanes = kernels.lanes<float>();
    for (int64_t j = 0; column_stride != 1 && j < columns; j += lanes) {
      const int count = static_cast<int>(Least(lanes, columns - j));
      kernels.transpose_f32(from + j * column_stride, column_stride, count, depth, to + j, width);
    }
    if (column_stride != 1) return;
  }
  // Unused columns are multiplied too, and their values (such as denormals) must not slow this down.
  ClearColumns(columns, depth, to, width);
  if (column_stride == 1) {
    for (int64_t k = 0; k < depth; ++k) ConvertShortRow<E>(from + k * k_stride, columns, to + k * width);
  } else {
    PackTransposed<E>(from, column_stride, columns, depth, to, width);
  }
}

// Panels of rows, each as high as a register tile: element (i, k) of a panel of n rows is at k * n + i. After
// each panel there is space for writes of whole vectors.
constexpr int64_t kRowPanelSlack = 16;
inline int64_t RowPanelSize(const MatmulKernels& kernels, int64_t depth) {
  return kernels.rows * depth + kRowPanelSlack;
}
// Elements that suffice for all panels of `rows` rows.
constexpr int64_t MostRowPanels(int64_t rows) {
  return (rows + kMostTileRows) * kChain + CeilDiv(rows, kLeastTileRows) * kRowPanelSlack;
}

// to[k * rows + i] = from[i * row_stride + k], written in whole vectors: elements after the last one are
// overwritten.
template <typename E>
void PackRowsAlongK(const typename E::Storage* from, int64_t row_stride, int64_t rows, int64_t depth,
                    typename E::Compute* to) {
  using V = typename Lanes32<typename E::Compute>::Type;
  constexpr int kCount = Lanes32<typename E::Compute>::kCount;
  // Starts with the last rows, so that later writes correct the elements overwritten after them.
  for (int64_t first = (rows - 1) / kCount * kCount; first >= 0; first -= kCount) {
    const typename E::Storage* row[kCount];
    for (int i = 0; i < kCount; ++i) row[i] = from + Least(first + i, rows - 1) * row_stride;
    for (int64_t k = 0; depth < kCount && k < depth; ++k) {
      for (int64_t i = first; i < Least(first + kCount, rows); ++i)
        to[k * rows + i] = E::Load(row[i - first][k]);
    }
    for (int64_t next = 0; depth >= kCount && next < depth; next += kCount) {
      const int64_t k = Least(next, depth - kCount);  // The last square may overlap the one before.
      V block[kCount];
      for (int i = 0; i < kCount; ++i) block[i] = LoadLanes<E>(row[i] + k);
      Transpose(block);
      for (int i = 0; i < kCount; ++i) std::memcpy(to + (k + i) * rows + first, &block[i], sizeof(V));
    }
  }
}

// to[k * rows + i] = from[k * k_stride + i]; reads and writes kVectors whole vectors for each k.
template <typename E, int kVectors>
void PackRowsAcrossK(const typename E::Storage* from, int64_t k_stride, int64_t rows, int64_t depth,
                     typename E::Compute* to) {
  using V = typename Lanes32<typename E::Compute>::Type;
  constexpr int kCount = Lanes32<typename E::Compute>::kCount;
  for (int64_t k = 0; k < depth; ++k, from += k_stride, to += rows) {
    V lanes[kVectors];
    for (int v = 0; v < kVectors; ++v) lanes[v] = LoadLanes<E>(from + v * kCount);
    for (int v = 0; v < kVectors; ++v) std::memcpy(to + v * kCount, &lanes[v], sizeof(V));
  }
}

// Packs all panels if adjacent rows are contiguous in memory: a few k at a time for every panel, so that
// reads follow the memory order.
template <typename E>
void PackPanelsAcrossK(const MatmulKernels& kernels, const typename E::Storage* from, int64_t k_stride,
                       int64_t rows, int64_t depth, int64_t readable, typename E::Compute* to) {
  constexpr int64_t kSteps = 8, kCount = Lanes32<typename E::Compute>::kCount;
  static_assert(kMostTileRows <= 3 * Lanes32<double>::kCount);
  const EvenParts heights(rows, kernels.rows);
  for (int64_t k = 0; k < depth; k += kSteps) {
    for (int64_t h = 0; h < heights.count; ++h) {
      const int64_t at = k * k_stride + heights.start(h), count = heights.size(h),
                    vectors = CeilDiv(count, kCount);
      const int64_t steps = Least(kSteps, depth - k), room = readable - at - vectors * kCount;
      // Uses whole vectors while they stay inside the readable elements.
      const int64_t whole = room < 0 ? 0 : Least(steps, room / k_stride + 1);
      typename E::Compute* const panel = to + h * RowPanelSize(kernels, depth) + k * count;
      if (vectors == 1) PackRowsAcrossK<E, 1>(from + at, k_stride, count, whole, panel);
      if (vectors == 2) PackRowsAcrossK<E, 2>(from + at, k_stride, count, whole, panel);
      if (vectors == 3) PackRowsAcrossK<E, 3>(from + at, k_stride, count, whole, panel);
      for (int64_t i = whole; i < steps; ++i)
        ConvertShortRow<E>(from + at + i * k_stride, count, panel + i * count);
    }
  }
}

// Packs `rows` rows of from[i * row_stride + k * k_stride] into panels; one of the strides is 1. `readable`:
// the number of elements that start at `from`.
template <typename E>
void PackRows(const MatmulKernels& kernels, const typename E::Storage* from, int64_t row_stride,
              int64_t k_stride, int64_t rows, int64_t depth, int64_t readable, typename E::Compute* to) {
  if (k_stride != 1) return PackPanelsAcrossK<E>(kernels, from, k_stride, rows, depth, readable, to);
  const EvenParts heights(rows, kernels.rows);
  for (int64_t h = 0; h < heights.count; ++h, to += RowPanelSize(kernels, depth)) {
    const auto* const first = from + heights.start(h) * row_stride;
    if constexpr (std::is_same_v<typename E::Storage, float>) {
      const int count = static_cast<int>(heights.size(h));
      kernels.transpose_f32(first, row_stride, count, depth, to, count);
    } else {
      PackRowsAlongK<E>(first, row_stride, heights.size(h), depth, to);
    }
  }
}

// Returns the memory lines of `runs` runs of `length` elements, `stride` elements apart.
template <typename S>
Ahead LinesOf(const S* from, int64_t runs, int64_t length, int64_t stride) {
  constexpr int64_t kSize = sizeof(S);
  const int64_t run = CeilDiv(length * kSize, kLine);
  return {
      .at = reinterpret_cast<const char*>(from), .lines = runs * run, .run = run, .stride = stride * kSize};
}
// Spreads the prefetches evenly over `tiles` tiles of `depth` steps.
inline Ahead Within(Ahead ahead, int64_t tiles, int64_t depth) {
  ahead.per_block = CeilDiv(ahead.lines, Most(1, tiles * CeilDiv(depth, kAheadBlock)));
  return ahead;
}

// Multiplies a tile of `rows` rows and `columns` columns by register tiles. `tile` has their common values:
// its b and sums are those of the first row and panel. Panels are two registers wide. A panel stays in the L1
// cache for all rows.
template <typename C>
void MultiplyPanels(const MatmulKernels& kernels, MatmulTile<C> tile, int64_t panel_stride,
                    const C* const* pointers, int64_t rows, int64_t columns) {
  const int64_t lanes = kernels.lanes<C>();
  C* const sums = tile.sums;
  const EvenParts heights(rows, kernels.rows);
  for (int64_t j = 0; j < columns; j += 2 * lanes, tile.b += panel_stride) {
    tile.vectors = columns - j > lanes ? 2 : 1;
    for (int64_t h = 0; h < heights.count; ++h) {
      tile.rows = pointers + heights.start(h), tile.row_count = static_cast<int>(heights.size(h));
      tile.sums = sums + heights.start(h) * tile.sums_stride + j;
      kernels.Multiply(tile);
    }
  }
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_MATMUL_PANELS_H_
