#include "sinter/runtime/host/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace sinter {
namespace {

// Returns the value of a bit pattern by the definition of its format. The tests compare the integer code with
// it.
double Meaning(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  const double fraction = std::ldexp(bits & ((1u << mantissa_bits) - 1), -mantissa_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1.0 : 1.0;
  if (exponent == (1u << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
}

template <typename Half>
void CheckEveryPattern(int exponent_bits, int mantissa_bits) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = Half{static_cast<uint16_t>(bits)}.ToFloat();
    const double meaning = Meaning(bits, exponent_bits, mantissa_bits);
    const uint16_t back = Half::FromFloat(value).bits;
    if (std::isnan(meaning)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(back, bits | 1u << (mantissa_bits - 1)) << "a NaN keeps sign and payload and becomes quiet";
    } else {
      ASSERT_EQ(value, meaning) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(meaning)) << bits;
      ASSERT_EQ(back, bits);
    }
  }
}

// For every pair of neighbours: a value below the middle, the middle (a tie rounds to the even pattern), a
// value above the middle.
template <typename Half>
void CheckEveryTie(uint32_t infinity) {
  for (uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const double low = Half{static_cast<uint16_t>(bits)}.ToFloat();
    const double high = Half{static_cast<uint16_t>(bits + 1)}.ToFloat();
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << "a float holds the middle exactly";
    const uint32_t even = bits + (bits & 1);
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float s = sign == 0 ? 1.0f : -1.0f;
      ASSERT_EQ(Half::FromFloat(s * middle).bits, even | sign) << bits;
      ASSERT_EQ(Half::FromFloat(s * std::nextafter(middle, 0.0f)).bits, bits | sign) << bits;
      ASSERT_EQ(Half::FromFloat(s * std::nextafter(middle, INFINITY)).bits, (bits + 1) | sign) << bits;
    }
  }
}

TEST(HalfTest, EveryBFloat16ReadsAndWritesBack) { CheckEveryPattern<BFloat16>(8, 7); }
TEST(HalfTest, EveryFloat16ReadsAndWritesBack) { CheckEveryPattern<Float16>(5, 10); }
TEST(HalfTest, EveryBFloat16TieGoesToEven) { CheckEveryTie<BFloat16>(0x7f80); }
TEST(HalfTest, EveryFloat16TieGoesToEven) { CheckEveryTie<Float16>(0x7c00); }

TEST(HalfTest, LargeAndSmallValues) {
  EXPECT_EQ(Float16::FromFloat(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16::FromFloat(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(Float16::FromFloat(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16::FromFloat(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Float16::FromFloat(std::ldexp(1.0f, -25)).bits, 0);
  EXPECT_EQ(Float16::FromFloat(-std::ldexp(1.0f, -26)).bits, 0x8000);
  EXPECT_EQ(Float16::FromFloat(std::nextafter(std::ldexp(1.0f, -25), 1.0f)).bits, 1);
  EXPECT_EQ(BFloat16::FromFloat(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16::FromFloat(std::bit_cast<float>(0x7f7f7fffu)).bits, 0x7f7f);
  EXPECT_EQ(BFloat16::FromFloat(1.0f).bits, 0x3f80);
}

TEST(HalfTest, NanNeverBecomesInfinity) {
  for (uint32_t payload = 1; payload < 0x800000; payload = payload * 3 + 1) {
    const float nan = std::bit_cast<float>(0x7f800000u | payload);
    EXPECT_TRUE(std::isnan(Float16::FromFloat(nan).ToFloat())) << payload;
    EXPECT_TRUE(std::isnan(BFloat16::FromFloat(nan).ToFloat())) << payload;
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(HalfTest, AgreesWithTheCompiler) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(Float16::FromFloat(value).bits, std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}
#endif

}  // namespace
}  // namespace sinter
