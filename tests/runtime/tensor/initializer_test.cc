#include "sinter/runtime/tensor/initializer.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cpu/math/vector_math.h"
#include "sinter/runtime/host/half.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

using ValuesKind = InitialValues::Kind;
using ::testing::Each;
using ::testing::HasSubstr;

std::vector<double> Fill(const InitialValues& values, DType dtype, std::vector<int64_t> shape,
                         int threads = 2) {
  HostTensor tensor = *HostTensor::Zeros(dtype, shape);
  const absl::Status status =
      FillInitialValues(values, dtype, shape, tensor.mutable_data(), ThreadPool(threads));
  EXPECT_TRUE(status.ok()) << status;
  return ToDoubles(tensor);
}

TEST(InitializerTest, Constants) {
  EXPECT_THAT(Fill({.a = 0.5}, DType::kF32, {3, 2}), Each(0.5));
  EXPECT_THAT(Fill({.a = 7.9}, DType::kI32, {4}), Each(7));
  EXPECT_THAT(Fill({.a = -300}, DType::kI8, {4}), Each(-128));
  EXPECT_THAT(Fill({.a = 1e30}, DType::kI64, {4}), Each(0x1p63));
  EXPECT_THAT(Fill({.a = std::nan("")}, DType::kI64, {4}), Each(0));
  EXPECT_THAT(Fill({.a = 1}, DType::kI1, {4}), Each(1));
  EXPECT_THAT(Fill({.a = 3}, DType::kF16, {}), Each(3));
  EXPECT_TRUE(Fill({.a = 3}, DType::kF32, {0, 5}).empty());
}

TEST(InitializerTest, UniformNumbersAreThoseOfPhilox) {
  const InitialValues values = {.kind = ValuesKind::kUniform, .a = -2, .b = 3, .seed = -12345678901234};
  const std::vector<double> got = Fill(values, DType::kF32, {100});
  for (size_t i = 0; i < got.size(); ++i) {
    const uint32_t word = sn_philox(static_cast<uint64_t>(values.seed), 0, 0, i, 0);
    EXPECT_EQ(got[i], static_cast<float>(-2 + 5 * ((word >> 8) * 0x1p-24)));
  }
}

TEST(InitializerTest, NormalNumbersAreThoseOfBoxAndMuller) {
  const InitialValues values = {.kind = ValuesKind::kNormal, .a = 1, .b = 0.5, .seed = 42};
  const std::vector<double> f32 = Fill(values, DType::kF32, {1000}), f64 = Fill(values, DType::kF64, {1000});
  for (size_t i = 0; i < f32.size(); ++i) {
    uint32_t w[4];
    for (int lane = 0; lane < 4; ++lane) w[lane] = sn_philox(42, 0, 0, i, lane);
    const double u = (w[0] >> 1) * 0x1p-31 + 0x1p-33, turns = (w[1] >> 8) * 0x1p-24;
    EXPECT_NEAR(f32[i], 1 + 0.5 * std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * turns), 2e-6);
    EXPECT_EQ(f64[i], 1 + 0.5 * sn_normal_f64(w[0], w[1], w[2], w[3]));
  }
}

// Computes one element with the scalar functions, in double precision up to the final rounding.
double Scalar(const InitialValues& values, DType dtype, int64_t element) {
  uint32_t w[4];
  for (int lane = 0; lane < 4; ++lane) {
    w[lane] = sn_philox(static_cast<uint64_t>(values.seed), 0, 0, static_cast<uint64_t>(element), lane);
  }
  const bool wide = dtype == DType::kF64, is_uniform = values.kind == ValuesKind::kUniform;
  double value = 0;
  if (is_uniform) value = wide ? sn_uniform_f64(w[0], w[1]) : sn_uniform_f32(w[0]);
  if (!is_uniform) value = wide ? sn_normal_f64(w[0], w[1], w[2], w[3]) : sn_normal_f32(w[0], w[1]);
  value = is_uniform ? values.a + (values.b - values.a) * value : values.a + values.b * value;
  if (wide) return value;
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::kBf16) return BFloat16::FromFloat(narrow).ToFloat();
  if (dtype == DType::kF16) return Float16::FromFloat(narrow).ToFloat();
  return narrow;
}

TEST(InitializerTest, AnyCutAndAnyThreadsGiveTheBitsOfOneElementAtATime) {
  constexpr int64_t kCount = 20011;
  // At 2^32 the counter carries into its second word.
  constexpr int64_t kBegins[] = {0, 1, (int64_t{1} << 32) - 10000};
  for (const ValuesKind kind : {ValuesKind::kUniform, ValuesKind::kNormal}) {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16}) {
      const InitialValues values = {.kind = kind, .a = 0.1, .b = 0.37, .seed = -77};
      for (const int64_t begin : kBegins) {
        std::vector<double> want;
        for (int64_t i = 0; i < kCount; ++i) want.push_back(Scalar(values, dtype, begin + i));
        for (const int threads : {1, 2, 7}) {
          HostTensor got = *HostTensor::Zeros(dtype, {kCount});
          ASSERT_TRUE(
              FillInitialElements(values, dtype, begin, kCount, got.mutable_data(), ThreadPool(threads))
                  .ok());
          EXPECT_EQ(ToDoubles(got), want)
              << static_cast<int>(dtype) << " from " << begin << " by " << threads;
        }
      }
    }
  }
}

TEST(InitializerTest, SaysWhichConstantsRepeatAByte) {
  EXPECT_EQ(RepeatedByte({.a = 0}, DType::kF32), 0);
  EXPECT_EQ(RepeatedByte({.a = -0.0}, DType::kF32), std::nullopt);
  EXPECT_EQ(RepeatedByte({.a = 1}, DType::kF32), std::nullopt);
  EXPECT_EQ(RepeatedByte({.a = 0}, DType::kF64), 0);
  EXPECT_EQ(RepeatedByte({.a = -1}, DType::kI64), 255);
  EXPECT_EQ(RepeatedByte({.a = 1}, DType::kI32), std::nullopt);
  EXPECT_EQ(RepeatedByte({.a = -3}, DType::kI8), 253);
  EXPECT_EQ(RepeatedByte({.a = 1}, DType::kI1), 1);
  EXPECT_EQ(RepeatedByte({.kind = ValuesKind::kNormal}, DType::kF32), std::nullopt);
}

TEST(InitializerTest, MomentsAreRight) {
  constexpr int kCount = 200000;
  double sum = 0, squares = 0;
  for (const double value : Fill({.kind = ValuesKind::kNormal, .b = 1, .seed = 1}, DType::kF32, {kCount})) {
    sum += value, squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.01);
}

TEST(InitializerTest, ThreadsDoNotMatter) {
  for (ValuesKind kind : {ValuesKind::kUniform, ValuesKind::kNormal, ValuesKind::kOrthogonal}) {
    for (DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16}) {
      const InitialValues values = {.kind = kind, .a = 1, .b = 2, .seed = 3};
      EXPECT_EQ(Fill(values, dtype, {90, 120}, 1), Fill(values, dtype, {90, 120}, 5));
    }
  }
}

TEST(InitializerTest, TruncatedNormalsInvertTheDistributionFunction) {
  const InitialValues values = {
      .kind = ValuesKind::kTruncatedNormal, .a = 1, .b = 0.5, .seed = 7, .low = -3, .high = 1.5};
  const std::vector<double> got = Fill(values, DType::kF64, {2000});
  const auto below = [](double x) { return std::erf(x * M_SQRT1_2); };
  for (size_t i = 0; i < got.size(); ++i) {
    const double u = sn_uniform_f64(sn_philox(7, 0, 0, i, 0), sn_philox(7, 0, 0, i, 1));
    EXPECT_NEAR((below((got[i] - 1) / 0.5) - below(-3)) / (below(1.5) - below(-3)), u, 1e-13) << i;
  }
  EXPECT_EQ(Fill(values, DType::kF32, {5000}, 1), Fill(values, DType::kF32, {5000}, 7));
}

TEST(InitializerTest, ValuesAreThoseOfTheWhole) {
  const std::vector<int32_t> all = {1, 2, 3, 4, 5};
  const InitialValues values = {.kind = ValuesKind::kValues, .values = all.data()};
  EXPECT_EQ(Fill(values, DType::kI32, {5}), (std::vector<double>{1, 2, 3, 4, 5}));
  int32_t part[2];
  ASSERT_TRUE(FillInitialElements(values, DType::kI32, 3, 2, part, ThreadPool(1)).ok());
  EXPECT_EQ(part[0], 4);
  EXPECT_EQ(part[1], 5);
}

TEST(InitializerTest, OrthogonalMatrices) {
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{5, 5}, {3, 17}, {40, 9}, {8, 3, 2, 2}, {64, 64}}) {
    const std::vector<double> m =
        Fill({.kind = ValuesKind::kOrthogonal, .a = 2, .seed = 9}, DType::kF64, shape);
    const int64_t rows = shape[0], columns = static_cast<int64_t>(m.size()) / rows;
    const bool by_row = rows <= columns;
    const int64_t count = std::min(rows, columns), size = std::max(rows, columns);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        double dot = 0;
        for (int64_t k = 0; k < size; ++k) {
          dot += by_row ? m[i * columns + k] * m[j * columns + k] : m[k * columns + i] * m[k * columns + j];
        }
        ASSERT_NEAR(dot, i == j ? 4 : 0, 1e-11);
      }
    }
  }
  EXPECT_TRUE(Fill({.kind = ValuesKind::kOrthogonal, .a = 1}, DType::kF32, {0, 4}).empty());
}

TEST(InitializerTest, Errors) {
  int32_t data[4];
  const ThreadPool pool(1);
  const int64_t shape[] = {4};
  EXPECT_THAT(
      std::string(FillInitialValues({.kind = ValuesKind::kNormal}, DType::kI32, shape, data, pool).message()),
      HasSubstr("random initial values are floats, not i32"));
  EXPECT_THAT(
      std::string(
          FillInitialValues({.kind = ValuesKind::kOrthogonal}, DType::kF32, shape, data, pool).message()),
      HasSubstr("orthogonal initial values need rank 2 or more, not f32[4]"));
}

}  // namespace
}  // namespace sinter
