// Complex numbers against the standard library's, gradients against finite differences, and errors.
#include "sinter/frontend/fourier/complex_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

using C = std::complex<double>;

const std::vector<double> kX = {1, 2, -0.5, 0.25, 0, -3, -2, 0}, kY = {0.5, -1, 3, 2, -1, -1, 0.1, 0.7};

auto AreNear(std::vector<double> want) { return Pointwise(DoubleNear(1e-14), std::move(want)); }

C At(const std::vector<double>& pairs, size_t i) { return {pairs[2 * i], pairs[2 * i + 1]}; }

// Pairs that `number` makes of each pair of x and y.
template <typename F>
std::vector<double> Made(F number) {
  std::vector<double> pairs;
  for (size_t i = 0; 2 * i < kX.size(); ++i) {
    const C made = number(At(kX, i), At(kY, i));
    pairs.insert(pairs.end(), {made.real(), made.imag()});
  }
  return pairs;
}

using ComplexNumbersTest = DeviceTest;

TEST_F(ComplexNumbersTest, AgreesWithTheStandardLibrary) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, kX, {4, 2}), y = Vector(b, kY, {4, 2});
    b.Output("mul", ComplexMul(x, y));
    b.Output("conj", ComplexConj(x));
    b.Output("abs", ComplexAbs(x));
    b.Output("angle", ComplexAngle(x));
    b.Output("real", ComplexReal(x));
    b.Output("imag", ComplexImag(x));
    b.Output("from", ComplexFrom(ComplexReal(x), ComplexImag(x)));
  });
  EXPECT_THAT(got["mul"], AreNear(Made([](C x, C y) { return x * y; })));
  EXPECT_THAT(got["conj"], ElementsAre(1, -2, -0.5, -0.25, 0, 3, -2, 0));
  EXPECT_THAT(got["real"], ElementsAre(1, -0.5, 0, -2));
  EXPECT_THAT(got["imag"], ElementsAre(2, 0.25, -3, 0));
  EXPECT_EQ(got["from"], kX);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(got["abs"][i], std::abs(At(kX, i)), 1e-14);
    EXPECT_NEAR(got["angle"][i], std::arg(At(kX, i)), 1e-14);
  }
}

TEST_F(ComplexNumbersTest, ShapesBroadcast) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {1, 2, 3, 4}, {2, 1, 2}), y = Vector(b, {0, 1, 2, 0, 1, 1}, {3, 2});
    b.Output("mul", ComplexMul(x, y));
    b.Output("from", ComplexFrom(Vector(b, {1, 2}), Vector(b, {5}, {1, 1})));
  });
  EXPECT_THAT(got["mul"], ElementsAre(-2, 1, 2, 4, -1, 3, -4, 3, 6, 8, -1, 7));
  EXPECT_THAT(got["from"], ElementsAre(1, 5, 2, 5));
}

TEST_F(ComplexNumbersTest, Gradients) {
  const auto weighted = [](Builder& b, const Tensor& x) {
    std::vector<double> weights;
    for (int64_t i = 0; i < x.size(); ++i) weights.push_back(1 + 0.37 * static_cast<double>(i));
    return Sum(x * Vector(b, weights, x.shape()));
  };
  const auto check = [&](const std::function<Tensor(Builder&, const Tensor&)>& y) {
    ExpectGradient(kY, {4, 2}, [&](Builder& b, const Tensor& x) { return weighted(b, y(b, x)); });
  };
  check([](Builder& b, const Tensor& x) { return ComplexMul(x, Vector(b, kX, {4, 2})); });
  check([](Builder& b, const Tensor& x) { return ComplexMul(Vector(b, kX, {4, 2}), x); });
  check([](Builder&, const Tensor& x) { return ComplexMul(x, x); });
  check([](Builder&, const Tensor& x) { return ComplexConj(x); });
  check([](Builder&, const Tensor& x) { return ComplexAbs(x); });
  check([](Builder&, const Tensor& x) { return ComplexAngle(x); });
  check([](Builder&, const Tensor& x) { return ComplexFrom(ComplexImag(x), ComplexReal(x)); });
}

TEST_F(ComplexNumbersTest, TheGradientOfAbsAtZeroIsZero) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {0, 0, 3, 4}, {2, 2});
    const Tensor y = ComplexAbs(x);
    b.Output("y", y);
    b.Output("gradient", Gradients(Sum(y), {x})[0]);
  });
  EXPECT_THAT(got["y"], ElementsAre(0, 5));
  EXPECT_THAT(got["gradient"], AreNear({0, 0, 0.6, 0.8}));
}

class ComplexErrorsTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ComplexErrorsTest, Says) { ExpectSays(GetParam(), "complex_numbers_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Complex, ComplexErrorsTest,
    ::testing::Values(
        In("Integers", [](Builder& b) { ComplexAbs(X(b, {3, 2}, I32)); },
           {"ComplexAbs(", "takes floats; Cast(x, F32) first"}),
        In("NoPairs", [](Builder& b) { ComplexReal(X(b, {2, 3})); },
           {"ComplexReal(", "takes complex numbers: pairs [re, im] in a last dimension of size 2"}),
        In("Scalar", [](Builder& b) { ComplexConj(X(b, {})); }, {"ComplexConj(", "takes complex numbers"}),
        In("ImagNoPairs", [](Builder& b) { ComplexImag(X(b, {2, 3})); },
           {"ComplexImag(", "takes complex numbers"}),
        In("AngleNoPairs", [](Builder& b) { ComplexAngle(X(b, {4})); },
           {"ComplexAngle(", "takes complex numbers"}),
        In("SecondNoPairs", [](Builder& b) { ComplexMul(X(b, {3, 2}), X(b, {3})); },
           {"ComplexMul(", "takes complex numbers"}),
        In("MulTypes", [](Builder& b) { ComplexMul(X(b, {3, 2}), X(b, {3, 2}, F64)); },
           {"ComplexMul(", "takes operands of one element type"}),
        In("MulShapes", [](Builder& b) { ComplexMul(X(b, {3, 2}), X(b, {4, 2})); },
           {"ComplexMul(", "has leading dimensions that do not broadcast"}),
        In("FromIntegers", [](Builder& b) { ComplexFrom(X(b, {3}, I32), X(b, {3}, I32)); },
           {"ComplexFrom(", "takes floats; Cast(x, F32) first"}),
        In("FromTypes", [](Builder& b) { ComplexFrom(X(b, {3}), X(b, {3}, F64)); },
           {"ComplexFrom(", "takes operands of one element type"}),
        In("FromShapes", [](Builder& b) { ComplexFrom(X(b, {3}), X(b, {4})); },
           {"ComplexFrom(", "has shapes that do not broadcast"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
