#include "sinter/kernels/cpu/math/vector_math.h"

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

// Returns the distance of `got` from `want` in units in the last place of T. `want` is more precise than T.
// Infinity counts as the next power of two; NaN only equals NaN. If `want` is exactly zero, the sign must
// agree.
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
};

#define SN_UNARY(name, expression, bound32, bound64)               \
  {#name,   sn_##name##_f32, [](double x) -> double { return expression; },           \
   bound32, sn_##name##_f64, [](long double x) -> long double { return expression; }, \
   bound64}

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
    SN_UNARY(sin, std::sin(x), 2, 2),
    SN_UNARY(cos, std::cos(x), 2, 2),
    SN_UNARY(tan, std::tan(x), 2, 3),
    SN_UNARY(atan, std::atan(x), 3, 3),
    SN_UNARY(sqrt, std::sqrt(x), 0.5, 0.501),
    SN_UNARY(rsqrt, 1 / std::sqrt(x), 2, 2),
    SN_UNARY(floor, std::floor(x), 0, 0),
    SN_UNARY(ceil, std::ceil(x), 0, 0),
    SN_UNARY(rint, std::nearbyint(x), 0, 0),
};

class UnaryTest : public ::testing::TestWithParam<Unary> {};

// A stride of 1 would visit every float; 4093 visits every exponent about 2000 times.
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
        // The floats nearest to multiples of pi / 2, among small and large ones.
        0x1.6cbe44p+0f, 0x1.47d0fep+34f, 0x1.f37c8ap+95f, 128.0f, 149.0f, 150.0f, 0x1p23f, 3.4028235e38f,
        INFINITY, NAN}) {
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
    long double error = UlpError<double, long double>(f.f64(x), f.wide_reference(x));
    if (error > worst) worst = error, worst_at = x;
  }
  EXPECT_LE(worst, f.max_ulp_f64) << f.name << " of " << worst_at << " is " << f.f64(worst_at);
}

INSTANTIATE_TEST_SUITE_P(All, UnaryTest, ::testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(info.param.name); });

// Computed with 3000 bits. The last seven are the doubles nearest to multiples of pi / 2, found by continued
// fractions.
const struct {
  double x;
  long double sin, cos, tan;
} kFarValues[] = {
    {0x1.0000000000001p+50, 0xb21bb2472f53b5d9p-64L, 0xb7e2681d5329df1fp-64L, 0xf7f55edee920db3bp-64L},
    {0x1.1c37937e08000p+53, 0xc799a21975dd252ap-64L, -0xa04c8f1cc6dfdcadp-64L, -0x9f61d7d82116fb52p-63L},
    {-0x1.0f0cf064dd592p+73, 0xda29d5bb5f9cb87dp-64L, 0x85f167780e479c9ap-64L, 0xd07bce0db592bba5p-63L},
    {0x1.7e43c8800759cp+996, -0xd160b580871c2b72p-64L, -0x934c81156e260612p-64L, 0xb5f208f9bd63b54bp-63L},
    {0x1p+1000, -0xa305c570e443726dp-66L, 0xfcbc28b06440a8bcp-64L, -0xa520eab060465f30p-66L},
    {0x1.fffffffffffffp+1023, 0xa297e4c59a74b5b1p-71L, -0xffff31767d5ba9e0p-64L, -0xa29867f394a41dc7p-71L},
    {0x1.6ac5b262ca1ffp+849, 1, -0x8a5739735d1177a3p-124L, -0xecdd4d3cbab1ad1dp-3L},
    {0x1.6ac5b262ca1ffp+850, -0x8a5739735d1177a3p-123L, -1, 0x8a5739735d1177a3p-123L},
    {0x1.504cac51f1eafp+131, -1, -0x865b0269a79a092ep-122L, 0xf3e3e87a1fc0ec19p-5L},
    {0x1.6ac5b262ca1ffp+851, 0x8a5739735d1177a3p-122L, 1, 0x8a5739735d1177a3p-122L},
    {0x1.e009c53148be1p+991, 1, 0x94ad1d853258ea4ap-122L, 0xdc65fbf67d7fd1f0p-5L},
    {0x1.4c96c11134d36p+577, -1, 0xb7633de7bba9125ep-122L, -0xb2ae7cf11e26b8a6p-5L},
    {0x1.cfe482285f8edp+860, -1, -0xe847ace195fd169dp-122L, 0x8d1235b7c922b60dp-5L}};

TEST(FarArgumentTest, TrigonometryIsRightUpToTheLargestDouble) {
  for (const auto& far : kFarValues) {
    ASSERT_GT(std::abs(far.x), SN_FAR_F64);
    for (double sign : {1.0, -1.0}) {
      EXPECT_LE((UlpError<double, long double>(sn_sin_f64(sign * far.x), sign * far.sin)), 1) << sign * far.x;
      EXPECT_LE((UlpError<double, long double>(sn_cos_f64(sign * far.x), far.cos)), 1) << sign * far.x;
      EXPECT_LE((UlpError<double, long double>(sn_tan_f64(sign * far.x), sign * far.tan)), 3) << sign * far.x;
    }
  }
}

// Whole quarter turns and their neighbouring doubles; the C library reduces long doubles accurately.
TEST(FarArgumentTest, TrigonometryIsRightNearMultiplesOfHalfPi) {
  std::mt19937_64 random(17);
  const long double half_pi = 0xc90fdaa22168c235p-63L;
  for (int i = 0; i < 20000; ++i) {
    auto quarters = static_cast<long double>(random() >> (random() % 64));
    auto near = static_cast<double>(std::ldexp(quarters * half_pi, static_cast<int>(random() % 900)));
    for (double x : {near, std::nextafter(near, 0.0), -std::nextafter(near, INFINITY)}) {
      EXPECT_LE((UlpError<double, long double>(sn_sin_f64(x), std::sin(static_cast<long double>(x)))), 2)
          << x;
      EXPECT_LE((UlpError<double, long double>(sn_cos_f64(x), std::cos(static_cast<long double>(x)))), 2)
          << x;
      EXPECT_LE((UlpError<double, long double>(sn_tan_f64(x), std::tan(static_cast<long double>(x)))), 3)
          << x;
    }
  }
}

TEST(FarArgumentTest, OnlyLargeArgumentsAreOverwritten) {
  for (auto* far : {sn_sin_far_f64, sn_cos_far_f64, sn_tan_far_f64}) {
    const double x[] = {SN_FAR_F64, -SN_FAR_F64, NAN, INFINITY, -INFINITY, 1e22};
    double y[] = {7, 7, 7, 7, 7, 7};
    far(x, y, 6);
    for (int i : {0, 1, 2}) EXPECT_EQ(y[i], 7) << x[i];
    for (int i : {3, 4}) EXPECT_TRUE(std::isnan(y[i])) << x[i];
    EXPECT_LT(std::abs(y[5]), 2);
  }
}

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
    // Powers that neither overflow nor underflow.
    double base = std::exp(uniform() * 80);
    Check(base, uniform() * 87 / std::max(0.01, std::abs(std::log(base))));
    Check(-base, static_cast<double>(static_cast<int>(random() % 9) - 4));
  }
}

INSTANTIATE_TEST_SUITE_P(All, BinaryTest, ::testing::ValuesIn(kBinary),
                         [](const auto& info) { return std::string(info.param.name); });

// Rounds to nearest even with `digits` bits and exponents down to `min_exponent`, by scaling and nearbyint.
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
    // Near the float, so sometimes next to a tie.
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

// Known answers from the code of the algorithm's authors.
TEST(PhiloxTest, GivesThePublishedWords) {
  EXPECT_THAT(Philox(0, 0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox(0x299f31d0a4093822, 0x03707344, 0x13198a2e, 0x85a308d3243f6a88),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
  // The step's high word is combined with the key. Here key and counter equal those above.
  EXPECT_THAT(Philox(0x299f31d0a4093822 ^ (uint64_t{0x12345678} << 32), 0x1234567803707344, 0x13198a2e,
                     0x85a308d3243f6a88),
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
