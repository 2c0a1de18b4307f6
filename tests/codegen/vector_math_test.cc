#include "sinter/kernels/cpu/vector_math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::ElementsAre;

template <typename To, typename From>
To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Distance of `got` from `want` in units in the last place of T. `want` is more precise than T. Infinity
// counts as the next power of two; NaN only equals NaN; zero results must have the right sign where `want` is
// exactly zero.
template <typename T, typename Wide>
Wide UlpError(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : 1e9;
  if (got == rounded) return want == 0 && std::signbit(got) != std::signbit(rounded) ? 1e9 : 0;
  if (std::isinf(got) && std::isinf(rounded)) return 1e9;
  int exponent;
  std::frexp(std::isinf(rounded) ? Limits::max() : rounded == 0 ? Limits::denorm_min() : rounded, &exponent);
  Wide ulp = std::ldexp(Wide(1), std::max(exponent, Limits::min_exponent) - Limits::digits);
  auto finite = [](Wide x) {
    return std::isinf(x) ? std::copysign(std::ldexp(Wide(1), Limits::max_exponent), x) : x;
  };
  return std::abs(finite(got) - (std::isinf(rounded) ? finite(rounded) : want)) / ulp;
}

struct Unary {
  const char* name;
  float (*f32)(float);
  double (*reference)(double);
  double max_ulp_f32;
  double (*f64)(double);
  long double (*wide_reference)(long double);
  double max_ulp_f64;
  double max_argument_f64 = INFINITY;  // Beyond it the result is NaN.
};

#define SN_UNARY(name, expression, bound32, bound64, ...)          \
  {#name,   sn_##name##_f32, [](double x) -> double { return expression; },           \
   bound32, sn_##name##_f64, [](long double x) -> long double { return expression; }, \
   bound64, ##__VA_ARGS__}

const Unary kUnary[] = {
    SN_UNARY(exp, std::exp(x), 2, 2),
    SN_UNARY(exp2, std::exp2(x), 2, 2),
    SN_UNARY(expm1, std::expm1(x), 2, 2),
    SN_UNARY(log, std::log(x), 2, 3),
    SN_UNARY(log2, std::log2(x), 2, 3),
    SN_UNARY(log10, std::log10(x), 2, 3),
    SN_UNARY(log1p, std::log1p(x), 2, 3),
    SN_UNARY(tanh, std::tanh(x), 3, 3),
    SN_UNARY(sigmoid, 1 / (1 + std::exp(-x)), 3, 3),
    SN_UNARY(erf, std::erf(x), 2, 2),
    SN_UNARY(sin, std::sin(x), 2, 2, 0x1p50),
    SN_UNARY(cos, std::cos(x), 2, 2, 0x1p50),
    SN_UNARY(tan, std::tan(x), 2, 3, 0x1p50),
    SN_UNARY(atan, std::atan(x), 3, 3),
    SN_UNARY(sqrt, std::sqrt(x), 0.5, 0.501),
    SN_UNARY(rsqrt, 1 / std::sqrt(x), 2, 2),
    SN_UNARY(floor, std::floor(x), 0, 0),
    SN_UNARY(ceil, std::ceil(x), 0, 0),
    SN_UNARY(rint, std::nearbyint(x), 0, 0),
};

class UnaryTest : public ::testing::TestWithParam<Unary> {};

// With a stride of 1 this is every float; 4093 visits every exponent some 2000 times.
TEST_P(UnaryTest, F32StaysWithinItsBoundOverAllBitPatterns) {
  const Unary& f = GetParam();
  constexpr uint64_t kStride = 4093;
  double worst = 0;
  float worst_at = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStride) {
    float x = BitCast<float>(static_cast<uint32_t>(bits));
    double error = UlpError<float, double>(f.f32(x), f.reference(x));
    if (error > worst) worst = error, worst_at = x;
  }
  EXPECT_LE(worst, f.max_ulp_f32) << f.name << " of " << worst_at << " is " << f.f32(worst_at);
}

TEST_P(UnaryTest, F32IsRightAtTheEdges) {
  const Unary& f = GetParam();
  for (float magnitude :
       {0.0f, 1e-45f, 0x1p-126f, 0x1.fffffcp-127f, 1.0f, 1.5f, 2.5f, 88.72283f, 88.72284f, 103.972f, 103.973f,
        128.0f, 149.0f, 150.0f, 0x1p23f, 3.4028235e38f, INFINITY, NAN}) {
    for (float x :
         {magnitude, -magnitude, std::nextafter(magnitude, 0.0f), std::nextafter(magnitude, INFINITY)}) {
      EXPECT_LE((UlpError<float, double>(f.f32(x), f.reference(x))), f.max_ulp_f32)
          << f.name << " of " << x << " is " << f.f32(x);
    }
  }
}

TEST_P(UnaryTest, F64StaysWithinItsBound) {
  const Unary& f = GetParam();
  std::mt19937_64 random(7);
  auto uniform = [&] { return std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63); };
  std::vector<double> inputs = {0.0,
                                -0.0,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                1.0,
                                -1.0,
                                5e-324,
                                -5e-324,
                                709.7827128933840,
                                709.782712893385,
                                -745.1332191019411,
                                -745.1332191019412,
                                -708.4,
                                1e308,
                                -1e308};
  for (int i = 0; i < 50000; ++i) {
    inputs.insert(inputs.end(),
                  {BitCast<double>(static_cast<uint64_t>(random())), uniform(), uniform() * 10,
                   uniform() * 750, std::ldexp(uniform(), static_cast<int>(random() % 100) - 50)});
  }
  long double worst = 0;
  double worst_at = 0;
  for (double x : inputs) {
    if (std::abs(x) > f.max_argument_f64) {
      ASSERT_TRUE(std::isnan(f.f64(x))) << f.name << " of " << x;
      continue;
    }
    long double error = UlpError<double, long double>(f.f64(x), f.wide_reference(x));
    if (error > worst) worst = error, worst_at = x;
  }
  EXPECT_LE(worst, f.max_ulp_f64) << f.name << " of " << worst_at << " is " << f.f64(worst_at);
}

INSTANTIATE_TEST_SUITE_P(All, UnaryTest, ::testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(info.param.name); });

struct Binary {
  const char* name;
  float (*f32)(float, float);
  double (*reference)(double, double);
  double max_ulp_f32;
  double (*f64)(double, double);
  long double (*wide_reference)(long double, long double);
  double max_ulp_f64;
};

const Binary kBinary[] = {
    {"pow", sn_pow_f32, std::pow, 1, sn_pow_f64, powl, 2},
    {"atan2", sn_atan2_f32, std::atan2, 3, sn_atan2_f64, atan2l, 3},
    {"rem", sn_rem_f32, std::fmod, 0, sn_rem_f64, fmodl, 0},
};

class BinaryTest : public ::testing::TestWithParam<Binary> {
 protected:
  void Check(double x, double y) {
    const Binary& f = GetParam();
    float x32 = static_cast<float>(x), y32 = static_cast<float>(y);
    ASSERT_LE((UlpError<float, double>(f.f32(x32, y32), f.reference(x32, y32))), f.max_ulp_f32)
        << f.name << " of " << x32 << " and " << y32 << " is " << f.f32(x32, y32);
    ASSERT_LE((UlpError<double, long double>(f.f64(x, y), f.wide_reference(x, y))), f.max_ulp_f64)
        << f.name << " of " << x << " and " << y << " is " << f.f64(x, y);
  }
};

TEST_P(BinaryTest, IsRightForEveryPairOfEdges) {
  const double edges[] = {0,        0.5,        1,      2,          2.5,      3,     1e-45,
                          1e-38,    3e38,       5e-324, 2.2e-308,   1e308,    1e300, 1e16,
                          16777217, 0x1p53 + 2, 1e-3,   0x1p52 + 1, INFINITY, NAN};
  for (double x : edges) {
    for (double y : edges) {
      for (int signs = 0; signs < 4; ++signs) Check(signs & 1 ? -x : x, signs & 2 ? -y : y);
    }
  }
}

TEST_P(BinaryTest, StaysWithinItsBoundOnRandomPairs) {
  std::mt19937_64 random(11);
  auto uniform = [&] { return std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63); };
  for (int i = 0; i < 100000; ++i) {
    Check(BitCast<double>(static_cast<uint64_t>(random())), BitCast<double>(static_cast<uint64_t>(random())));
    Check(uniform(), uniform());
    Check(BitCast<float>(static_cast<uint32_t>(random())), BitCast<float>(static_cast<uint32_t>(random())));
    // Powers that neither overflow nor vanish.
    double base = std::exp(uniform() * 80);
    Check(base, uniform() * 87 / std::max(0.01, std::abs(std::log(base))));
    Check(-base, static_cast<double>(static_cast<int>(random() % 9) - 4));
  }
}

INSTANTIATE_TEST_SUITE_P(All, BinaryTest, ::testing::ValuesIn(kBinary),
                         [](const auto& info) { return std::string(info.param.name); });

// Nearest even at `digits` bits, exponents down to `min_exponent`, by scaling and nearbyint.
double Round(double x, int digits, int min_exponent, double limit) {
  if (x == 0 || !std::isfinite(x)) return x;
  int shift = std::max(std::ilogb(x), min_exponent) - digits + 1;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -shift)), shift);
  return std::abs(rounded) >= limit ? std::copysign(INFINITY, x) : rounded;
}

TEST(SixteenBitFloatTest, RoundToNearestEvenFromF32AndF64) {
  std::mt19937_64 random(13);
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
    float x = BitCast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(sn_f32_from_f16(sn_f16_from_f32(x))));
      ASSERT_TRUE(std::isnan(sn_f32_from_bf16(sn_bf16_from_f32(x))));
      continue;
    }
    ASSERT_EQ(sn_f32_from_f16(sn_f16_from_f32(x)), Round(x, 11, -14, 0x1p16)) << x;
    ASSERT_EQ(sn_f32_from_bf16(sn_bf16_from_f32(x)), Round(x, 8, -126, 0x1p128)) << x;
    // Near the float, hence sometimes just beside a tie.
    double wide = x * (1 + std::ldexp(static_cast<double>(random() % 16), -52));
    ASSERT_EQ(sn_f32_from_f16(sn_f16_from_f64(wide)), Round(wide, 11, -14, 0x1p16)) << wide;
    ASSERT_EQ(sn_f32_from_bf16(sn_bf16_from_f64(wide)), Round(wide, 8, -126, 0x1p128)) << wide;
  }
}

TEST(SixteenBitFloatTest, EveryValueSurvivesTheWayThroughF32) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    bool is_f16_nan = (bits & 0x7fff) > 0x7c00, is_bf16_nan = (bits & 0x7fff) > 0x7f80;
    EXPECT_EQ(sn_f16_from_f32(sn_f32_from_f16(bits)), is_f16_nan ? bits | 0x200 : bits);
    EXPECT_EQ(sn_bf16_from_f32(sn_f32_from_bf16(bits)), is_bf16_nan ? bits | 0x40 : bits);
  }
}

std::array<uint32_t, 4> Philox(uint64_t seed, uint64_t step, uint32_t stream, uint64_t index) {
  return {sn_philox(seed, step, stream, index, 0), sn_philox(seed, step, stream, index, 1),
          sn_philox(seed, step, stream, index, 2), sn_philox(seed, step, stream, index, 3)};
}

// The known answers that come with the algorithm's authors' own code.
TEST(PhiloxTest, GivesThePublishedWords) {
  EXPECT_THAT(Philox(0, 0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox(0x299f31d0a4093822, 0x03707344, 0x13198a2e, 0x85a308d3243f6a88),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(PhiloxTest, EveryCoordinateMatters) {
  auto base = Philox(1, 2, 3, 4);
  EXPECT_NE(base, Philox(2, 2, 3, 4));
  EXPECT_NE(base, Philox(1, 3, 3, 4));
  EXPECT_NE(base, Philox(1, 2 + (uint64_t{1} << 32), 3, 4));
  EXPECT_NE(base, Philox(1, 2, 4, 4));
  EXPECT_NE(base, Philox(1, 2, 3, 4 + (uint64_t{1} << 32)));
}

TEST(RandomTest, UniformFillsItsRange) {
  EXPECT_EQ(sn_uniform_f32(0), 0.0f);
  EXPECT_EQ(sn_uniform_f32(0xffffffff), 1.0f - 0x1p-24f);
  EXPECT_EQ(sn_uniform_f64(0, 0), 0.0);
  EXPECT_EQ(sn_uniform_f64(0xffffffff, 0xffffffff), 1.0 - 0x1p-53);
}

TEST(RandomTest, NormalHasTheMomentsOfANormal) {
  constexpr int kCount = 400000;
  double moments[2][4] = {};
  for (uint64_t i = 0; i < kCount; ++i) {
    auto words = Philox(42, 0, 0, i);
    double z[2] = {sn_normal_f32(words[0], words[1]), sn_normal_f64(words[0], words[1], words[2], words[3])};
    for (int k = 0; k < 2; ++k) {
      for (int power = 1; power <= 4; ++power) moments[k][power - 1] += std::pow(z[k], power) / kCount;
    }
  }
  for (const auto& m : moments) {
    EXPECT_NEAR(m[0], 0.0, 0.008);
    EXPECT_NEAR(m[1], 1.0, 0.012);
    EXPECT_NEAR(m[2], 0.0, 0.03);
    EXPECT_NEAR(m[3], 3.0, 0.08);
  }
  EXPECT_TRUE(std::isfinite(sn_normal_f32(0, 0)));
  EXPECT_NEAR(sn_normal_f32(0, 0), 6.76, 0.01);
  EXPECT_EQ(std::abs(sn_normal_f32(0xffffffff, 0)), 0.0f);
  EXPECT_NEAR(sn_normal_f64(0, 0, 0, 0), 8.65, 0.01);
}

}  // namespace
