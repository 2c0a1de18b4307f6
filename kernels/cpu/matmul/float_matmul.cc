// Float matmuls by tiles. A unit of work is a tile of the result, for one chunk of k.
// For each chain of k, the tile's rows of a are packed into the L2 cache. Then each panel of b, two registers
// wide, is loaded into the L1 cache and multiplied by all rows. If b's rows are contiguous along the
// registers, the panel is copied during the multiplication with the first rows. Meanwhile the next operands
// are prefetched.
#include "sinter/kernels/cpu/matmul/float_matmul.h"

#include <cstring>

#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/kernels/cpu/matmul/matmul_panels.h"

namespace sinter::kernels {
namespace {

// Maximum rows and columns of a tile: rows of 256 elements of k fill 400 KB of the L2 cache. Tiles whose sums
// cannot be in the result are smaller.
template <typename C>
inline constexpr int64_t kMostRows = 1536 / static_cast<int64_t>(sizeof(C));
constexpr int64_t kMostColumns = 2048, kScratchRows = 192, kScratchColumns = 512;
// k is split if there are fewer than kFewTiles tiles (in a grid that depends only on the shape) and k is at
// least two chunks long.
constexpr int64_t kGridRows = 48, kGridColumns = 64, kFewTiles = 16, kMostChunks = 32, kLeastChunk = 1024;

// The split of k, which depends only on the shape.
struct Chunks {
  int64_t size, count;  // Length of a chunk of k, and number of chunks.

  explicit Chunks(const Matmul& p) : size(p.k), count(1) {
    const int64_t tiles = p.batch * CeilDiv(p.m, kGridRows) * CeilDiv(p.n, kGridColumns);
    if (tiles >= kFewTiles || p.k < 2 * kLeastChunk) return;
    const int64_t chunks = Least(p.k / kLeastChunk, kMostChunks / tiles);
    size = CeilDiv(CeilDiv(p.k, chunks), kChain) * kChain;
    count = CeilDiv(p.k, size);
  }
};

// A tile: rows and columns of one matmul's result, and a range of k.
template <typename C>
struct Tile {
  int64_t matmul = 0, row = 0, rows = 0, column = 0, columns = 0, k = 0, k_end = 0;
  C* sums = nullptr;  // Destination, with n elements per row; null: the scratch.

  EvenParts Chains() const { return EvenParts(k_end - k, kChain); }
};

// The sums of one panel of columns.
template <typename C>
struct PanelSums {
  C* first;
  int64_t stride;
  bool in_place;  // True if `first` is the final destination.
};

template <typename C>
struct Scratch {
  alignas(64) C sums[kScratchRows * kScratchColumns];
  alignas(64) C rows[MostRowPanels(kMostRows<C>)];  // Packed rows of a.
  alignas(64) C panel[kMostTileColumns * kChain];   // Packed panel of b.
  static_assert(kScratchRows * kScratchColumns >= kMostRows<C> * kMostTileColumns);
};

template <typename E>
class FloatMatmul {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  FloatMatmul(const Matmul& p, const MatmulOperands& o, int threads, const MatmulKernels& kernels, C* partial)
      : p_(p),
        o_(o),
        a_(static_cast<const S*>(o.a)),
        b_(static_cast<const S*>(o.b)),
        chunks_(p),
        has_place_(chunks_.count > 1 || (kInPlace && o.addend == nullptr)),
        finishes_(o.scale != nullptr || o.bias != nullptr || o.addend != nullptr ||
                  p.activation != SN_NO_ACTIVATION),
        grid_(p.m, p.n, 2 * kernels.lanes<C>(), chunks_.count * p.batch, threads,
              has_place_ ? kMostRows<C> : kScratchRows, has_place_ ? kMostColumns : kScratchColumns),
        reads_rows_(kInPlace && p.n <= 2 * grid_.panel_width),
        kernels_(kernels),
        partial_(partial) {}

  int64_t units() const { return chunks_.count * p_.batch * grid_.tiles(); }
  bool HasChunks() const { return chunks_.count > 1; }

  // Runs one unit. Prefetches the first operands of unit `next`; no unit follows if `next` is the number of
  // units.
  void RunUnit(int64_t unit, int64_t next, Scratch<C>& s) const {
    const Tile<C> t = TileOf(unit);
    const EvenParts chains = t.Chains();
    const int64_t tiles = CeilDiv(t.columns, grid_.panel_width) * CeilDiv(t.rows, kernels_.rows);
    if (p_.k == 0) MultiplyPanels(t, 0, 0, true, Ahead(), s);  // Empty sums are zero.
    for (int64_t i = 0; i < chains.count; ++i) {
      const int64_t k = t.k + chains.start(i), depth = chains.size(i);
      const bool is_last = i + 1 == chains.count;
      Ahead ahead;
      if (!is_last) {
        ahead = AheadOfRows(t, k + depth, chains.size(i + 1));
      } else if (next < units()) {
        const Tile<C> after = TileOf(next);
        ahead = AheadOfRows(after, after.k, after.Chains().size(0));
      }
      if (!reads_rows_) {
        const int64_t row_stride = p_.transpose_a ? 1 : p_.k, k_stride = p_.transpose_a ? p_.m : 1;
        PackRows<E>(kernels_, Row(t, k, 0), row_stride, k_stride, t.rows, depth, Behind(t, k), s.rows);
      }
      MultiplyPanels(t, k, depth, is_last, Within(ahead, tiles, depth), s);
    }
  }

  // Adds the chunks of one row of the result.
  void AddChunks(int64_t row) const {
    C* const sums = partial_ + row * p_.n;
    for (int64_t chunk = 1; chunk < chunks_.count; ++chunk) {
      const C* const next = sums + chunk * Elements();
      for (int64_t j = 0; j < p_.n; ++j) sums[j] += next[j];
    }
    Finish(sums, row * p_.n, 0, p_.n);
  }

 private:
  static constexpr bool kInPlace = sizeof(S) == sizeof(C);

  int64_t Elements() const { return p_.batch * p_.m * p_.n; }

  Tile<C> TileOf(int64_t unit) const {
    const int64_t tile = unit % grid_.tiles(), chunk = unit / grid_.tiles() / p_.batch;
    const int64_t r = tile / grid_.panels.count, c = tile % grid_.panels.count;
    Tile<C> t = {.matmul = unit / grid_.tiles() % p_.batch};
    t.row = grid_.rows.start(r), t.rows = grid_.rows.size(r);
    t.column = grid_.column(c), t.columns = Least(grid_.column(c + 1), p_.n) - t.column;
    t.k = chunk * chunks_.size, t.k_end = Least(t.k + chunks_.size, p_.k);
    if (chunks_.count > 1) {
      t.sums = partial_ + chunk * Elements() + ResultAt(t);
    } else if (has_place_) {
      t.sums = static_cast<C*>(o_.result) + ResultAt(t);
    }
    return t;
  }
  // Returns the index of the tile's first element in the result.
  int64_t ResultAt(const Tile<C>& t) const { return (t.matmul * p_.m + t.row) * p_.n + t.column; }

  // Return the addresses of element (i, k) of the tile's a and (k, j) of its b.
  const S* Row(const Tile<C>& t, int64_t k, int64_t i) const {
    const int64_t row = t.row + i;
    return a_ + t.matmul * p_.m * p_.k + (p_.transpose_a ? k * p_.m + row : row * p_.k + k);
  }
  const S* Column(const Tile<C>& t, int64_t k, int64_t j) const {
    const int64_t column = t.column + j;
    return b_ + t.matmul * p_.n * p_.k + (p_.transpose_b ? column * p_.k + k : k * p_.n + column);
  }
  // Returns the number of elements of a that start at the tile's first row and k.
  int64_t Behind(const Tile<C>& t, int64_t k) const { return a_ + p_.batch * p_.m * p_.k - Row(t, k, 0); }

  Ahead AheadOfRows(const Tile<C>& t, int64_t k, int64_t depth) const {
    return p_.transpose_a ? LinesOf(Row(t, k, 0), depth, t.rows, p_.m)
                          : LinesOf(Row(t, k, 0), t.rows, depth, p_.k);
  }
  // Returns the panel after the one at column j, or the first panel of the next chain.
  Ahead AheadOfColumns(const Tile<C>& t, int64_t k, int64_t depth, int64_t j) const {
    j += grid_.panel_width;
    if (j >= t.columns) j = 0, k += depth;
    if (k >= t.k_end) return {};
    const int64_t columns = Least(grid_.panel_width, t.columns - j);
    return p_.transpose_b ? LinesOf(Column(t, k, j), columns, depth, p_.k)
                          : LinesOf(Column(t, k, j), depth, columns, p_.n);
  }

  void MultiplyPanels(const Tile<C>& t, int64_t k, int64_t depth, bool is_last, Ahead ahead_a,
                      Scratch<C>& s) const {
    for (int64_t j = 0; j < t.columns; j += grid_.panel_width) {
      const PanelSums<C> sums = SumsOf(t, j, s);
      MultiplyPanel(t, k, depth, j, sums, ahead_a, s);
      if (is_last) FinishPanel(t, j, sums);
    }
  }

  // Returns the number of columns of the panel at column j.
  int64_t Columns(const Tile<C>& t, int64_t j) const { return Least(grid_.panel_width, t.columns - j); }

  // Returns the destination of a panel's sums: the result or `partial` if the panel has whole vectors, else
  // the scratch.
  PanelSums<C> SumsOf(const Tile<C>& t, int64_t j, Scratch<C>& s) const {
    if (t.sums == nullptr) return {.first = s.sums + j, .stride = kScratchColumns, .in_place = false};
    if (Columns(t, j) % kernels_.lanes<C>() == 0)
      return {.first = t.sums + j, .stride = p_.n, .in_place = true};
    return {.first = s.sums, .stride = grid_.panel_width, .in_place = false};
  }

  // Multiplies all rows of the tile by the panel at column j.
  void MultiplyPanel(const Tile<C>& t, int64_t k, int64_t depth, int64_t j, const PanelSums<C>& sums,
                     Ahead& ahead_a, Scratch<C>& s) const {
    const int64_t columns = Columns(t, j), lanes = kernels_.lanes<C>();
    const EvenParts heights(t.rows, kernels_.rows);
    Ahead ahead_b = Within(AheadOfColumns(t, k, depth, j), heights.count, depth);
    PanelTile<C> tile = {.depth = depth, .vectors = columns > lanes ? 2 : 1, .sums_stride = sums.stride};
    tile.adds = k > t.k, tile.ahead_a = &ahead_a, tile.ahead_b = &ahead_b;
    const int64_t width = tile.vectors * lanes;
    tile.b = s.panel, tile.b_stride = width;
    if (kInPlace && !p_.transpose_b && columns == width) {
      tile.b = reinterpret_cast<const C*>(Column(t, k, j)), tile.b_stride = p_.n;
      // A narrow matrix is read again as fast as a copy of it.
      tile.copy = heights.count > 1 && !reads_rows_ ? s.panel : nullptr;
    } else {
      PackColumns<E>(kernels_, Column(t, k, j), p_.transpose_b ? p_.k : 1, p_.transpose_b ? 1 : p_.n, columns,
                     depth, s.panel, width);
    }
    for (int64_t h = 0; h < heights.count; ++h) {
      tile.row_count = static_cast<int>(heights.size(h));
      tile.sums = sums.first + heights.start(h) * sums.stride;
      MultiplyRows(t, k, heights.start(h), s.rows + h * RowPanelSize(kernels_, depth), tile);
      if (tile.copy != nullptr) tile.b = s.panel, tile.b_stride = width, tile.copy = nullptr;
    }
  }

  // Multiplies the tile's rows starting at `first`. They are packed at `packed`, unless they are read in
  // place.
  void MultiplyRows(const Tile<C>& t, int64_t k, int64_t first, const C* packed, PanelTile<C>& panel) const {
    panel.a = packed, panel.a_stride = panel.row_count;
    if (!reads_rows_) return kernels_.Multiply(panel);
    panel.a = reinterpret_cast<const C*>(Row(t, k, first)), panel.a_stride = p_.m;
    if (p_.transpose_a) return kernels_.Multiply(panel);
    AskAhead(*panel.ahead_a, panel.depth);
    const C* rows[kMostTileRows];
    for (int i = 0; i < panel.row_count; ++i) rows[i] = panel.a + i * p_.k;
    const int64_t zero = 0;
    MatmulTile<C> tile = {.rows = rows, .row_count = panel.row_count, .offsets = &zero, .segments = 1};
    tile.length = panel.depth, tile.b = panel.b, tile.b_stride = panel.b_stride, tile.vectors = panel.vectors;
    tile.sums = panel.sums, tile.sums_stride = panel.sums_stride, tile.adds = panel.adds;
    kernels_.Multiply(tile);
  }

  // Stores the panel at column j, whose sums are complete.
  void FinishPanel(const Tile<C>& t, int64_t j, const PanelSums<C>& sums) const {
    const int64_t columns = Columns(t, j);
    if (sums.in_place && (!finishes_ || HasChunks())) return;
    for (int64_t i = 0; i < t.rows; ++i) {
      C* const row = sums.first + i * sums.stride;
      if (HasChunks()) {
        std::memcpy(t.sums + i * p_.n + j, row, static_cast<size_t>(columns) * sizeof(C));
      } else {
        Finish(row, ResultAt(t) + i * p_.n + j, t.column + j, columns);
      }
    }
  }

  // Converts sums to the `columns` elements of the result that start at `at`.
  void Finish(C* sums, int64_t at, int64_t column, int64_t columns) const {
    if constexpr (E::kIsLowPrecision) {
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
    if (p_.activation != SN_NO_ACTIVATION) ActivateRow(p_.activation, sums, columns);
    T* const to = static_cast<T*>(o_.result) + at;
    if (static_cast<const void*>(to) != sums) StoreRow<R>(sums, columns, to);
  }

  Matmul p_;
  MatmulOperands o_;
  const S* a_;
  const S* b_;
  Chunks chunks_;
  bool has_place_;  // Sums are added in the result or in `partial_`.
  bool finishes_;   // The sums need a scale, bias, addend or activation.
  TileGrid grid_;
  bool reads_rows_;  // Rows of a are read in place: with few columns, packing costs more than it saves.
  const MatmulKernels& kernels_;
  C* partial_;
};

template <typename C>
size_t PartialBytes(const Matmul& p) {
  const Chunks chunks(p);
  if (chunks.count == 1) return 0;
  const size_t bytes = static_cast<size_t>(chunks.count * p.batch * p.m * p.n) * sizeof(C);
  return (bytes + 63) / 64 * 64;
}

}  // namespace

size_t FloatMatmulWorkspaceBytes(const Matmul& matmul, int threads) {
  size_t bytes = 0;
  WithFloatElement(matmul.dtype, [&](auto element) {
    using C = typename decltype(element)::Compute;
    bytes = PartialBytes<C>(matmul) + sizeof(Scratch<C>) * static_cast<size_t>(threads);
  });
  return bytes;
}

void RunFloatMatmul(const Matmul& matmul, const MatmulOperands& operands, void* workspace,
                    const Parallel& parallel, const MatmulKernels& kernels) {
  WithFloatElement(matmul.dtype, [&](auto element) {
    using E = decltype(element);
    using C = typename E::Compute;
    // Each thread gets at least this much work.
    const int64_t shares = 1 + matmul.batch * matmul.m * matmul.n * (matmul.k + 1) / (1 << 16);
    const int threads = static_cast<int>(Least(parallel.threads, shares));
    C* const partial = static_cast<C*>(workspace);
    auto* const scratch =
        reinterpret_cast<Scratch<C>*>(static_cast<char*>(workspace) + PartialBytes<C>(matmul));
    const FloatMatmul<E> work(matmul, operands, threads, kernels, partial);
    parallel.For(work.units(), CeilDiv(work.units(), threads), [&](int64_t begin, int64_t end, int thread) {
      for (int64_t unit = begin; unit < end; ++unit) {
        work.RunUnit(unit, unit + 1 < end ? unit + 1 : work.units(), scratch[thread]);
      }
    });
    if (!work.HasChunks()) return;
    parallel.For(matmul.batch * matmul.m, 1 + (1 << 14) / matmul.n, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) work.AddChunks(row);
    });
  });
}

}  // namespace sinter::kernels
