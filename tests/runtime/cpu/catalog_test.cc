#include "sinter/kernels/cpu/catalog/catalog.h"

#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cpu/math/vector_math.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DType kNumbers[] = {DType::kF64, DType::kF32, DType::kBf16, DType::kF16, DType::kI64, DType::kI32,
                          DType::kI8,  DType::kU8,  DType::kI16,  DType::kU16, DType::kU32, DType::kU64};

AddStep Calling(const std::string& kernel, const std::vector<int64_t>& parameters) {
  return [=](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
    f.Catalog(kernel, parameters, in, out);
  };
}

TEST(CatalogTest, NamesAreKnown) {
  for (const char* name :
       {"cholesky", "cumsum", "eigh", "fft", "irfft", "lu", "qr", "quantized_matmul", "random_permutation",
        "rfft", "scatter", "scatter_add", "sort", "svd", "top_k", "triangular_solve"}) {
    ASSERT_NE(kernels::FindCatalogKernel(name), nullptr) << name;
  }
  EXPECT_EQ(kernels::FindCatalogKernel("unique"), nullptr);
  EXPECT_EQ(kernels::CatalogKernels().size(), 16u);
}

TEST(CatalogTest, ScatterAdd) {
  for (DType dtype : kNumbers) {
    for (DType index_dtype : {DType::kI64, DType::kI32}) {
      for (const auto& [outer, size, inner, count] : std::vector<std::array<int64_t, 4>>{{1, 10, 1, 30},
                                                                                         {2, 7, 5, 12},
                                                                                         {1, 500, 64, 100},
                                                                                         {3, 1, 4, 2},
                                                                                         {1, 4, 3, 0},
                                                                                         {0, 4, 3, 2},
                                                                                         {2, 0, 3, 1}}) {
        const bool whole = !IsFloat(dtype);
        const std::vector<double> x = RandomValues(outer * size * inner, 1, whole);
        const std::vector<double> updates = RandomValues(outer * count * inner, 2, whole);
        std::vector<double> indices(static_cast<size_t>(count)), want = x;
        for (int64_t i = 0; i < count; ++i) indices[i] = static_cast<double>((i * i * 7) % (size + 3) - 1);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < count; ++i)
            for (int64_t j = 0; j < inner; ++j) {
              const int64_t k = static_cast<int64_t>(indices[i]);
              if (k >= 0 && k < size)
                want[(o * size + k) * inner + j] += updates[(o * count + i) * inner + j];
            }
        const HostTensor tx = MakeTensor(dtype, {outer, size, inner}, x);
        const HostTensor ti = MakeTensor(index_dtype, {count}, indices);
        const HostTensor tu = MakeTensor(dtype, {outer, count, inner}, updates);
        const std::vector<int64_t> parameters = {
            static_cast<int>(dtype), static_cast<int>(index_dtype), outer, size, inner, count};
        ExpectNear(
            RunStep({&tx, &ti, &tu}, {{dtype, {outer, size, inner}}}, Calling("scatter_add", parameters))[0],
            want, Tolerance(dtype), std::string(DTypeName(dtype)));
      }
    }
  }
}

TEST(CatalogTest, ScatterAddInPlaceSumsNarrowFloatsInF32) {
  // If each sum were rounded to f16, 2048 + 1 + 1 would be 2048.
  const HostTensor x = MakeTensor(DType::kF16, {2}, {2048, 1}),
                   indices = MakeTensor(DType::kI64, {2}, {0, 0});
  const HostTensor updates = MakeTensor(DType::kF16, {2}, {1, 1});
  const auto results =
      RunStep({&x, &indices, &updates}, {{DType::kF16, {2}}},
              [](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
                f.Copy(in[0], out[0]);
                f.Catalog("scatter_add", {3, 4, 1, 2, 1, 2}, {out[0], in[1], in[2]}, out);
              });
  EXPECT_THAT(results[0], ElementsAre(2050, 1));
}

TEST(CatalogTest, Cumsum) {
  for (DType dtype : kNumbers) {
    for (int64_t reverse : {0, 1}) {
      for (const auto& [outer, size, inner] : std::vector<std::array<int64_t, 3>>{{1, 9, 1},
                                                                                  {3, 6, 4},
                                                                                  {2, 5, 70},
                                                                                  {1, 1, 1},
                                                                                  {2, 0, 3},
                                                                                  {0, 3, 1},
                                                                                  {43, 9, 1},
                                                                                  {1, 9000, 1},
                                                                                  {20, 4300, 1},
                                                                                  {20, 8192, 1},
                                                                                  {2, 4097, 3},
                                                                                  {1, 8192, 33}}) {
        // Long rows are cut into pieces. Their sums do not fit into a byte; whole numbers are not rounded.
        const bool is_long = size > 4096;
        if (is_long && (dtype == DType::kI8 || dtype == DType::kU8)) continue;
        const std::vector<double> x = RandomValues(outer * size * inner, 1, is_long || !IsFloat(dtype));
        std::vector<double> want = x;
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t k = 1; k < size; ++k)
            for (int64_t j = 0; j < inner; ++j) {
              const int64_t at = reverse != 0 ? size - 1 - k : k, before = reverse != 0 ? at + 1 : at - 1;
              want[(o * size + at) * inner + j] += want[(o * size + before) * inner + j];
            }
        const HostTensor tx = MakeTensor(dtype, {outer, size, inner}, x);
        ExpectNear(RunStep({&tx}, {{dtype, {outer, size, inner}}},
                           Calling("cumsum", {static_cast<int>(dtype), outer, size, inner, reverse}))[0],
                   want, Tolerance(dtype), std::string(DTypeName(dtype)));
      }
    }
  }
}

TEST(CatalogTest, RandomPermutation) {
  constexpr int64_t kSeed = 0x123456789abcdef, kStream = 5;
  for (DType dtype : {DType::kI64, DType::kI32}) {
    for (int64_t count : {0, 1, 2, 100, 70000}) {
      for (int64_t step : {int64_t{0}, int64_t{3}, int64_t{-1}, (int64_t{5} << 32) + 3}) {
        std::vector<std::pair<uint32_t, int64_t>> keys;
        for (int64_t i = 0; i < count; ++i) keys.emplace_back(sn_philox(kSeed, step, kStream, i, 0), i);
        std::sort(keys.begin(), keys.end());
        std::vector<double> want;
        for (const auto& [key, number] : keys) want.push_back(static_cast<double>(number));
        HostTensor seed = *HostTensor::FromVector<int64_t>({}, {kSeed});
        const DType step_dtype = step > 3 ? DType::kI64 : DType::kI32;
        const HostTensor ts = MakeTensor(step_dtype, {}, {static_cast<double>(step)});
        const auto results =
            RunStep({&seed, &ts}, {{dtype, {count}}},
                    Calling("random_permutation",
                            {static_cast<int>(dtype), 4, static_cast<int>(step_dtype), count, kStream}));
        EXPECT_EQ(results[0], want);
      }
    }
  }
}

std::string CheckOf(const std::string& name, std::vector<int64_t> parameters,
                    std::vector<kernels::CatalogOperand> operands) {
  return kernels::FindCatalogKernel(name)->check(parameters, operands);
}

TEST(CatalogTest, TopK) {
  for (DType dtype : kNumbers) {
    for (const auto& [rows, size, count] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {3, 40, 1}, {2, 1000, 17}, {4, 30, 30}, {0, 5, 2}, {1, 5003, 3}}) {
      const std::vector<double> x = RandomValues(rows * size, 4, /*whole=*/true);
      std::vector<double> values, positions;
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<int64_t> order(static_cast<size_t>(size));
        std::iota(order.begin(), order.end(), row * size);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x[a] > x[b]; });
        for (int64_t j = 0; j < count; ++j) {
          values.push_back(x[order[j]]);
          positions.push_back(static_cast<double>(order[j] - row * size));
        }
      }
      const HostTensor tx = MakeTensor(dtype, {rows, size}, x);
      const auto results = RunStep({&tx}, {{dtype, {rows, count}}, {DType::kI32, {rows, count}}},
                                   Calling("top_k", {static_cast<int>(dtype), rows, size, count}));
      EXPECT_EQ(results[0], values) << DTypeName(dtype);
      EXPECT_EQ(results[1], positions) << DTypeName(dtype);
    }
  }
}

TEST(CatalogTest, WrongParametersAreNamed) {
  EXPECT_EQ(CheckOf("top_k", {1, 2, 3, 2}, {{1, 6}, {1, 4}, {5, 4}}), "");
  EXPECT_THAT(CheckOf("top_k", {1, 2, 3, 4}, {{1, 6}, {1, 8}, {5, 8}}),
              HasSubstr("the 4 largest of 3 elements"));
  EXPECT_THAT(CheckOf("top_k", {1, 2, 3, 0}, {{1, 6}, {1, 0}, {5, 0}}),
              HasSubstr("the 0 largest of 3 elements"));
  EXPECT_THAT(CheckOf("top_k", {1, 1, int64_t{1} << 31, 1}, {{1, 6}, {1, 0}, {5, 0}}),
              HasSubstr("exceeds i32"));
  EXPECT_THAT(CheckOf("top_k", {1, 2, 3, 2}, {{1, 6}, {1, 4}, {4, 4}}),
              HasSubstr("positions has 4 elements of i64"));
  // x and the result are f32 (1), weights i8 (6) or u8 (7), scales bf16 (2).
  EXPECT_EQ(CheckOf("quantized_matmul", {1, 2, 3, 5, 64, 2, 8}, {{1, 192}, {6, 320}, {2, 10}, {1, 15}}), "");
  EXPECT_EQ(CheckOf("quantized_matmul", {1, 2, 3, 5, 64, 1, 4}, {{1, 192}, {7, 160}, {2, 5}, {1, 15}}), "");
  EXPECT_THAT(CheckOf("quantized_matmul", {0, 2, 3, 5, 64, 2, 8}, {{0, 192}, {6, 320}, {2, 10}, {0, 15}}),
              HasSubstr("x and the scales must be f32, bf16 or f16"));
  EXPECT_THAT(CheckOf("quantized_matmul", {1, 2, 3, 5, 64, 2, 2}, {{1, 192}, {6, 320}, {2, 10}, {1, 15}}),
              HasSubstr("numbers of 2 bits; expected 8 or 4"));
  EXPECT_THAT(CheckOf("quantized_matmul", {1, 2, 3, 5, 40, 1, 4}, {{1, 120}, {7, 100}, {2, 5}, {1, 15}}),
              HasSubstr("rows of 40 numbers of 4 bits"));
  EXPECT_THAT(CheckOf("quantized_matmul", {1, 2, 3, 5, 64, 4, 8}, {{1, 192}, {6, 320}, {2, 20}, {1, 15}}),
              HasSubstr("4 groups of rows of 64 numbers"));
  EXPECT_THAT(CheckOf("quantized_matmul", {1, 2, 3, 5, 64, 2, 8}, {{1, 192}, {6, 300}, {2, 10}, {1, 15}}),
              HasSubstr("the weights has 300 elements of i8"));
  EXPECT_THAT(CheckOf("quantized_matmul", {1, 2, -3, 5, 64, 2, 8}, {{1, 192}, {6, 320}, {2, 10}, {1, 15}}),
              HasSubstr("the size -3 is out of range"));
  EXPECT_EQ(CheckOf("cumsum", {1, 2, 3, 4, 0}, {{1, 24}, {1, 24}}), "");
  EXPECT_THAT(CheckOf("cumsum", {8, 2, 3, 4, 0}, {{1, 24}, {1, 24}}), HasSubstr("the tensor cannot be i1"));
  EXPECT_THAT(CheckOf("cumsum", {-1, 2, 3, 4, 0}, {{1, 24}, {1, 24}}),
              HasSubstr("cannot be element type -1"));
  EXPECT_THAT(CheckOf("cumsum", {1, 2, 3, 4, 2}, {{1, 24}, {1, 24}}),
              HasSubstr("reverse must be 0 or 1, not 2"));
  EXPECT_THAT(CheckOf("cumsum", {1, -2, 3, 4, 0}, {{1, 24}, {1, 24}}),
              HasSubstr("the size -2 is out of range"));
  EXPECT_THAT(CheckOf("cumsum", {1, int64_t{1} << 43, 1 << 20, 4, 0}, {{1, 24}, {1, 24}}),
              HasSubstr("out of range"));
  EXPECT_THAT(CheckOf("cumsum", {1, 2, 3, 4, 0}, {{1, 24}, {2, 24}}),
              HasSubstr("the result has 24 elements of bf16"));
  EXPECT_THAT(CheckOf("scatter_add", {1, 1, 1, 2, 1, 2}, {{1, 2}, {4, 2}, {1, 2}, {1, 2}}),
              HasSubstr("the indices must be i64 or i32, not f32"));
  EXPECT_THAT(CheckOf("scatter_add", {1, 4, 1, 2, 1, 3}, {{1, 2}, {4, 2}, {1, 3}, {1, 2}}),
              HasSubstr("indices has 2 elements of i64, and the parameters make 3"));
  EXPECT_THAT(CheckOf("random_permutation", {1, 4, 4, 9, 0}, {{4, 1}, {4, 1}, {4, 9}}),
              HasSubstr("the result must be i64"));
  EXPECT_THAT(CheckOf("random_permutation", {4, 4, 4, int64_t{1} << 31, 0}, {{4, 1}, {4, 1}, {4, 9}}),
              HasSubstr("a permutation has 0 to 2^31 - 1 numbers"));
  EXPECT_THAT(CheckOf("random_permutation", {4, 4, 4, 9, -1}, {{4, 1}, {4, 1}, {4, 9}}),
              HasSubstr("the stream -1"));
  EXPECT_THAT(CheckOf("random_permutation", {4, 4, 4, 9, 1}, {{4, 2}, {4, 1}, {4, 9}}),
              HasSubstr("the seed has 2 elements"));
}

}  // namespace
}  // namespace sinter
