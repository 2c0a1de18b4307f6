// Judged bit by bit by one chain of std::fma for each sum, with every instruction set that the running CPU has.
#include "sinter/kernels/cpu/product_tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sinter/tests/kernels/batch_images.h"

namespace sinter::kernels {
namespace {

std::vector<const ProductKernels*> AllKernels() {
#if defined(__x86_64__)
  std::vector<const ProductKernels*> all = {&ProductKernelsOf<Isa::kV3>()};
  if (BestIsa() >= Isa::kV4) all.push_back(&ProductKernelsOf<Isa::kV4>());
  return all;
#else
  return {&ProductKernelsOf<Isa::kBaseline>()};
#endif
}

template <typename C>
std::vector<C> Random(int64_t count) {
  const std::vector<float> floats = RandomFloats(count);
  return std::vector<C>(floats.begin(), floats.end());
}

// Two panels, three segments, rows and steps that lie apart.
template <typename C>
void CheckTiles(const ProductKernels& kernels) {
  constexpr int64_t kLength = 17, kSegments = 3, kDepth = kLength * kSegments, kRow = 200, kStep = 2;
  const int64_t offsets[kSegments] = {100, 0, 41};
  const std::vector<C> a = Random<C>(kRow * kMostTileRows);
  const C* rows[kMostTileRows];
  for (int i = 0; i < kMostTileRows; ++i) rows[i] = a.data() + i * kRow;
  for (int count = 1; count <= kernels.rows; ++count) {
    for (int vectors = 1; vectors <= 2; ++vectors) {
      const int64_t width = vectors * kernels.lanes<C>(), stride = 2 * width + 3;
      const std::vector<C> b = Random<C>(2 * kDepth * width), before = Random<C>(count * stride);
      for (const bool adds : {false, true}) {
        std::vector<C> sums = before;
        kernels.Multiply(ProductTile<C>{.rows = rows,
                                        .row_count = count,
                                        .offsets = offsets,
                                        .segments = kSegments,
                                        .length = kLength,
                                        .k_stride = kStep,
                                        .b = b.data(),
                                        .b_stride = width,
                                        .panels = 2,
                                        .panel_stride = kDepth * width,
                                        .vectors = vectors,
                                        .sums = sums.data(),
                                        .sums_stride = stride,
                                        .adds = adds});
        for (int64_t e = 0; e < count * stride; ++e) {
          const int64_t i = e / stride, j = e % stride;
          C want = before[e];
          if (j < 2 * width) {
            C chain = 0;
            for (int64_t k = 0; k < kDepth; ++k) {
              chain = std::fma(rows[i][offsets[k / kLength] + k % kLength * kStep],
                               b[(j / width * kDepth + k) * width + j % width], chain);
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

TEST(ProductTileTest, SumsAreChainsInTheOrderOfK) {
  for (const ProductKernels* kernels : AllKernels()) {
    CheckTiles<float>(*kernels);
    CheckTiles<double>(*kernels);
  }
}

}  // namespace
}  // namespace sinter::kernels
