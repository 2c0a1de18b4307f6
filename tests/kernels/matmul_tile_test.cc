// Compares bit by bit with one std::fma chain for each sum, for every instruction set of the running CPU.
#include "sinter/kernels/cpu/matmul/matmul_tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sinter/tests/kernels/batch_images.h"
#include "sinter/tests/kernels/matmul_kernels.h"

namespace sinter::kernels {
namespace {

template <typename C>
std::vector<C> Random(int64_t count) {
  const std::vector<float> floats = RandomFloats(count);
  return std::vector<C>(floats.begin(), floats.end());
}

// Three segments, with gaps between rows and between steps.
template <typename C>
void CheckTiles(const MatmulKernels& kernels) {
  constexpr int64_t kLength = 17, kSegments = 3, kDepth = kLength * kSegments, kRow = 200, kStep = 2;
  const int64_t offsets[kSegments] = {100, 0, 41};
  const std::vector<C> a = Random<C>(kRow * kMostTileRows);
  const C* rows[kMostTileRows];
  for (int i = 0; i < kMostTileRows; ++i) rows[i] = a.data() + i * kRow;
  for (int count = 1; count <= kernels.rows; ++count) {
    for (int vectors = 1; vectors <= 2; ++vectors) {
      const int64_t width = vectors * kernels.lanes<C>(), stride = width + 3;
      const std::vector<C> b = Random<C>(kDepth * width), before = Random<C>(count * stride);
      for (const bool adds : {false, true}) {
        std::vector<C> sums = before;
        kernels.Multiply(MatmulTile<C>{.rows = rows,
                                       .row_count = count,
                                       .offsets = offsets,
                                       .segments = kSegments,
                                       .length = kLength,
                                       .k_stride = kStep,
                                       .b = b.data(),
                                       .b_stride = width,
                                       .vectors = vectors,
                                       .sums = sums.data(),
                                       .sums_stride = stride,
                                       .adds = adds});
        for (int64_t e = 0; e < count * stride; ++e) {
          const int64_t i = e / stride, j = e % stride;
          C want = before[e];
          if (j < width) {
            C chain = 0;
            for (int64_t k = 0; k < kDepth; ++k) {
              chain = std::fma(rows[i][offsets[k / kLength] + k % kLength * kStep], b[k * width + j], chain);
            }
            want = adds ? before[e] + chain : chain;
          }
          ASSERT_EQ(sums[e], want) << count << " rows, " << vectors << " vectors of " << kernels.vector_bytes
                                   << " bytes, at " << i << ", " << j;
        }
      }
    }
  }
}

// One panel with gaps between its rows; the kernel also copies the rows.
template <typename C>
void CheckPanels(const MatmulKernels& kernels) {
  constexpr int64_t kDepth = 21, kStep = kMostTileRows + 1;
  const std::vector<C> a = Random<C>(kDepth * kStep);
  for (int count = 1; count <= kernels.rows; ++count) {
    for (int vectors = 1; vectors <= 2; ++vectors) {
      const int64_t width = vectors * kernels.lanes<C>(), stride = width + 3;
      const std::vector<C> b = Random<C>(kDepth * stride), before = Random<C>(count * stride);
      for (const bool adds : {false, true}) {
        std::vector<C> sums = before, copy(kDepth * width);
        // Prefetches five lines, three at a time, in runs of two.
        Ahead ahead = {.at = reinterpret_cast<const char*>(b.data()), .lines = 5, .run = 2, .stride = 256};
        ahead.per_block = 3;
        Ahead nothing;
        PanelTile<C> tile = {.a = a.data(), .a_stride = kStep, .row_count = count, .depth = kDepth};
        tile.b = b.data(), tile.b_stride = stride, tile.vectors = vectors, tile.copy = copy.data();
        tile.sums = sums.data(), tile.sums_stride = stride, tile.adds = adds;
        tile.ahead_a = &ahead, tile.ahead_b = &nothing;
        kernels.Multiply(tile);
        EXPECT_EQ(ahead.lines, 0);
        EXPECT_EQ(ahead.done, 1);
        EXPECT_EQ(ahead.at, reinterpret_cast<const char*>(b.data()) + 512);
        for (int64_t e = 0; e < count * stride; ++e) {
          const int64_t i = e / stride, j = e % stride;
          C want = before[e];
          if (j < width) {
            C chain = 0;
            for (int64_t k = 0; k < kDepth; ++k) chain = std::fma(a[k * kStep + i], b[k * stride + j], chain);
            want = adds ? before[e] + chain : chain;
          }
          ASSERT_EQ(sums[e], want) << count << " rows, " << vectors << " vectors, at " << i << ", " << j;
        }
        for (int64_t e = 0; e < kDepth * width; ++e) ASSERT_EQ(copy[e], b[e / width * stride + e % width]);
      }
    }
  }
}

TEST(MatmulTileTest, PanelsAreMultipliedAndCopied) {
  for (const MatmulKernels* kernels : AllMatmulKernels()) {
    CheckPanels<float>(*kernels);
    CheckPanels<double>(*kernels);
  }
}

TEST(MatmulTileTest, RowsAreTransposed) {
  constexpr int64_t kStride = 50;
  for (const MatmulKernels* kernels : AllMatmulKernels()) {
    const int lanes = kernels->lanes<float>();
    const std::vector<float> from = RandomFloats(kStride * lanes);
    for (int count = 1; count <= lanes; ++count) {
      for (const int64_t depth : {1, 3, 8, 13, 50}) {
        // Rows without and with gaps; after the last row there is room for one vector.
        for (const int64_t to_stride : {int64_t{count}, int64_t{lanes + 3}}) {
          std::vector<float> to(depth * to_stride + lanes, -2.0f);
          kernels->transpose_f32(from.data(), kStride, count, depth, to.data(), to_stride);
          for (int64_t e = 0; e < depth * count; ++e) {
            ASSERT_EQ(to[e / count * to_stride + e % count], from[e % count * kStride + e / count])
                << count << " rows of " << depth;
          }
          for (int64_t e = 0; to_stride > lanes && e < depth; ++e) {
            ASSERT_EQ(to[e * to_stride + lanes], -2.0f) << count << " rows of " << depth;
          }
        }
      }
    }
  }
}

TEST(MatmulTileTest, SumsAreChainsInTheOrderOfK) {
  for (const MatmulKernels* kernels : AllMatmulKernels()) {
    CheckTiles<float>(*kernels);
    CheckTiles<double>(*kernels);
  }
}

}  // namespace
}  // namespace sinter::kernels
