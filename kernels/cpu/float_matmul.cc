// A unit of work is a tile of the result (of one chunk of k): for each chain of k, panels of b as wide as the registers are
// brought into the first cache and multiplied with all rows of the tile. Rows of a are read where they are when they lie along k.
#include "sinter/kernels/cpu/float_matmul.h"

#include <cstring>

#include "sinter/kernels/cpu/activation.h"
#include "sinter/kernels/cpu/product_panels.h"

namespace sinter::kernels {
namespace {

// Tiles: large enough that copying operands costs little, small enough for the second cache.
constexpr int64_t kMostRows = 192, kMostColumns = 192, kLeastRows = 24;
// A thread should have this many tiles, so that a late one delays little.
constexpr int64_t kTilesOfThread = 4;
// Fewer tiles than these, counted by a grid of the shape alone, and more of k than this: k is cut.
constexpr int64_t kGridRows = 48, kGridColumns = 64, kFewTiles = 16, kMostChunks = 32, kLeastChunk = 1024;

// The part of the work that the shape alone decides.
struct Chunks {
  int64_t size, count;  // Of k.

  explicit Chunks(const Matmul& p) : size(p.k), count(1) {
    const int64_t tiles = p.batch * CeilDiv(p.m, kGridRows) * CeilDiv(p.n, kGridColumns);
    if (tiles >= kFewTiles || p.k < 2 * kLeastChunk) return;
    const int64_t chunks = Least(p.k / kLeastChunk, kMostChunks / tiles);
    size = CeilDiv(CeilDiv(p.k, chunks), kChain) * kChain;
    count = CeilDiv(p.k, size);
  }
};

// Tiles of the result. They change no bits, so that they may depend on the threads and the registers.
struct Grid {
  EvenParts rows, panels;
  int64_t panel_width;

  Grid(const Matmul& p, int64_t chunks, int threads, int64_t panel_width)
      : rows(p.m, kMostRows),
        panels(CeilDiv(p.n, panel_width), kMostColumns / panel_width),
        panel_width(panel_width) {
    int64_t most_rows = kMostRows, most_panels = kMostColumns / panel_width;
    while (p.batch * chunks * tiles() < kTilesOfThread * threads &&
           (most_panels > 2 || most_rows > kLeastRows)) {
      (most_panels > 2 ? most_panels : most_rows) /= 2;
      rows = EvenParts(p.m, most_rows), panels = EvenParts(CeilDiv(p.n, panel_width), most_panels);
    }
  }
  int64_t tiles() const { return rows.count * panels.count; }
  int64_t column(int64_t tile) const { return panels.start(tile) * panel_width; }
};

// A tile: rows and columns of one product's result, and the k's that are summed.
template <typename C>
struct Tile {
  int64_t product = 0, row = 0, rows = 0, column = 0, columns = 0, k = 0, k_end = 0;
  int64_t in_place =
      0;  // The columns, from the first on, whose sums are at `sums`; the others' are in the scratch.
  C* sums = nullptr;     // In rows of n.
  C* scratch = nullptr;  // In rows of kMostColumns.
};

template <typename C>
struct Scratch {
  // Rows in panels, each rounded up to whole vectors.
  static constexpr int64_t kRows = kMostRows * 2 * kChain;
  alignas(64) C sums[kMostRows * kMostColumns];
  alignas(64) C rows[kRows];                    // Of a, where they cannot be read in place.
  alignas(64) C panels[kMostColumns * kChain];  // Of b.
};

template <typename E>
class FloatProduct {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  FloatProduct(const Matmul& p, const MatmulOperands& o, const Chunks& chunks, const Grid& grid,
               const ProductKernels& kernels, C* partial)
      : p_(p),
        o_(o),
        a_(static_cast<const S*>(o.a)),
        b_(static_cast<const S*>(o.b)),
        chunks_(chunks),
        grid_(grid),
        kernels_(kernels),
        partial_(partial) {}

  int64_t units() const { return chunks_.count * p_.batch * grid_.tiles(); }

  void RunUnit(int64_t unit, Scratch<C>& s) const {
    const int64_t tile = unit % grid_.tiles(), chunk = unit / grid_.tiles() / p_.batch;
    const int64_t r = tile / grid_.panels.count, c = tile % grid_.panels.count;
    Tile<C> t = {.product = unit / grid_.tiles() % p_.batch};
    t.row = grid_.rows.start(r), t.rows = grid_.rows.size(r);
    t.column = grid_.column(c), t.columns = Least(grid_.column(c + 1), p_.n) - t.column;
    t.k = chunk * chunks_.size, t.k_end = Least(t.k + chunks_.size, p_.k);
    // What is whole vectors of plain sums is added up where it belongs.
    const int64_t at = (t.product * p_.m + t.row) * p_.n + t.column;
    C* const place = chunks_.count > 1 ? partial_ + chunk * Elements() + at : Place(at);
    const int64_t rest = t.columns % grid_.panel_width;
    t.in_place = place == nullptr ? 0 : t.columns - (rest == kernels_.lanes<C>() ? 0 : rest);
    t.sums = place, t.scratch = s.sums;
    if (p_.k == 0) Clear(t);
    const EvenParts chains(t.k_end - t.k, kChain);
    for (int64_t i = 0; i < chains.count; ++i) MultiplyChain(t, t.k + chains.start(i), chains.size(i), s);
    for (int64_t i = 0; i < t.rows; ++i) {
      C* const row = place == nullptr ? s.sums + i * kMostColumns : place + i * p_.n;
      if (place != nullptr && t.in_place < t.columns) {
        std::memcpy(row + t.in_place, s.sums + i * kMostColumns + t.in_place,
                    static_cast<size_t>(t.columns - t.in_place) * sizeof(C));
      }
      if (chunks_.count == 1) Finish(row, at + i * p_.n, t.column, t.columns);
    }
  }

  // Adds up the chunks of one row of the result.
  void AddChunks(int64_t row) const {
    C* const sums = partial_ + row * p_.n;
    for (int64_t chunk = 1; chunk < chunks_.count; ++chunk) {
      const C* const next = sums + chunk * Elements();
      for (int64_t j = 0; j < p_.n; ++j) sums[j] += next[j];
    }
    Finish(sums, row * p_.n, 0, p_.n);
  }

  int64_t Elements() const { return p_.batch * p_.m * p_.n; }

 private:
  static constexpr bool kInPlace = sizeof(S) == sizeof(C);

  // The result's memory, where it holds elements of the compute type and nothing that is yet to be read.
  C* Place(int64_t at) const {
    if constexpr (kInPlace) {
      if (o_.addend == nullptr) return static_cast<C*>(o_.result) + at;
    }
    return nullptr;
  }

  void Clear(const Tile<C>& t) const {
    for (int64_t i = 0; i < t.rows; ++i) {
      for (int64_t j = 0; j < t.columns; ++j) {
        (j < t.in_place ? t.sums + i * p_.n : t.scratch + i * kMostColumns)[j] = 0;
      }
    }
  }

  void MultiplyChain(const Tile<C>& t, int64_t k, int64_t depth, Scratch<C>& s) const {
    const Rows rows = PackRows(t, k, depth, s);
    const EvenParts heights(t.rows, kernels_.rows);
    const int64_t zero = 0, whole = t.columns / grid_.panel_width;
    ProductTile<C> panels[2];  // The whole ones, and the narrow one that may end the tile.
    if (whole > 0) panels[0] = Panels(t, k, depth, 0, whole, s);
    if (whole < CeilDiv(t.columns, grid_.panel_width)) panels[1] = Panels(t, k, depth, whole, 1, s);
    // Of a matrix that is read once, what is packed next is asked for while this is multiplied: the next chain, or the next tile's
    // first (100 x 2000 x 2000 on one core of an EPYC: 148 GFLOP/s without, 163 with).
    const bool ends = k + 2 * depth > t.k_end;
    const int64_t next_j = ends ? t.columns : 0, next_columns = Least(t.columns, p_.n - t.column - next_j);
    const S* const next = Column(t, ends ? t.k : k + depth, next_j);
    const bool prefetches = grid_.rows.count == 1 && !p_.transpose_b && next_columns > 0;
    int64_t part = 0;
    const int64_t parts = heights.count * CeilDiv(t.columns, grid_.panel_width);
    for (int64_t h = 0; h < heights.count; ++h) {
      const int64_t first = heights.start(h);
      const C* pointers[kMostTileRows];
      const int count = static_cast<int>(heights.size(h));
      for (int i = 0; i < count; ++i) {
        pointers[i] = rows.first + (p_.transpose_a ? h * rows.row_stride + i : (first + i) * rows.row_stride);
      }
      for (ProductTile<C> tile : panels) {
        if (tile.segments == 0) continue;
        tile.rows = pointers, tile.row_count = count, tile.k_stride = rows.k_stride, tile.offsets = &zero;
        tile.sums += first * tile.sums_stride;
        const int64_t step = prefetches ? 1 : tile.panels, calls = tile.panels / step;
        tile.panels = step;
        for (int64_t i = 0; i < calls; ++i) {
          if (prefetches) PrefetchColumns(next, 1, p_.n, next_columns, depth, part++, parts);
          kernels_.Multiply(tile);
          tile.b += tile.panel_stride, tile.sums += tile.vectors * kernels_.lanes<C>();
        }
      }
    }
  }

  // The tile's rows of a. Along k: element (i, k) at i * row_stride + k. Else in panels, one a tile of registers, of
  // row_stride elements: element i of panel h at h * row_stride + k * k_stride + i.
  struct Rows {
    const C* first;
    int64_t row_stride, k_stride;
  };
  Rows PackRows(const Tile<C>& t, int64_t k, int64_t depth, Scratch<C>& s) const {
    const S* const a = a_ + t.product * p_.m * p_.k + (p_.transpose_a ? k * p_.m + t.row : t.row * p_.k + k);
    if (!p_.transpose_a) {
      if constexpr (kInPlace) {
        return {a, p_.k, 1};
      } else {
        for (int64_t i = 0; i < t.rows; ++i) ConvertRow<E>(a + i * p_.k, depth, s.rows + i * depth);
        return {s.rows, depth, 1};
      }
    }
    const EvenParts heights(t.rows, kernels_.rows);
    constexpr int kCount = Lanes32<C>::kCount;
    const int64_t width = CeilDiv(kernels_.rows, kCount) * kCount;
    for (int64_t h = 0; h < heights.count; ++h) {
      C* to = s.rows + h * width * depth;
      const S* from = a + heights.start(h);
      // Whole vectors where they stay within the matrix.
      const int64_t count = t.row + heights.start(h) + width <= p_.m ? width : heights.size(h);
      for (int64_t i = 0; i < depth; ++i, from += p_.m, to += width) ConvertShortRow<E>(from, count, to);
    }
    return {s.rows, width * depth, width};
  }

  // Element (k, j) of the tile's b.
  const S* Column(const Tile<C>& t, int64_t k, int64_t j) const {
    const int64_t column = t.column + j;
    return b_ + t.product * p_.n * p_.k + (p_.transpose_b ? column * p_.k + k : k * p_.n + column);
  }

  // What the tiles of registers share that multiply with `count` panels of b, which are all whole or one.
  ProductTile<C> Panels(const Tile<C>& t, int64_t k, int64_t depth, int64_t first, int64_t count,
                        Scratch<C>& s) const {
    const int64_t j = first * grid_.panel_width, columns = Least(grid_.panel_width, t.columns - j);
    const bool in_place = j + columns <= t.in_place;
    ProductTile<C> tile = {.segments = 1, .length = depth, .panels = count, .adds = k > t.k};
    tile.vectors = columns > kernels_.lanes<C>() ? 2 : 1;
    tile.sums = (in_place ? t.sums : t.scratch) + j, tile.sums_stride = in_place ? p_.n : kMostColumns;
    const int64_t width = tile.vectors * kernels_.lanes<C>();
    if constexpr (kInPlace) {
      // For few rows a copy costs more than it saves.
      if (!p_.transpose_b && columns == width && t.rows <= kernels_.rows) {
        tile.b = Column(t, k, j), tile.b_stride = p_.n, tile.panel_stride = width;
        return tile;
      }
    }
    tile.b = s.panels + j * kChain, tile.b_stride = width, tile.panel_stride = width * kChain;
    for (int64_t p = 0; p < count; ++p) {
      PackColumns<E>(Column(t, k, j + p * width), p_.transpose_b ? p_.k : 1, p_.transpose_b ? 1 : p_.n,
                     columns, depth, s.panels + j * kChain + p * tile.panel_stride, width);
    }
    return tile;
  }

  // From sums to `columns` elements of the result from `at` on.
  void Finish(C* sums, int64_t at, int64_t column, int64_t columns) const {
    if constexpr (E::kIsNarrowFloat) {
      if (p_.result_is_f32) return FinishAs<Element<float, float, kF32>>(sums, at, column, columns);
    }
    FinishAs<E>(sums, at, column, columns);
  }
  template <typename R>
  void FinishAs(C* sums, int64_t at, int64_t column, int64_t columns) const {
    using T = typename R::Storage;
    if (o_.scale != nullptr) {
      const C scale = *static_cast<const C*>(o_.scale);
      for (int64_t j = 0; j < columns; ++j) sums[j] *= scale;
    }
    if (o_.bias != nullptr) {
      const T* const bias = static_cast<const T*>(o_.bias) + column;
      for (int64_t j = 0; j < columns; ++j) sums[j] += R::Load(bias[j]);
    }
    if (o_.addend != nullptr) {
      const T* const addend = static_cast<const T*>(o_.addend) + at;
      for (int64_t j = 0; j < columns; ++j) sums[j] += R::Load(addend[j]);
    }
    ActivateRow(p_.activation, sums, columns);
    StoreRow<R>(sums, columns, static_cast<T*>(o_.result) + at);
  }

  Matmul p_;
  MatmulOperands o_;
  const S* a_;
  const S* b_;
  Chunks chunks_;
  Grid grid_;
  const ProductKernels& kernels_;
  C* partial_;
};

template <typename C>
size_t PartialBytes(const Matmul& p, const Chunks& chunks) {
  if (chunks.count == 1) return 0;
  const size_t bytes = static_cast<size_t>(chunks.count * p.batch * p.m * p.n) * sizeof(C);
  return (bytes + 63) / 64 * 64;
}

}  // namespace

size_t FloatMatmulWorkspaceBytes(const Matmul& product, int threads) {
  size_t bytes = 0;
  WithFloatElement(product.dtype, [&](auto element) {
    using C = typename decltype(element)::Compute;
    bytes = PartialBytes<C>(product, Chunks(product)) + sizeof(Scratch<C>) * static_cast<size_t>(threads);
  });
  return bytes;
}

void RunFloatMatmul(const Matmul& product, const MatmulOperands& operands, void* workspace,
                    const Parallel& parallel, const ProductKernels& kernels) {
  WithFloatElement(product.dtype, [&](auto element) {
    using E = decltype(element);
    using C = typename E::Compute;
    const Chunks chunks(product);
    const Grid grid(product, chunks.count, parallel.threads, 2 * kernels.lanes<C>());
    C* const partial = static_cast<C*>(workspace);
    auto* const scratch =
        reinterpret_cast<Scratch<C>*>(static_cast<char*>(workspace) + PartialBytes<C>(product, chunks));
    const FloatProduct<E> work(product, operands, chunks, grid, kernels, partial);
    const int64_t products = CeilDiv(work.Elements() * (product.k + 1), work.units());
    parallel.For(work.units(), 1 + (1 << 16) / (products + 1), [&](int64_t begin, int64_t end, int thread) {
      for (int64_t unit = begin; unit < end; ++unit) work.RunUnit(unit, scratch[thread]);
    });
    if (chunks.count == 1) return;
    parallel.For(product.batch * product.m, 1 + (1 << 14) / product.n, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) work.AddChunks(row);
    });
  });
}

}  // namespace sinter::kernels
