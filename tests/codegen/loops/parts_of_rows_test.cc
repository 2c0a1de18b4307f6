// Kernels that store rows in parts: which units they have, and that threads may share them in any way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "sinter/tests/codegen/kernel_runner.h"

namespace sinter::codegen {
namespace {

// Compiles a concat of two tensors.
std::unique_ptr<KernelRunner> Concat(const std::string& x, const std::string& y, const std::string& whole,
                                     int dim) {
  return std::make_unique<KernelRunner>(CallText({x, y}, {whole},
                                                 "%0 = sinter.concat %a0, %a1 dim " + std::to_string(dim) +
                                                     " : (" + x + ", " + y + ") -> " + whole +
                                                     "\nsinter.yield %0 : " + whole));
}

std::vector<float> Numbers(size_t n, float first) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(PartsOfRowsTest, AreSpreadOverTheUnits) {
  const int64_t rows = 3000, left = 14, right = 114, row = left + right;
  const std::unique_ptr<KernelRunner> runner =
      Concat("tensor<3000x14xf32>", "tensor<3000x114xf32>", "tensor<3000x128xf32>", 1);
  ASSERT_TRUE(runner->status().ok()) << runner->status();
  ASSERT_EQ(runner->launches().size(), 1u);
  // 35 rows of the longer part make a unit. In each, the shorter part of as many rows is stored.
  EXPECT_EQ(runner->launches()[0].units, (rows + 34) / 35);
  const std::vector<float> x = Numbers(rows * left, 1), y = Numbers(rows * right, 1e6f);
  std::vector<float> expected(rows * row);
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(&x[i * left], left, &expected[i * row]);
    std::copy_n(&y[i * right], right, &expected[i * row + left]);
  }
  for (int parts : {1, 2, 3, 7, 86, 1000}) {
    std::vector<float> actual(rows * row, NAN);
    runner->Run({x.data(), y.data()}, {actual.data()}, parts);
    EXPECT_EQ(actual, expected) << parts << " parts";
  }
  // Half of the units are half of the rows of both parts, but for a unit's rows.
  std::vector<float> half(rows * row, NAN);
  runner->RunPart({x.data(), y.data()}, {half.data()}, /*part=*/0, /*parts=*/2);
  const int64_t first = rows / 2 - 300, last = rows / 2 + 300;
  EXPECT_TRUE(std::equal(half.begin(), half.begin() + first * row, expected.begin()));
  for (int64_t i = last * row; i < rows * row; ++i) ASSERT_TRUE(std::isnan(half[i])) << i;
}

TEST(PartsOfRowsTest, PartsAfterEachOtherAreNotSpread) {
  const std::unique_ptr<KernelRunner> runner =
      Concat("tensor<40000xf32>", "tensor<60000xf32>", "tensor<100000xf32>", 0);
  ASSERT_TRUE(runner->status().ok()) << runner->status();
  EXPECT_EQ(runner->launches()[0].units, 10 + 15);
}

}  // namespace
}  // namespace sinter::codegen
