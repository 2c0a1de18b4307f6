// Matmuls: float_matmul.h for floats, int8_matmul.h for large ones of i8 with a result of i32, and other
// integer matmuls, blocked, in this file. A unit of work is a tile of the result, whose sums are in the
// compute type in the thread's workspace. For each block of k, the tile's rows of a and columns of b are
// converted and packed into panels that are as wide as the registers. The panels are then multiplied one by
// one.
#include "sinter/kernels/cpu/matmul/matmul.h"

#include <cstring>
#include <type_traits>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/kernels/cpu/matmul/float_matmul.h"
#include "sinter/kernels/cpu/matmul/int8_matmul.h"

namespace sinter::kernels {
namespace {

constexpr int64_t kTile = 64;     // Rows and columns of a tile.
constexpr int64_t kDepth = 256;   // Elements of k in a block.
constexpr int kRows = 4;          // Rows of a panel of a.
constexpr int kVectorBytes = 32;  // Bytes of a register.
constexpr int kVectors = 2;       // Registers across a panel of b: 8 sum registers hide the latency.

template <typename C>
struct Panels {
  typedef C Vector __attribute__((vector_size(kVectorBytes), may_alias));
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(C));
  static constexpr int64_t kColumns = kVectors * kLanes;

  alignas(64) C sums[kTile * kTile];
  alignas(64) C a[kTile * kDepth];  // Panels of kRows rows; k is the outer dimension of each.
  alignas(64) C b[kTile * kDepth];  // Panels of kColumns columns; k is the outer dimension of each.
};

// Packs the elements at row * row_stride + k * k_stride of a matrix into panels of kWidth rows, padded with
// zeros.
template <typename E, int64_t kWidth>
void Pack(const typename E::Storage* from, int64_t row_stride, int64_t k_stride, int64_t rows, int64_t depth,
          typename E::Compute* to) {
  for (int64_t panel = 0; panel < rows; panel += kWidth, from += kWidth * row_stride, to += kWidth * depth) {
    if (rows - panel < kWidth) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < kWidth; ++i) {
          to[k * kWidth + i] =
              i < rows - panel ? E::Load(from[i * row_stride + k * k_stride]) : typename E::Compute(0);
        }
      }
    } else if (row_stride == 1) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < kWidth; ++i) to[k * kWidth + i] = E::Load(from[k * k_stride + i]);
      }
    } else {
      for (int64_t i = 0; i < kWidth; ++i) {
        for (int64_t k = 0; k < depth; ++k) to[k * kWidth + i] = E::Load(from[i * row_stride + k * k_stride]);
      }
    }
  }
}

// Computes sums[kRows, kColumns] += panel of a * panel of b. Rows of `sums` are kTile elements apart.
template <typename C>
void MultiplyPanels(const C* a, const C* b, int64_t depth, C* sums) {
  using P = Panels<C>;
  using Vector = typename P::Vector;
  // Whole registers only: the panels are aligned to 64 bytes.
  Vector* const places = reinterpret_cast<Vector*>(sums);
  const Vector* columns = reinterpret_cast<const Vector*>(b);
  constexpr int kRowVectors = kTile / P::kLanes;
  Vector acc[kRows][kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) acc[i][v] = places[i * kRowVectors + v];
  }
  for (int64_t k = 0; k < depth; ++k, a += kRows, columns += kVectors) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const Vector row = a[i] - Vector{};  // Broadcasts a[i].
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[i][v] += row * columns[v];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) places[i * kRowVectors + v] = acc[i][v];
  }
}

// `R` is the element of the result and the bias.
template <typename E, typename R>
class IntegerMatmul {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;
  using T = typename R::Storage;
  using P = Panels<C>;
  static_assert(std::is_same_v<C, typename R::Compute>);

  IntegerMatmul(const Matmul& p, const MatmulOperands& o)
      : p_(p),
        a_(static_cast<const S*>(o.a)),
        b_(static_cast<const S*>(o.b)),
        o_(o),
        row_tiles_((p.m + kTile - 1) / kTile),
        column_tiles_((p.n + kTile - 1) / kTile) {}

  int64_t units() const { return p_.batch * row_tiles_ * column_tiles_; }

  void RunUnit(int64_t unit, P& panels) const {
    const int64_t batch = unit / (row_tiles_ * column_tiles_);
    const int64_t row = unit / column_tiles_ % row_tiles_ * kTile;
    const int64_t column = unit % column_tiles_ * kTile;
    const int64_t rows = Least(kTile, p_.m - row), columns = Least(kTile, p_.n - column);
    const S* const a = a_ + batch * p_.m * p_.k + row * (p_.transpose_a ? 1 : p_.k);
    const S* const b = b_ + batch * p_.n * p_.k + column * (p_.transpose_b ? p_.k : 1);
    const int64_t a_k = p_.transpose_a ? p_.m : 1, b_k = p_.transpose_b ? 1 : p_.n;
    std::memset(panels.sums, 0, sizeof(panels.sums));
    for (int64_t k = 0; k < p_.k; k += kDepth) {
      const int64_t depth = Least(kDepth, p_.k - k);
      Pack<E, kRows>(a + k * a_k, p_.transpose_a ? 1 : p_.k, a_k, rows, depth, panels.a);
      Pack<E, P::kColumns>(b + k * b_k, p_.transpose_b ? p_.k : 1, b_k, columns, depth, panels.b);
      for (int64_t j = 0; j < columns; j += P::kColumns) {
        for (int64_t i = 0; i < rows; i += kRows) {
          MultiplyPanels<C>(panels.a + i * depth, panels.b + j * depth, depth, panels.sums + i * kTile + j);
        }
      }
    }
    Write(panels, (batch * p_.m + row) * p_.n + column, rows, columns, column);
  }

 private:
  static int64_t Least(int64_t x, int64_t y) { return x < y ? x : y; }

  // `to`: the index of the tile's first element in the result.
  void Write(P& panels, int64_t to, int64_t rows, int64_t columns, int64_t column) const {
    const T* const bias = static_cast<const T*>(o_.bias);
    for (int64_t i = 0; i < rows; ++i, to += p_.n) {
      C* const sums = panels.sums + i * kTile;
      for (int64_t j = 0; j < columns; ++j) {
        if (bias != nullptr) sums[j] += R::Load(bias[column + j]);
        // Converts through the storage type, so that a narrow integer's sign extends to the top bit of the
        // compute type.
        sums[j] = static_cast<C>(R::Store(sums[j]));
      }
      ActivateRow(p_.activation, sums, columns);
      T* const result = static_cast<T*>(o_.result) + to;
      for (int64_t j = 0; j < columns; ++j) result[j] = R::Store(sums[j]);
    }
  }

  Matmul p_;
  const S* a_;
  const S* b_;
  MatmulOperands o_;
  int64_t row_tiles_, column_tiles_;
};

}  // namespace

size_t MatmulWorkspaceBytes(const Matmul& matmul, int threads) {
  if (matmul.dtype <= kF16) return FloatMatmulWorkspaceBytes(matmul, threads);
  if (IsInt8Matmul(matmul)) return Int8MatmulWorkspaceBytes(matmul, threads, BestInt8Kernels());
  size_t bytes = 0;
  WithIntegerElement(matmul.dtype,
                     [&](auto element) { bytes = sizeof(Panels<typename decltype(element)::Compute>); });
  return bytes * static_cast<size_t>(threads);
}

void RunMatmul(const Matmul& matmul, const MatmulOperands& operands, void* workspace,
               const Parallel& parallel) {
  if (matmul.dtype <= kF16) {
    return RunFloatMatmul(matmul, operands, workspace, parallel, BestMatmulKernels());
  }
  if (IsInt8Matmul(matmul)) return RunInt8Matmul(matmul, operands, workspace, parallel, BestInt8Kernels());
  const auto run = [&]<typename E, typename R>(E, R) {
    const IntegerMatmul<E, R> work(matmul, operands);
    auto* const panels = static_cast<Panels<typename E::Compute>*>(workspace);
    const int64_t grain = 1 + (1 << 15) / (kTile * kTile * (matmul.k + 1));
    parallel.For(work.units(), grain, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t unit = begin; unit < end; ++unit) work.RunUnit(unit, panels[thread]);
    });
  };
  if (matmul.result_is_i32) return run(Element<int8_t, uint32_t, kI8>(), Element<int32_t, uint32_t, kI32>());
  WithIntegerElement(matmul.dtype, [&](auto element) { run(element, element); });
}

}  // namespace sinter::kernels
