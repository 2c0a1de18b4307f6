// Compiles and runs fused kernels, and compares with simple loops.
#include "sinter/codegen/cpu/fused_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "sinter/tests/codegen/kernel_runner.h"

namespace sinter::codegen {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Floats = std::vector<float>;

Floats Random(size_t n, int seed = 1, float low = -2, float high = 2) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  Floats values(n);
  for (float& v : values) v = distribution(engine);
  return values;
}

void ExpectNear(const Floats& actual, const Floats& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }
}

// Runs the kernel whole and in 2, 3 and 7 parts, and checks for equal bits. Returns the output.
Floats RunOne(KernelRunner& runner, const std::vector<const void*>& ins, size_t n) {
  Floats whole(n, NAN);
  runner.Run(ins, {whole.data()});
  for (int parts : {2, 3, 7}) {
    Floats again(n, NAN);
    runner.Run(ins, {again.data()}, parts);
    EXPECT_EQ(std::memcmp(whole.data(), again.data(), n * sizeof(float)), 0) << parts << " parts";
  }
  return whole;
}

void ExpectWholeVectors(const KernelRunner& runner) {
  EXPECT_THAT(runner.Assembly("x86-64-v4"), HasSubstr("%zmm"));
  EXPECT_THAT(runner.Assembly("x86-64-v3"), AllOf(HasSubstr("%ymm"), Not(HasSubstr("%zmm"))));
}

TEST(FusedKernelTest, Chain) {
  KernelRunner runner(CallText({"tensor<10007xf32>", "tensor<10007xf32>"}, {"tensor<10007xf32>"}, R"(
    %0 = sinter.add %a0, %a1 : tensor<10007xf32>
    %1 = sinter.mul %0, %a0 : tensor<10007xf32>
    %2 = sinter.tanh %1 : tensor<10007xf32>
    sinter.yield %2 : tensor<10007xf32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(10007, 1), y = Random(10007, 2), expected(10007);
  for (size_t i = 0; i < x.size(); ++i) expected[i] = std::tanh((x[i] + y[i]) * x[i]);
  ExpectNear(RunOne(runner, {x.data(), y.data()}, x.size()), expected);
  ExpectWholeVectors(runner);
}

std::string BiasText(int rows, int columns) {
  const std::string row = "tensor<" + std::to_string(columns) + "xf32>";
  const std::string full = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
  return CallText({full, row}, {full},
                  "%0 = sinter.broadcast %a1 [1] : " + row + " -> " + full +
                      "\n%1 = sinter.add %a0, %0 : " + full + "\nsinter.yield %1 : " + full);
}

// Lengths below, at and above those of vectors, of their halves and of several of them.
class RowLengthTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Lengths, RowLengthTest,
                         ::testing::Values(2, 4, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 33, 47, 50, 63, 64, 65,
                                           77, 100, 127, 129, 193, 257));

TEST_P(RowLengthTest, BiasStaysWithinItsRows) {
  constexpr int kRows = 300, kMore = 64;
  const int columns = GetParam(), n = kRows * columns;
  KernelRunner runner(BiasText(kRows, columns));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(n), b = Random(columns, 2), y(n + kMore, 5), expected(n + kMore, 5);
  for (int i = 0; i < n; ++i) expected[i] = x[i] + b[i % columns];
  runner.Run({x.data(), b.data()}, {y.data()}, 3);
  EXPECT_EQ(y, expected);
}

TEST(FusedKernelTest, ShortRowsAreAddedInVectors) {
  for (int columns : {9, 16, 23, 33}) {
    KernelRunner runner(BiasText(300, columns));
    ASSERT_TRUE(runner.status().ok()) << runner.status();
    EXPECT_THAT(runner.Assembly("x86-64-v4"), AnyOf(HasSubstr("%ymm"), HasSubstr("%zmm"))) << columns;
    EXPECT_THAT(runner.Assembly("x86-64-v3"), HasSubstr("vaddps")) << columns;
  }
}

TEST(FusedKernelTest, Transpose) {
  KernelRunner runner(CallText({"tensor<3x50x70xf32>"}, {"tensor<3x70x50xf32>"}, R"(
    %0 = sinter.transpose %a0 [0, 2, 1] : tensor<3x50x70xf32> -> tensor<3x70x50xf32>
    %1 = sinter.neg %0 : tensor<3x70x50xf32>
    sinter.yield %1 : tensor<3x70x50xf32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(3 * 50 * 70), expected(x.size());
  for (int n = 0; n < 3; ++n) {
    for (int i = 0; i < 70; ++i) {
      for (int j = 0; j < 50; ++j) expected[(n * 70 + i) * 50 + j] = -x[(n * 50 + j) * 70 + i];
    }
  }
  EXPECT_EQ(RunOne(runner, {x.data()}, x.size()), expected);
}

std::string SoftmaxText(int rows, int columns) {
  std::string full = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
  std::string row = "tensor<" + std::to_string(rows) + "xf32>";
  return CallText(
      {full}, {full},
      "%0 = sinter.max %a0 [1] : " + full + " -> " + row + "\n%1 = sinter.broadcast %0 [0] : " + row +
          " -> " + full + "\n%2 = sinter.sub %a0, %1 : " + full + "\n%3 = sinter.exp %2 : " + full +
          "\n%4 = sinter.sum %3 [1] : " + full + " -> " + row + "\n%5 = sinter.broadcast %4 [0] : " + row +
          " -> " + full + "\n%6 = sinter.div %3, %5 : " + full + "\nsinter.yield %6 : " + full);
}

Floats Softmax(const Floats& x, int columns) {
  Floats expected(x.size());
  for (size_t row = 0; row < x.size(); row += columns) {
    double max = -INFINITY, sum = 0;
    for (int j = 0; j < columns; ++j) max = std::max<double>(max, x[row + j]);
    for (int j = 0; j < columns; ++j) sum += std::exp(x[row + j] - max);
    for (int j = 0; j < columns; ++j) expected[row + j] = std::exp(x[row + j] - max) / sum;
  }
  return expected;
}

class SoftmaxTest : public ::testing::TestWithParam<std::pair<int, int>> {};
TEST_P(SoftmaxTest, MatchesLoops) {
  auto [rows, columns] = GetParam();
  KernelRunner runner(SoftmaxText(rows, columns));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(rows * columns);
  ExpectNear(RunOne(runner, {x.data()}, x.size()), Softmax(x, columns));
  EXPECT_EQ(runner.launches().size(), 1u);
}
TEST_P(RowLengthTest, SoftmaxMatchesLoops) {
  const int rows = 70, columns = GetParam();
  KernelRunner runner(SoftmaxText(rows, columns));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(rows * columns);
  ExpectNear(RunOne(runner, {x.data()}, x.size()), Softmax(x, columns));
}
INSTANTIATE_TEST_SUITE_P(Shapes, SoftmaxTest,
                         ::testing::Values(std::pair(64, 1000), std::pair(256, 10), std::pair(5, 3),
                                           std::pair(1, 1), std::pair(7, 128), std::pair(3, 65)));

TEST(FusedKernelTest, SoftmaxUsesWholeVectors) {
  KernelRunner runner(SoftmaxText(64, 1024));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  ExpectWholeVectors(runner);
}

class ColumnSumTest : public ::testing::TestWithParam<std::pair<int, int>> {};
TEST_P(ColumnSumTest, MatchesLoops) {
  auto [rows, columns] = GetParam();
  std::string full = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
  std::string sums = "tensor<" + std::to_string(columns) + "xf32>";
  KernelRunner runner(CallText({full}, {sums},
                               "%0 = sinter.mul %a0, %a0 : " + full + "\n%1 = sinter.sum %0 [0] : " + full +
                                   " -> " + sums + "\nsinter.yield %1 : " + sums));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(rows * columns), expected(columns);
  for (int j = 0; j < columns; ++j) {
    double sum = 0;
    for (int i = 0; i < rows; ++i) sum += static_cast<double>(x[i * columns + j]) * x[i * columns + j];
    expected[j] = sum;
  }
  ExpectNear(RunOne(runner, {x.data()}, columns), expected);
  EXPECT_GE(runner.launches()[0].units, rows * columns > 200000 ? 8 : columns > 0 ? 1 : 0);
}
INSTANTIATE_TEST_SUITE_P(Shapes, ColumnSumTest,
                         ::testing::Values(std::pair(256, 800), std::pair(20736, 50), std::pair(400000, 1),
                                           std::pair(100000, 3), std::pair(17, 5), std::pair(0, 9),
                                           std::pair(4, 0)));

TEST(FusedKernelTest, ChannelStatisticsOfImages) {
  KernelRunner runner(CallText({"tensor<8x5x9x7xf32>"}, {"tensor<5xf32>", "tensor<8x5x9x7xf32>"}, R"(
    %0 = sinter.sum %a0 [0, 2, 3] : tensor<8x5x9x7xf32> -> tensor<5xf32>
    %1 = sinter.broadcast %0 [1] : tensor<5xf32> -> tensor<8x5x9x7xf32>
    %2 = sinter.sub %a0, %1 : tensor<8x5x9x7xf32>
    %3 = sinter.square %2 : tensor<8x5x9x7xf32>
    %4 = sinter.sum %3 [0, 2, 3] : tensor<8x5x9x7xf32> -> tensor<5xf32>
    %5 = sinter.sqrt %4 : tensor<5xf32>
    %6 = sinter.broadcast %5 [1] : tensor<5xf32> -> tensor<8x5x9x7xf32>
    %7 = sinter.div %2, %6 : tensor<8x5x9x7xf32>
    sinter.yield %5, %7 : tensor<5xf32>, tensor<8x5x9x7xf32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(8 * 5 * 63), deviation(5), normal(x.size());
  runner.Run({x.data()}, {deviation.data(), normal.data()}, 3);
  Floats expected(5), expected_normal(x.size());
  for (int c = 0; c < 5; ++c) {
    double sum = 0, squares = 0;
    auto at = [&](int n, int i) -> size_t { return (n * 5 + c) * 63 + i; };
    for (int n = 0; n < 8; ++n)
      for (int i = 0; i < 63; ++i) sum += x[at(n, i)];
    for (int n = 0; n < 8; ++n)
      for (int i = 0; i < 63; ++i) squares += std::pow(x[at(n, i)] - sum, 2);
    expected[c] = std::sqrt(squares);
    for (int n = 0; n < 8; ++n)
      for (int i = 0; i < 63; ++i) expected_normal[at(n, i)] = (x[at(n, i)] - sum) / expected[c];
  }
  ExpectNear(deviation, expected);
  ExpectNear(normal, expected_normal);
}

TEST(FusedKernelTest, Argmax) {
  KernelRunner runner(CallText({"tensor<9x300xf32>"}, {"tensor<9xi32>"}, R"(
    %0 = sinter.argmax %a0 dim 1 : tensor<9x300xf32> -> tensor<9xi32>
    sinter.yield %0 : tensor<9xi32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(9 * 300);
  for (float& v : x) v = std::round(v * 4);  // Makes ties.
  std::vector<int32_t> actual(9);
  runner.Run({x.data()}, {actual.data()});
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(actual[i], std::max_element(&x[i * 300], &x[i * 300] + 300) - &x[i * 300]);
  }
}

TEST(FusedKernelTest, FullSumOfManyElementsInChunks) {
  KernelRunner runner(CallText({"tensor<1000x1000xf32>"}, {"tensor<f32>"}, R"(
    %0 = sinter.sum %a0 [0, 1] : tensor<1000x1000xf32> -> tensor<f32>
    %1 = sinter.neg %0 : tensor<f32>
    sinter.yield %1 : tensor<f32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(1000000);
  double sum = 0;
  for (float v : x) sum += v;
  EXPECT_NEAR(RunOne(runner, {x.data()}, 1)[0], -sum, 1e-2);
  EXPECT_EQ(runner.launches().size(), 2u);
  EXPECT_GE(runner.launches()[0].units, 16);
}

// A position does not depend on the chunk that finds it. An odd number of elements leaves a short chunk.
TEST(FusedKernelTest, ArgmaxInChunks) {
  KernelRunner runner(CallText({"tensor<300007xf32>"}, {"tensor<i64>"}, R"(
    %0 = sinter.argmax %a0 dim 0 : tensor<300007xf32> -> tensor<i64>
    sinter.yield %0 : tensor<i64>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  EXPECT_EQ(runner.launches().size(), 2u);
  Floats x = Random(300007);
  float largest = 0;
  for (size_t at : {size_t{0}, size_t{123456}, x.size() - 1}) {
    x[at] = largest += 10;
    if (at + 1000 < x.size()) x[at + 1000] = x[at];  // The first of equal values wins.
    int64_t actual = -1;
    runner.Run({x.data()}, {&actual}, 3);
    EXPECT_EQ(actual, static_cast<int64_t>(at));
  }
}

// Partial results have the accumulator's type: bf16 cannot count to 200000.
TEST(FusedKernelTest, NarrowSumsInChunksKeepTheirBits) {
  KernelRunner runner(CallText({"tensor<200000xbf16>"}, {"tensor<bf16>"}, R"(
    %0 = sinter.sum %a0 [0] : tensor<200000xbf16> -> tensor<bf16>
    sinter.yield %0 : tensor<bf16>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  EXPECT_EQ(runner.launches().size(), 2u);
  std::vector<uint16_t> ones(200000, 0x3f80);
  uint16_t actual = 0;
  runner.Run({ones.data()}, {&actual}, 2);
  EXPECT_EQ(actual, 0x4843);  // 199680, the bf16 nearest to 200000.
}

TEST(FusedKernelTest, ConcatPadAndGather) {
  KernelRunner runner(
      CallText({"tensor<2x5xf32>", "tensor<3x5xf32>", "tensor<4xi64>"}, {"tensor<4x7xf32>"}, R"(
    %0 = sinter.concat %a0, %a1 dim 0 : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<5x5xf32>
    %1 = sinter.gather %0[%a2] dim 0 : tensor<5x5xf32>, tensor<4xi64> -> tensor<4x5xf32>
    %2 = sinter.pad %1 value 9.0 low [0, 1] high [0, 1] interior [0, 0] : tensor<4x5xf32> -> tensor<4x7xf32>
    sinter.yield %2 : tensor<4x7xf32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(10), y = Random(15, 2), expected;
  std::vector<int64_t> rows = {4, 0, 99, 2};
  for (int64_t row : rows) {
    row = std::min<int64_t>(row, 4);
    expected.push_back(9);
    for (int j = 0; j < 5; ++j) expected.push_back(row < 2 ? x[row * 5 + j] : y[(row - 2) * 5 + j]);
    expected.push_back(9);
  }
  EXPECT_EQ(RunOne(runner, {x.data(), y.data(), rows.data()}, 28), expected);
}

TEST(FusedKernelTest, Bfloat16RoundsToNearestEven) {
  KernelRunner runner(CallText({"tensor<4xbf16>", "tensor<4xf32>"}, {"tensor<4xbf16>"}, R"(
    %0 = sinter.cast %a0 : tensor<4xbf16> -> tensor<4xf32>
    %1 = sinter.add %0, %a1 : tensor<4xf32>
    %2 = sinter.cast %1 : tensor<4xf32> -> tensor<4xbf16>
    sinter.yield %2 : tensor<4xbf16>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  std::vector<uint16_t> x = {0x3f80, 0x3f80, 0x3f81, 0x4000}, actual(4);
  Floats y = {0x1p-8f, 0x1.8p-8f, 0x1p-8f, NAN};
  runner.Run({x.data(), y.data()}, {actual.data()});
  EXPECT_EQ(actual[0], 0x3f80);
  EXPECT_EQ(actual[1], 0x3f81);
  EXPECT_EQ(actual[2], 0x3f82);
  EXPECT_GT(actual[3] & 0x7fff, 0x7f80);
}

// Numbers of 16 bits that no op changes keep all their bits, and are not made f32.
TEST(FusedKernelTest, MovesOfSixteenBitsKeepThem) {
  for (std::string type : {"bf16", "f16"}) {
    const std::string in = "tensor<2x300x" + type + ">", sum = "tensor<4x300x" + type + ">",
                      out = "tensor<4x303x" + type + ">";
    KernelRunner runner(CallText({in, in}, {out},
                                 "%0 = sinter.concat %a0, %a1 dim 0 : (" + in + ", " + in + ") -> " + sum +
                                     "\n%1 = sinter.pad %0 value 1.0 low [0, 1] high [0, 2] " +
                                     "interior [0, 0] : " + sum + " -> " + out +
                                     "\nsinter.yield %1 : " + out));
    ASSERT_TRUE(runner.status().ok()) << runner.status();
    std::vector<uint16_t> x(600), y(600), actual(4 * 303), expected;
    const uint16_t one = type == "f16" ? 0x3c00 : 0x3f80;
    // Among them NaNs that signal, infinities and denormals.
    for (int i = 0; i < 600; ++i)
      x[i] = static_cast<uint16_t>(i * 109), y[i] = static_cast<uint16_t>(~(i * 109));
    for (int row = 0; row < 4; ++row) {
      const std::vector<uint16_t>& from = row < 2 ? x : y;
      expected.push_back(one);
      expected.insert(expected.end(), from.begin() + row % 2 * 300, from.begin() + row % 2 * 300 + 300);
      expected.insert(expected.end(), 2, one);
    }
    runner.Run({x.data(), y.data()}, {actual.data()});
    EXPECT_EQ(actual, expected) << type;
    EXPECT_THAT(runner.Assembly("x86-64-v3"),
                AllOf(Not(HasSubstr("vpmovzxwd")), Not(HasSubstr("vcvtph2ps"))));
  }
}

// The larger of two numbers is one of them; the rest of a chain is rounded once.
TEST(FusedKernelTest, SixteenBitsAreRoundedOnce) {
  KernelRunner relu(CallText({"tensor<1000xbf16>"}, {"tensor<1000xbf16>"}, R"(
    %0 = sinter.relu %a0 : tensor<1000xbf16>
    sinter.yield %0 : tensor<1000xbf16>)"));
  ASSERT_TRUE(relu.status().ok()) << relu.status();
  std::vector<uint16_t> x(1000), actual(1000);
  for (int i = 0; i < 1000; ++i) x[i] = static_cast<uint16_t>(i * 67);
  relu.Run({x.data()}, {actual.data()});
  for (int i = 0; i < 1000; ++i) {
    const bool is_nan = (x[i] & 0x7fff) > 0x7f80;
    EXPECT_EQ(actual[i], is_nan || x[i] < 0x8000 ? x[i] : 0) << x[i];
  }
  // The rounding adds 0x7fff.
  EXPECT_THAT(relu.Assembly("x86-64-v3"), Not(HasSubstr("32767")));
}

// Columns below the length of a row, a power of two: their sum with the row's first position shares no bits.
TEST(FusedKernelTest, HalvesOfRowsAreVectors) {
  KernelRunner runner(CallText({"tensor<40x128xf32>"}, {"tensor<40x128xf32>"}, R"(
    %0 = sinter.slice %a0 [0, 0] [40, 64] [1, 1] : tensor<40x128xf32> -> tensor<40x64xf32>
    %1 = sinter.slice %a0 [0, 64] [40, 128] [1, 1] : tensor<40x128xf32> -> tensor<40x64xf32>
    %2 = sinter.sigmoid %0 : tensor<40x64xf32>
    %3 = sinter.mul %1, %2 : tensor<40x64xf32>
    %4 = sinter.concat %3, %2 dim 1 : (tensor<40x64xf32>, tensor<40x64xf32>) -> tensor<40x128xf32>
    sinter.yield %4 : tensor<40x128xf32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(40 * 128), expected(40 * 128);
  for (int i = 0; i < 40 * 128; ++i) {
    const int gate = i / 128 * 128 + i % 64;
    expected[i] = (i % 128 < 64 ? x[gate + 64] : 1) / (1 + std::exp(-x[gate]));
  }
  ExpectNear(RunOne(runner, {x.data()}, 40 * 128), expected);
  ExpectWholeVectors(runner);
}

TEST(FusedKernelTest, EqualJobsShareALoop) {
  // Ten updates p - lr * g of different lengths.
  std::vector<std::string> ins = {"tensor<f32>"}, outs;
  std::string body, values, types;
  for (int i = 0; i < 10; ++i) {
    std::string t = "tensor<" + std::to_string(100 + 3000 * i) + "xf32>", n = std::to_string(i);
    ins.push_back(t), ins.push_back(t), outs.push_back(t);
    std::string p = "%a" + std::to_string(1 + 2 * i), g = "%a" + std::to_string(2 + 2 * i);
    body += "%l" + n + " = sinter.broadcast %a0 [] : tensor<f32> -> " + t + "\n%m" + n + " = sinter.mul %l" +
            n + ", " + g + " : " + t + "\n%p" + n + " = sinter.sub " + p + ", %m" + n + " : " + t + "\n";
    values += (i ? ", %p" : "%p") + n;
    types += (i ? ", " : "") + t;
  }
  KernelRunner runner(CallText(ins, outs, body + "sinter.yield " + values + " : " + types));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  EXPECT_EQ(runner.launches().size(), 1u);
  EXPECT_EQ(runner.bodies(), 1);
  float rate = 0.5;
  std::vector<Floats> memory, results;
  std::vector<const void*> in_pointers = {&rate};
  std::vector<void*> out_pointers;
  for (int i = 0; i < 10; ++i) {
    memory.push_back(Random(100 + 3000 * i, i)), memory.push_back(Random(100 + 3000 * i, 50 + i));
    results.emplace_back(100 + 3000 * i);
  }
  for (Floats& m : memory) in_pointers.push_back(m.data());
  for (Floats& r : results) out_pointers.push_back(r.data());
  runner.Run(in_pointers, out_pointers, 3);
  for (int i = 0; i < 10; ++i) {
    for (size_t j = 0; j < results[i].size(); ++j) {
      ASSERT_EQ(results[i][j], memory[2 * i][j] - 0.5f * memory[2 * i + 1][j]) << i << " " << j;
    }
  }
}

TEST(FusedKernelTest, RankZeroAndBooleans) {
  KernelRunner runner(CallText({"tensor<f32>", "tensor<f32>"}, {"tensor<i1>"}, R"(
    %0 = sinter.compare lt %a0, %a1 : tensor<f32> -> tensor<i1>
    sinter.yield %0 : tensor<i1>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  float x = 1, y = 2;
  uint8_t less = 7, greater = 7;
  runner.Run({&x, &y}, {&less});
  runner.Run({&y, &x}, {&greater});
  EXPECT_EQ(less, 1);
  EXPECT_EQ(greater, 0);
}

TEST(FusedKernelTest, OverwritesItsInput) {
  // The output overwrites x, which a later pass still reads.
  KernelRunner runner(R"(
plan.function @f {
  %x = plan.alloc at 0 : !plan.buffer<tensor<6x100xf32>>
  %y = plan.alloc at 0 : !plan.buffer<tensor<6x100xf32>>
  %z = plan.alloc at 4096 : !plan.buffer<tensor<6x100xf32>>
  plan.call "k" ins(%x : !plan.buffer<tensor<6x100xf32>>) outs(%y, %z : !plan.buffer<tensor<6x100xf32>>, !plan.buffer<tensor<6x100xf32>>) {
  ^bb0(%0: tensor<6x100xf32>):
    %1 = sinter.sum %0 [1] : tensor<6x100xf32> -> tensor<6xf32>
    %2 = sinter.broadcast %1 [0] : tensor<6xf32> -> tensor<6x100xf32>
    %3 = sinter.mul %0, %2 : tensor<6x100xf32>
    %4 = sinter.neg %0 : tensor<6x100xf32>
    sinter.yield %4, %3 : tensor<6x100xf32>, tensor<6x100xf32>
  }
})");
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats x = Random(600), memory = x, z(600), negative(600), matmuls(600);
  runner.Run({memory.data()}, {memory.data(), z.data()}, 2);
  for (int i = 0; i < 600; ++i) {
    double sum = 0;
    for (int j = 0; j < 100; ++j) sum += x[i / 100 * 100 + j];
    negative[i] = -x[i], matmuls[i] = x[i] * sum;
  }
  EXPECT_EQ(memory, negative);
  ExpectNear(z, matmuls);
}

TEST(FusedKernelTest, RowsAndColumnsSideBySide) {
  // A layer norm's gradient: sums along rows for dx, sums along columns for the scale and the bias.
  KernelRunner runner(CallText({"tensor<40x60xf32>", "tensor<40x60xf32>"},
                               {"tensor<40x60xf32>", "tensor<60xf32>", "tensor<60xf32>"}, R"(
    %0 = sinter.mul %a0, %a1 : tensor<40x60xf32>
    %1 = sinter.sum %0 [1] : tensor<40x60xf32> -> tensor<40xf32>
    %2 = sinter.broadcast %1 [0] : tensor<40xf32> -> tensor<40x60xf32>
    %3 = sinter.mul %2, %a1 : tensor<40x60xf32>
    %4 = sinter.sub %a0, %3 : tensor<40x60xf32>
    %5 = sinter.sum %0 [0] : tensor<40x60xf32> -> tensor<60xf32>
    %6 = sinter.sum %4 [0] : tensor<40x60xf32> -> tensor<60xf32>
    sinter.yield %4, %5, %6 : tensor<40x60xf32>, tensor<60xf32>, tensor<60xf32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  Floats g = Random(2400), x = Random(2400, 2), dx(2400), scale(60), bias(60);
  runner.Run({g.data(), x.data()}, {dx.data(), scale.data(), bias.data()}, 3);
  Floats expected_dx(2400), expected_scale(60), expected_bias(60);
  for (int i = 0; i < 40; ++i) {
    double dot = 0;
    for (int j = 0; j < 60; ++j) dot += g[i * 60 + j] * x[i * 60 + j];
    for (int j = 0; j < 60; ++j) {
      expected_dx[i * 60 + j] = g[i * 60 + j] - dot * x[i * 60 + j];
      expected_scale[j] += g[i * 60 + j] * x[i * 60 + j];
      expected_bias[j] += expected_dx[i * 60 + j];
    }
  }
  ExpectNear(dx, expected_dx, 1e-4);
  ExpectNear(scale, expected_scale, 1e-4);
  ExpectNear(bias, expected_bias, 1e-3);
}

TEST(FusedKernelTest, ReductionOfReductionsIsASecondLaunch) {
  KernelRunner runner(CallText({"tensor<30x70xf32>"}, {"tensor<f32>"}, R"(
    %0 = sinter.max %a0 [1] : tensor<30x70xf32> -> tensor<30xf32>
    %1 = sinter.square %0 : tensor<30xf32>
    %2 = sinter.sum %1 [0] : tensor<30xf32> -> tensor<f32>
    sinter.yield %2 : tensor<f32>)"));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  EXPECT_EQ(runner.launches().size(), 2u);
  Floats x = Random(2100);
  x[75] = NAN;
  EXPECT_TRUE(std::isnan(RunOne(runner, {x.data()}, 1)[0]));
  x[75] = 0;
  double expected = 0;
  for (int i = 0; i < 30; ++i) expected += std::pow(*std::max_element(&x[i * 70], &x[i * 70] + 70), 2);
  EXPECT_NEAR(RunOne(runner, {x.data()}, 1)[0], expected, 1e-3);
}

}  // namespace
}  // namespace sinter::codegen
