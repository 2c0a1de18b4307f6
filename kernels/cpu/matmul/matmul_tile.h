// A register tile of a matmul: the building block of float matmuls and convolutions.
//
//   const MatmulKernels& kernels = BestMatmulKernels();
//   kernels.multiply_f32({.rows = rows, .row_count = 12, .offsets = &zero, .segments = 1, .length = 256,
//                         .b = panel, .b_stride = 32, .vectors = 2, .sums = sums, .sums_stride = 32});
//
// Each sum is one chain of fused multiply-adds that starts at zero, in the order of k. It is then stored, or
// added to the existing value. A vector holds adjacent sums, so the bits are the same for every vector width,
// on every CPU with fused multiply-add.
#ifndef SINTER_KERNELS_CPU_MATMUL_MATMUL_TILE_H_
#define SINTER_KERNELS_CPU_MATMUL_MATMUL_TILE_H_

#include <cstdint>

#include "sinter/kernels/cpu/isa.h"

namespace sinter::kernels {

// Maximum number of terms of a chain. It is part of the definition of a matmul: another value changes the
// order of its sums.
inline constexpr int64_t kChain = 256;
// Maximum rows and columns of a tile over all instruction sets.
inline constexpr int kMostTileRows = 12, kMostTileColumns = 32;
// Minimum of MatmulKernels::rows.
inline constexpr int kLeastTileRows = 6;

// sums[i * sums_stride + j] = (or +=) the sum, over segments s and k < length, of
//   rows[i][offsets[s] + k * k_stride] * b[(s * length + k) * b_stride + j],
// for i < row_count and j < vectors * lanes.
template <typename C>
struct MatmulTile {
  const C* const* rows = nullptr;
  int row_count = 0;                 // 1 to MatmulKernels::rows.
  const int64_t* offsets = nullptr;  // [segments].
  int64_t segments = 0;
  int64_t length = 0, k_stride = 1;
  const C* b = nullptr;
  int64_t b_stride = 0;
  int vectors = 0;  // 1 or 2.
  C* sums = nullptr;
  int64_t sums_stride = 0;
  bool adds = false;
};

// Memory lines to prefetch into the L2 cache during a multiplication: `lines` in all, in runs of `run` lines
// that start `stride` bytes apart.
struct Ahead {
  const char* at = nullptr;
  int64_t lines = 0, run = 0, stride = 0;
  int64_t done = 0;       // Lines of the current run that are done.
  int64_t per_block = 0;  // Lines that a tile prefetches in each kAheadBlock steps of k.
};
inline constexpr int64_t kAheadBlock = 8, kLine = 64;

// Prefetches the share of `ahead` that a tile of `depth` steps has time for.
inline void AskAhead(Ahead& ahead, int64_t depth) {
  int64_t lines = (depth + kAheadBlock - 1) / kAheadBlock * ahead.per_block;
  for (; lines > 0 && ahead.lines > 0; --lines, --ahead.lines) {
    __builtin_prefetch(ahead.at + ahead.done * kLine, 0, 2);
    if (++ahead.done == ahead.run) ahead.done = 0, ahead.at += ahead.stride;
  }
}

// sums[i * sums_stride + j] = (or +=) the sum over k < depth of a[k * a_stride + i] * b[k * b_stride + j],
// for i < row_count and j < vectors * lanes. If `copy` is not null, b is also written there, in rows of
// vectors * lanes.
template <typename C>
struct PanelTile {
  const C* a = nullptr;
  int64_t a_stride = 0;
  int row_count = 0;  // 1 to MatmulKernels::rows.
  int64_t depth = 0;
  const C* b = nullptr;
  int64_t b_stride = 0;
  int vectors = 0;  // 1 or 2.
  C* copy = nullptr;
  C* sums = nullptr;
  int64_t sums_stride = 0;
  bool adds = false;
  Ahead* ahead_a = nullptr;  // Both are never null.
  Ahead* ahead_b = nullptr;
};

struct MatmulKernels {
  int vector_bytes;
  int rows;  // Maximum rows of a tile.
  void (*multiply_f32)(const MatmulTile<float>& tile);
  void (*multiply_f64)(const MatmulTile<double>& tile);
  // to[k * to_stride + i] = from[i * stride + k] for i < count and k < depth; count is at most the number of
  // lanes. Writes whole vectors in the order of k: elements after the first `count` are overwritten.
  void (*transpose_f32)(const float* from, int64_t stride, int count, int64_t depth, float* to,
                        int64_t to_stride);
  void (*multiply_panel_f32)(const PanelTile<float>& tile);
  void (*multiply_panel_f64)(const PanelTile<double>& tile);

  template <typename C>
  int lanes() const {
    return vector_bytes / static_cast<int>(sizeof(C));
  }
  void Multiply(const MatmulTile<float>& tile) const { multiply_f32(tile); }
  void Multiply(const MatmulTile<double>& tile) const { multiply_f64(tile); }
  void Multiply(const PanelTile<float>& tile) const { multiply_panel_f32(tile); }
  void Multiply(const PanelTile<double>& tile) const { multiply_panel_f64(tile); }
};

// Returns the kernels of one instruction set; defined for each that the compiler supports
// (matmul_tile_isa.cc).
template <Isa isa>
const MatmulKernels& MatmulKernelsOf();

// Returns the fastest kernels that the running CPU supports and SINTER_CPU_LEVEL allows (cpu_level.h).
const MatmulKernels& BestMatmulKernels();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_MATMUL_TILE_H_
