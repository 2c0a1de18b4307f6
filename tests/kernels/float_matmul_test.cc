// Compares bit by bit with std::fma chains, for every instruction set and several thread counts.
#include "sinter/kernels/cpu/matmul/float_matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sinter/kernels/cpu/matmul/matmul_panels.h"
#include "sinter/tests/kernels/batch_images.h"
#include "sinter/tests/kernels/matmul_kernels.h"

namespace sinter::kernels {
namespace {

template <typename E>
std::vector<typename E::Storage> RandomElements(int64_t count) {
  std::vector<typename E::Storage> values;
  for (float value : RandomFloats(count)) {
    values.push_back(E::Store(static_cast<typename E::Compute>(value)));
  }
  return values;
}

// Returns the sums of chains in the order of k, for shapes whose k is not cut into chunks.
template <typename E>
std::vector<typename E::Storage> Judge(const Matmul& p, const std::vector<typename E::Storage>& a,
                                       const std::vector<typename E::Storage>& b) {
  using C = typename E::Compute;
  const EvenParts chains(p.k, kChain);
  std::vector<typename E::Storage> result;
  for (int64_t e = 0; e < p.batch * p.m * p.n; ++e) {
    const int64_t matmul = e / (p.m * p.n), i = e / p.n % p.m, j = e % p.n;
    C sum = 0;
    for (int64_t c = 0; c < chains.count; ++c) {
      C chain = 0;
      for (int64_t k = chains.start(c); k < chains.start(c) + chains.size(c); ++k) {
        const int64_t at = matmul * p.m * p.k + (p.transpose_a ? k * p.m + i : i * p.k + k);
        chain = std::fma(E::Load(a[at]),
                         E::Load(b[matmul * p.n * p.k + (p.transpose_b ? j * p.k + k : k * p.n + j)]), chain);
      }
      sum = c == 0 ? chain : sum + chain;
    }
    result.push_back(E::Store(sum));
  }
  return result;
}

template <typename E>
void Check(Matmul p) {
  p.dtype = E::kDType;
  // The buffers have the exact size, so that a sanitizer detects reads outside.
  const auto a = RandomElements<E>(p.batch * p.m * p.k), b = RandomElements<E>(p.batch * p.n * p.k);
  const auto want = Judge<E>(p, a, b);
  for (const MatmulKernels* kernels : AllMatmulKernels()) {
    for (const int threads : {1, 2, 5}) {
      auto result = want;
      std::memset(result.data(), 0xff, result.size() * sizeof(result[0]));
      // A workspace starts at a multiple of 64 bytes, with arbitrary content.
      std::vector<float> room(FloatMatmulWorkspaceBytes(p, threads) / sizeof(float) + 16, NAN);
      const size_t before = reinterpret_cast<uintptr_t>(room.data()) % 64;
      RunFloatMatmul(p, {.a = a.data(), .b = b.data(), .result = result.data()},
                     room.data() + (64 - before) % 64 / sizeof(float), InTurn(threads), *kernels);
      EXPECT_EQ(std::memcmp(result.data(), want.data(), want.size() * sizeof(want[0])), 0)
          << "type " << p.dtype << ", " << p.batch << "x" << p.m << "x" << p.n << "x" << p.k
          << ", transposed " << p.transpose_a << p.transpose_b << ", vectors of " << kernels->vector_bytes
          << " bytes, " << threads << " threads";
    }
  }
}

TEST(FloatMatmulTest, SumsAreChainsInTheOrderOfK) {
  // batch, m, n, k. Whole and partial tiles and panels; rows read in place and packed; several tiles and
  // chains.
  constexpr int64_t kShapes[][4] = {{1, 1, 1, 1},     {1, 3, 100, 5},  {2, 13, 64, 40}, {1, 100, 80, 300},
                                    {3, 24, 17, 33},  {1, 7, 2112, 9}, {1, 400, 96, 7}, {1, 25, 70, 513},
                                    {1, 399, 65, 20}, {2, 1, 130, 64}};
  for (const auto& [batch, m, n, k] : kShapes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const Matmul p = {
            .batch = batch, .m = m, .n = n, .k = k, .transpose_a = transpose_a, .transpose_b = transpose_b};
        Check<Element<float, float, kF32>>(p);
        Check<Element<double, double, kF64>>(p);
        Check<Element<uint16_t, float, kBf16>>(p);
      }
    }
  }
}

}  // namespace
}  // namespace sinter::kernels
