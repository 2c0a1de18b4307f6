// Products of few rows read b in place: their time is that of reading it. For others all of b is packed into
// panels of a tile's columns first, by all threads. A unit of work is then a block of the result: it packs
// its rows of a, and multiplies them with the panels of its columns, kDepth elements of k at a time.
#include "sinter/kernels/cpu/matmul/int8_matmul.h"

#include <algorithm>
#include <cstring>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/math/activation.h"

namespace sinter::kernels {
namespace {

constexpr int64_t kBlockRows = 48, kBlockColumns = 256;
constexpr int64_t kDepth = 512;  // Terms of a sum in a block: its panels stay in the caches.
static_assert(kBlockRows % 12 == 0 && kBlockRows % 6 == 0 && kBlockColumns % kMostInt8Columns == 0);

// The most rows for which b is read in place.
constexpr int64_t kFewRows = 3;
constexpr int64_t kLeastProducts = 1 << 15;  // The least that are worth packing.

int64_t Divide(int64_t x, int64_t by) { return (x + by - 1) / by; }
int64_t RoundUpTo64(int64_t bytes) { return Divide(bytes, 64) * 64; }

struct Scratch {
  alignas(64) int32_t sums[kBlockRows * kBlockColumns];
  alignas(64) uint32_t a[kBlockRows * kDepth / 2];  // Words of two terms need the most.
};

// A matrix of i8 as rows of k: element k of a row is at row * row_stride + k * k_stride.
struct Rows {
  const int8_t* first;
  int64_t row_stride, k_stride;
};

// Returns a word of the first `terms` of kTerms elements, `stride` apart; the others are zeros. `kShifts`:
// adds 128.
template <int kTerms, bool kShifts>
uint32_t WordOf(const int8_t* from, int64_t stride, int64_t terms) {
  constexpr int kBits = 32 / kTerms;
  constexpr uint32_t kMask = kTerms == 2 ? 0xffffu : 0xffu;
  uint32_t bits = 0;
  for (int t = 0; t < kTerms && t < terms; ++t) {
    const int32_t value = from[t * stride] + (kShifts ? 128 : 0);
    bits |= (static_cast<uint32_t>(value) & kMask) << (t * kBits);
  }
  return bits;
}

// Packs words as int8_tile.h has them: word s of row r to to[s * width + r]. Rows beyond `count` and elements
// beyond `depth` are zeros.
template <int kTerms, bool kShifts>
void PackWords(const Rows& from, int64_t count, int64_t width, int64_t depth, uint32_t* to) {
  const int64_t whole = depth / kTerms, steps = Divide(depth, kTerms);
  const auto at = [&](int64_t row, int64_t step) {
    return from.first + row * from.row_stride + step * kTerms * from.k_stride;
  };
  if (from.k_stride == 1) {
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t s = 0; s < whole; ++s)
        to[s * width + row] = WordOf<kTerms, kShifts>(at(row, s), 1, kTerms);
    }
  } else {
    for (int64_t s = 0; s < whole; ++s) {
      for (int64_t row = 0; row < count; ++row) {
        to[s * width + row] = WordOf<kTerms, kShifts>(at(row, s), from.k_stride, kTerms);
      }
    }
  }
  if (whole < steps) {
    for (int64_t row = 0; row < count; ++row) {
      to[whole * width + row] =
          WordOf<kTerms, kShifts>(at(row, whole), from.k_stride, depth - whole * kTerms);
    }
  }
  for (int64_t s = 0; s < steps; ++s) {
    for (int64_t row = count; row < width; ++row) to[s * width + row] = 0;
  }
}

class Int8Matmul {
 public:
  Int8Matmul(const Matmul& p, const MatmulOperands& o, void* workspace, const Int8Kernels& kernels)
      : p_(p),
        o_(o),
        kernels_(kernels),
        a_{static_cast<const int8_t*>(o.a), p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1},
        b_{static_cast<const int8_t*>(o.b), p.transpose_b ? p.k : 1, p.transpose_b ? 1 : p.n},
        panels_(static_cast<uint32_t*>(workspace)),
        corrections_(reinterpret_cast<int32_t*>(static_cast<char*>(workspace) + PanelBytes(p, kernels))) {}

  static int64_t PanelBytes(const Matmul& p, const Int8Kernels& kernels) {
    return RoundUpTo64(PanelCount(p, kernels) * PanelWords(p, kernels) * 4);
  }
  static int64_t CorrectionBytes(const Matmul& p, const Int8Kernels& kernels) {
    return RoundUpTo64(PanelCount(p, kernels) * kernels.columns * 4);
  }
  static int64_t PanelCount(const Matmul& p, const Int8Kernels& kernels) {
    return Divide(p.n, kernels.columns);
  }

  // Packs columns [panel * columns, + columns) of b.
  void PackPanel(int64_t panel) const {
    const int64_t column = panel * kernels_.columns,
                  count = std::min<int64_t>(kernels_.columns, p_.n - column);
    uint32_t* to = panels_ + panel * PanelWords(p_, kernels_);
    for (int64_t k = 0; k < p_.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, p_.k - k);
      const Rows from = {b_.first + column * b_.row_stride + k * b_.k_stride, b_.row_stride, b_.k_stride};
      if (kernels_.terms == 4) {
        PackWords<4, false>(from, count, kernels_.columns, depth, to);
      } else {
        PackWords<2, false>(from, count, kernels_.columns, depth, to);
      }
      to += Divide(depth, kernels_.terms) * kernels_.columns;
    }
    if (kernels_.terms == 4) Correct(panel);
  }

  int64_t units() const { return Divide(p_.m, kBlockRows) * Divide(p_.n, kBlockColumns); }

  void RunUnit(int64_t unit, Scratch& scratch) const {
    const int64_t across = Divide(p_.n, kBlockColumns);
    const int64_t row = unit / across * kBlockRows, column = unit % across * kBlockColumns;
    const int64_t rows = std::min(kBlockRows, p_.m - row), columns = std::min(kBlockColumns, p_.n - column);
    const int64_t first = column / kernels_.columns, panels = Divide(columns, kernels_.columns);
    for (int64_t i = 0; i < kBlockRows; ++i) {
      int32_t* const sums = scratch.sums + i * kBlockColumns;
      if (kernels_.terms == 4) {
        std::memcpy(sums, corrections_ + column, static_cast<size_t>(panels * kernels_.columns) * 4);
      } else {
        std::memset(sums, 0, kBlockColumns * 4);
      }
    }
    const uint32_t* b = panels_ + first * PanelWords(p_, kernels_);
    for (int64_t k = 0; k < p_.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, p_.k - k), steps = Divide(depth, kernels_.terms);
      PackRows(row, rows, k, depth, scratch.a);
      for (int64_t panel = 0; panel < panels; ++panel) {
        for (int64_t i = 0; i < rows; i += kernels_.rows) {
          kernels_.multiply({.a = scratch.a + i * steps,
                             .b = b + panel * PanelWords(p_, kernels_),
                             .steps = steps,
                             .sums = scratch.sums + i * kBlockColumns + panel * kernels_.columns,
                             .sums_stride = kBlockColumns});
        }
      }
      b += steps * kernels_.columns;
    }
    for (int64_t i = 0; i < rows; ++i) Finish(scratch.sums + i * kBlockColumns, row + i, column, columns);
  }

  // Computes columns [begin, end) of all rows, of which there are few, with rows of a and of b along k.
  void RunFewRows(int64_t begin, int64_t end) const {
    for (int64_t j = begin; j < end; ++j) {
      const int8_t* const b = b_.first + j * p_.k;
      for (int64_t i = 0; i < p_.m; ++i) {
        const int8_t* const a = a_.first + i * p_.k;
        // A sum of 2^16 products of i8 does not overflow; the sum of all wraps.
        uint32_t total = 0;
        for (int64_t k = 0; k < p_.k; k += int64_t{1} << 16) {
          const int64_t last = std::min(p_.k, k + (int64_t{1} << 16));
          int32_t sum = 0;
          for (int64_t l = k; l < last; ++l) sum += static_cast<int32_t>(a[l]) * static_cast<int32_t>(b[l]);
          total += static_cast<uint32_t>(sum);
        }
        int32_t result = static_cast<int32_t>(total);
        Finish(&result, i, j, 1);
      }
    }
  }

 private:
  // The words of a panel of b: each block of kDepth begins with a word of its own.
  static int64_t PanelWords(const Matmul& p, const Int8Kernels& kernels) {
    return Divide(p.k, kernels.terms) * kernels.columns;
  }

  // The sum of (a + 128) b is too large by 128 times the sum of b.
  void Correct(int64_t panel) const {
    const uint32_t* words = panels_ + panel * PanelWords(p_, kernels_);
    uint32_t sums[kMostInt8Columns] = {};
    const int64_t steps = Divide(p_.k, kernels_.terms);
    for (int64_t step = 0; step < steps; ++step, words += kernels_.columns) {
      for (int j = 0; j < kernels_.columns; ++j) {
        for (int t = 0; t < 4; ++t)
          sums[j] += static_cast<uint32_t>(static_cast<int8_t>(words[j] >> (8 * t)));
      }
    }
    int32_t* const to = corrections_ + panel * kernels_.columns;
    for (int j = 0; j < kernels_.columns; ++j) to[j] = static_cast<int32_t>(0u - 128u * sums[j]);
  }

  void PackRows(int64_t row, int64_t rows, int64_t k, int64_t depth, uint32_t* to) const {
    for (int64_t i = 0; i < rows; i += kernels_.rows) {
      const Rows from = {a_.first + (row + i) * a_.row_stride + k * a_.k_stride, a_.row_stride, a_.k_stride};
      const int64_t count = std::min<int64_t>(kernels_.rows, rows - i);
      uint32_t* const panel = to + i * Divide(depth, kernels_.terms);
      if (kernels_.terms == 4) {
        PackWords<4, true>(from, count, kernels_.rows, depth, panel);
      } else {
        PackWords<2, false>(from, count, kernels_.rows, depth, panel);
      }
    }
  }

  void Finish(int32_t* sums, int64_t row, int64_t column, int64_t columns) const {
    const int32_t* const bias = static_cast<const int32_t*>(o_.bias);
    auto* const wrapped = reinterpret_cast<uint32_t*>(sums);
    for (int64_t j = 0; bias != nullptr && j < columns; ++j) {
      wrapped[j] += static_cast<uint32_t>(bias[column + j]);
    }
    ActivateRow(p_.activation, wrapped, columns);
    std::memcpy(static_cast<int32_t*>(o_.result) + row * p_.n + column, sums,
                static_cast<size_t>(columns) * 4);
  }

  Matmul p_;
  MatmulOperands o_;
  const Int8Kernels& kernels_;
  Rows a_, b_;  // The rows of b are columns of the result.
  uint32_t* panels_;
  int32_t* corrections_;  // -128 times the sum of each column of b, for words of four.
};

bool ReadsInPlace(const Matmul& p) { return p.m <= kFewRows && !p.transpose_a && p.transpose_b; }

}  // namespace

bool IsInt8Matmul(const Matmul& p) {
  return p.result_is_i32 && p.batch == 1 && p.k > 0 && (ReadsInPlace(p) || p.m * p.n * p.k >= kLeastProducts);
}

size_t Int8MatmulWorkspaceBytes(const Matmul& p, int threads, const Int8Kernels& kernels) {
  if (ReadsInPlace(p)) return 0;
  return static_cast<size_t>(Int8Matmul::PanelBytes(p, kernels) + Int8Matmul::CorrectionBytes(p, kernels)) +
         sizeof(Scratch) * static_cast<size_t>(threads);
}

void RunInt8Matmul(const Matmul& p, const MatmulOperands& o, void* workspace, const Parallel& parallel,
                   const Int8Kernels& kernels) {
  const Int8Matmul work(p, o, workspace, kernels);
  if (ReadsInPlace(p)) {
    const int64_t grain = 1 + (1 << 16) / (p.m * p.k);
    return parallel.For(p.n, grain, [&](int64_t begin, int64_t end, int) { work.RunFewRows(begin, end); });
  }
  const int64_t panels = Int8Matmul::PanelCount(p, kernels);
  parallel.For(panels, 1 + (1 << 14) / (p.k * kernels.columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t panel = begin; panel < end; ++panel) work.PackPanel(panel);
  });
  auto* const scratch =
      reinterpret_cast<Scratch*>(static_cast<char*>(workspace) + Int8Matmul::PanelBytes(p, kernels) +
                                 Int8Matmul::CorrectionBytes(p, kernels));
  parallel.For(work.units(), 1, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t unit = begin; unit < end; ++unit) work.RunUnit(unit, scratch[thread]);
  });
}

}  // namespace sinter::kernels
