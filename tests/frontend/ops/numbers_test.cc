// Functions of numbers against Python's math and NumPy, and bits of integers.
#include "sinter/frontend/ops/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sinter/frontend/ops/special.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using NumbersTest = DeviceTest;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The values are those of math.erfc.
TEST_F(NumbersTest, ErfcKeepsItsDigits) {
  const std::vector<double> x = {-30, -3,  -0.5, 0,   0.25, 0.499, 0.5, 0.75, 1,        2,
                                 3.5, 5.9, 6.0,  6.3, 10,   20,    26,  28,   kInfinite};
  Values got = Compute([&](Builder& b) {
    const Tensor in = Vector(b, x), y = Erfc(in);
    b.Output("y", y);
    b.Output("slope", Gradients(Sum(y), {in})[0]);
  });
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(got["y"][i] / std::max(std::erfc(x[i]), 1e-300),
                std::erfc(x[i]) / std::max(std::erfc(x[i]), 1e-300), 1e-12)
        << x[i];
    const double slope = -2 / std::sqrt(std::acos(-1.0)) * std::exp(-x[i] * x[i]);
    if (std::fabs(x[i]) < 26) EXPECT_NEAR(got["slope"][i], slope, 1e-10 * std::fabs(slope)) << x[i];
  }
}

TEST_F(NumbersTest, DividesDownwards) {
  Values got = Compute([&](Builder& b) {
    const Tensor x = Cast(Vector(b, {7, -7, 7, -7, 6, -6, 5, 0}), I32),
                 y = Cast(Vector(b, {2, 2, -2, -2, 3, 3, 0, 4}), I32);
    b.Output("integers", Cast(FloorDivide(x, y), F64));
    b.Output("by_number", Cast(FloorDivide(x, -4), F64));
    b.Output("of_number", Cast(FloorDivide(9, y), F64));
    b.Output("small", Cast(FloorDivide(Cast(x, I8), Cast(y, I8)), F64));
    b.Output("floats", FloorDivide(Vector(b, {7.5, -7.5}), Vector(b, {2, 2})));
  });
  EXPECT_THAT(got["integers"], ElementsAre(3, -4, -4, 3, 2, -2, 0, 0));
  EXPECT_THAT(got["by_number"], ElementsAre(-2, 1, -2, 1, -2, 1, -2, 0));
  EXPECT_THAT(got["of_number"], ElementsAre(4, 4, -5, -5, 3, 3, 0, 2));
  EXPECT_THAT(got["small"], ElementsAre(3, -4, -4, 3, 2, -2, 0, 0));
  EXPECT_THAT(got["floats"], ElementsAre(3, -4));
}

TEST_F(NumbersTest, FractionsEndsRootsAndSigns) {
  Values got = Compute([&](Builder& b) {
    const Tensor x = Vector(b, {1.5, -2.25, 27, -8}), y = Vector(b, {0.1, 3, 7, 1e-9});
    b.Output("frac", Frac(x));
    b.Output("at_x", Lerp(x, y, 0.0));
    b.Output("at_y", Lerp(x, y, 1.0));
    b.Output("between", Lerp(x, y, Vector(b, {0.25, 0.75, 1, 0})));
    b.Output("cbrt", Cbrt(x));
    b.Output("signs", CopySign(x, Vector(b, {-0.0, 0.0, -3, 5})));
    b.Output("minus", CopySign(x, -0.0));
    b.Output("dx", Gradients(Sum(Cbrt(x)), {x})[0]);
  });
  EXPECT_THAT(got["frac"], ElementsAre(0.5, -0.25, 0, 0));
  EXPECT_THAT(got["at_x"], ElementsAre(1.5, -2.25, 27, -8));
  EXPECT_THAT(got["at_y"], ElementsAre(0.1, 3, 7, 1e-9));
  EXPECT_THAT(got["between"], ::testing::Pointwise(::testing::DoubleNear(1e-14), {1.15, 1.6875, 7.0, -8.0}));
  EXPECT_THAT(got["cbrt"], ::testing::Pointwise(::testing::DoubleNear(1e-14),
                                                {std::cbrt(1.5), std::cbrt(-2.25), 3.0, -2.0}));
  EXPECT_THAT(got["signs"], ElementsAre(-1.5, 2.25, -27, 8));
  EXPECT_THAT(got["minus"], ElementsAre(-1.5, -2.25, -27, -8));
  EXPECT_NEAR(got["dx"][2], 1.0 / 27, 1e-14);
  EXPECT_NEAR(got["dx"][3], 1.0 / 12, 1e-14);
}

TEST_F(NumbersTest, NumbersInPlaceOfNan) {
  Values got = Compute([&](Builder& b) {
    const Tensor x = Vector(b, {1.5, std::nan(""), kInfinite, -kInfinite});
    b.Output("plain", NanToNum(x));
    b.Output("given", NanToNum(x, {.nan = 3, .infinity = 4, .negative_infinity = -5}));
    b.Output("single", Cast(NanToNum(Cast(x, F32)), F64));
    b.Output("dx", Gradients(Sum(NanToNum(x) * 2.0), {x})[0]);
  });
  const double most = std::numeric_limits<double>::max();
  EXPECT_THAT(got["plain"], ElementsAre(1.5, 0, most, -most));
  EXPECT_THAT(got["given"], ElementsAre(1.5, 3, 4, -5));
  EXPECT_THAT(got["single"],
              ElementsAre(1.5, 0, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()));
  EXPECT_THAT(got["dx"], ElementsAre(2, 0, 0, 0));
}

TEST_F(NumbersTest, Bits) {
  Values got = Compute([&](Builder& b) {
    const Tensor x = Cast(Vector(b, {12, -1, 5, -128}), I16), y = Cast(Vector(b, {10, 6, 3, 1}), I16);
    auto out = [&](const char* name, const Tensor& value) { b.Output(name, Cast(value, F64)); };
    out("and", x & y);
    out("or", x | 1);
    out("xor", x ^ y);
    out("not", ~x);
    out("left", ShiftLeft(x, y));
    out("right", ShiftRight(x, y));
    out("far", ShiftRight(x, 16));
    out("unsigned", ShiftRight(Cast(Vector(b, {200, 255}), U8), 3));
    const Tensor p = Vector(b, {1, 0}) > 0.5, q = Vector(b, {1, 1}) > 0.5;
    out("truths", (p & q) | (p ^ ~q));
  });
  EXPECT_THAT(got["and"], ElementsAre(8, 6, 1, 0));
  EXPECT_THAT(got["or"], ElementsAre(13, -1, 5, -127));
  EXPECT_THAT(got["xor"], ElementsAre(6, -7, 6, -127));
  EXPECT_THAT(got["not"], ElementsAre(-13, 0, -6, 127));
  EXPECT_THAT(got["left"], ElementsAre(12288, -64, 40, -256));
  EXPECT_THAT(got["right"], ElementsAre(0, -1, 0, -64));
  EXPECT_THAT(got["far"], ElementsAre(0, -1, 0, -1));
  EXPECT_THAT(got["unsigned"], ElementsAre(25, 31));
  EXPECT_THAT(got["truths"], ElementsAre(1, 0));
}

class NumbersErrorTest : public testing::TestWithParam<ErrorCase> {};
TEST_P(NumbersErrorTest, Says) { ExpectSays(GetParam(), "numbers_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Numbers, NumbersErrorTest,
    testing::Values(
        In("AndOfFloats", [](Builder& b) { X(b) & X(b); }, {"takes integers; Cast(x, I32) first"}),
        In("NotOfFloats", [](Builder& b) { ~X(b); }, {"takes integers; Cast(x, I32) first"}),
        In("ShiftOfFloats", [](Builder& b) { ShiftLeft(X(b), 1); }, {"takes integers; Cast(x, I32) first"}),
        In("FloorDivideOfTruths", [](Builder& b) { FloorDivide(X(b) > 0.0, X(b) > 0.0); },
           {"takes numbers, not i1"}),
        In("FracOfIntegers", [](Builder& b) { Frac(X(b, {2}, I32)); }, {"takes floats"}),
        In("LerpOfIntegers", [](Builder& b) { Lerp(X(b, {2}, I32), X(b, {2}, I32), 0.5); }, {"takes floats"}),
        In("CbrtOfIntegers", [](Builder& b) { Cbrt(X(b, {2}, I32)); }, {"takes floats"}),
        In("CopySignOfIntegers", [](Builder& b) { CopySign(X(b, {2}, I32), 1.0); }, {"takes floats"}),
        In("NanToNumOfIntegers", [](Builder& b) { NanToNum(X(b, {2}, I32)); }, {"takes floats"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
