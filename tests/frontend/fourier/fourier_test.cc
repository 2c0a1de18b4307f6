// Transforms against their definition and NumPy's numbers, gradients against finite differences, and errors.
#include "sinter/frontend/fourier/fourier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "runtime/plan_generated.h"
#include "sinter/frontend/fourier/complex_numbers.h"
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

auto IsNear(std::vector<double> want, double tolerance = 1e-12) {
  return Pointwise(DoubleNear(tolerance), std::move(want));
}

std::vector<double> Waves(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<double>(i * i % 101)));
  return values;
}

// The transform of the dimension of `size` in [outer, size, inner] complex numbers, in place.
void Transform(std::vector<C>& x, int64_t outer, int64_t size, int64_t inner, double sign) {
  const std::vector<C> from = x;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < size; ++k) {
      for (int64_t i = 0; i < inner; ++i) {
        C sum = 0;
        for (int64_t j = 0; j < size; ++j) {
          const double turn = static_cast<double>(j * k % size) / static_cast<double>(size);
          sum += from[static_cast<size_t>((o * size + j) * inner + i)] *
                 std::polar(1.0, sign * 2 * std::numbers::pi * turn);
        }
        x[static_cast<size_t>((o * size + k) * inner + i)] = sum;
      }
    }
  }
}

std::vector<C> ComplexOf(const std::vector<double>& pairs) {
  std::vector<C> numbers;
  for (size_t i = 0; 2 * i < pairs.size(); ++i) numbers.emplace_back(pairs[2 * i], pairs[2 * i + 1]);
  return numbers;
}
std::vector<double> PairsOf(const std::vector<C>& numbers) {
  std::vector<double> pairs;
  for (const C& number : numbers) pairs.insert(pairs.end(), {number.real(), number.imag()});
  return pairs;
}

using FourierTest = DeviceTest;

TEST_F(FourierTest, EachDimension) {
  const std::vector<double> values = Waves(3 * 4 * 5 * 2);
  Values got = Compute([&](Builder& b) {
    const Tensor x = Vector(b, values, {3, 4, 5, 2});
    for (const int64_t dim : {0, 1, 2}) {
      b.Output("fft" + std::to_string(dim), Fft(x, {.dim = dim}));
      b.Output("ifft" + std::to_string(dim), Ifft(x, {.dim = dim - 3, .norm = FftNorm::kForward}));
    }
    b.Output("all", Fftn(x));
    b.Output("two", Fft2(x));
    b.Output("others", Fft2(x, {.dims = {0, -1}}));
  });
  struct Sizes {
    int64_t outer, size, inner;
  };
  const Sizes sizes[] = {{1, 3, 20}, {3, 4, 5}, {12, 5, 1}};
  std::vector<C> all = ComplexOf(values), two = all, others = all;
  for (size_t dim = 0; dim < 3; ++dim) {
    const auto& [outer, size, inner] = sizes[dim];
    std::vector<C> forward = ComplexOf(values), inverse = forward;
    Transform(forward, outer, size, inner, -1);
    Transform(inverse, outer, size, inner, 1);
    EXPECT_THAT(got["fft" + std::to_string(dim)], IsNear(PairsOf(forward)));
    EXPECT_THAT(got["ifft" + std::to_string(dim)], IsNear(PairsOf(inverse)));
    Transform(all, outer, size, inner, -1);
    if (dim != 0) Transform(two, outer, size, inner, -1);
    if (dim != 1) Transform(others, outer, size, inner, -1);
  }
  EXPECT_THAT(got["all"], IsNear(PairsOf(all)));
  EXPECT_THAT(got["two"], IsNear(PairsOf(two)));
  EXPECT_THAT(got["others"], IsNear(PairsOf(others)));
}

// Inverses of every norm give the numbers back, whatever the size.
TEST_F(FourierTest, InversesInvert) {
  for (const int64_t n : {1, 2, 5, 6, 53}) {
    const std::vector<double> values = Waves(2 * n * 3 * 2), reals = Waves(2 * n * 3);
    for (const FftNorm norm : {FftNorm::kBackward, FftNorm::kOrtho, FftNorm::kForward}) {
      Values got = Compute([&](Builder& b) {
        const Tensor x = Vector(b, values, {2, n, 3, 2}), y = Vector(b, reals, {2, n, 3});
        b.Output("x1", Ifft(Fft(x, {.dim = 1, .norm = norm}), {.dim = 1, .norm = norm}));
        b.Output("xn", Ifftn(Fftn(x, {.norm = norm}), {.norm = norm}));
        b.Output("x2", Ifft2(Fft2(x, {.norm = norm}), {.norm = norm}));
        b.Output("y1", Irfft(Rfft(y, {.dim = 1, .norm = norm}), {.n = n, .dim = 1, .norm = norm}));
        b.Output("yn", Irfftn(Rfftn(y, {.norm = norm}), {.sizes = {2, n, 3}, .norm = norm}));
        b.Output("y2", Irfft2(Rfft2(y, {.dims = {2, 1}, .norm = norm}),
                              {.sizes = {3, n}, .dims = {2, 1}, .norm = norm}));
      });
      for (const char* name : {"x1", "xn", "x2"}) EXPECT_THAT(got[name], IsNear(values)) << name << n;
      for (const char* name : {"y1", "yn", "y2"}) EXPECT_THAT(got[name], IsNear(reals)) << name << n;
    }
  }
}

// Numbers of NumPy:
//   x = numpy.array([1, 2, -1, 0.5, 3, -2]); z = x[:3] + 1j * x[3:]; m = x.reshape(2, 3)
//   rfft(x), rfft(x, 4), rfft(x, 7, norm="ortho"), fft(z, 5), ifft(z, 2), irfft(z)
//   irfft(z, 5, norm="forward"), rfft2(m, s=(3, 2)), irfftn(numpy.arange(1, 7).reshape(2, 3) * (1 + 0.5j))
TEST_F(FourierTest, NumbersOfNumPy) {
  Values got = Compute([](Builder& b) {
    const std::vector<double> values = {1, 2, -1, 0.5, 3, -2};
    const Tensor x = Vector(b, values);
    const Tensor z = ComplexFrom(SliceDim(x, 0, 0, 3), SliceDim(x, 0, 3, 6));
    b.Output("rfft", Rfft(x));
    b.Output("cut", Rfft(x, {.n = 4}));
    b.Output("filled", Rfft(x, {.n = 7, .norm = FftNorm::kOrtho}));
    b.Output("fft", Fft(z, {.n = 5}));
    b.Output("ifft", Ifft(z, {.n = 2}));
    b.Output("irfft", Irfft(z));
    b.Output("irfft 5", Irfft(z, {.n = 5, .norm = FftNorm::kForward}));
    b.Output("rfft2", Rfft2(Reshape(x, {2, 3}), {.sizes = {3, 2}}));
    const Tensor counts = Vector(b, {1, 2, 3, 4, 5, 6}, {2, 3});
    b.Output("irfftn", Irfftn(ComplexFrom(counts, counts * 0.5)));
  });
  EXPECT_THAT(got["rfft"], IsNear({3.5, 0, -0.5, 0, 0.5, -6.92820323027551, 2.5, 0}));
  EXPECT_THAT(got["cut"], IsNear({2.5, 0, 2, -1.5, -2.5, 0}));
  EXPECT_THAT(got["filled"],
              IsNear({1.3228756555323, 0, -0.0902762973500898, -0.54951556604879, 2.05615660835154,
                      -1.31174490092937, -1.3044424832353, 0.888739533021843}));
  EXPECT_THAT(got["fft"],
              IsNear({2, 1.5, 4.10465002742536, 1.7307571915769, 2.73841780634288, -4.67171199275484,
                      -4.59251977259257, -0.418457950994637, 0.749451938824328, 4.35941275217257}));
  EXPECT_THAT(got["ifft"], IsNear({1.5, 1.75, -0.5, -1.25}));
  EXPECT_THAT(got["irfft"], IsNear({1, -1, -1, 2}));
  EXPECT_THAT(got["irfft 5"],
              IsNear({3, 0.498903877648656, -10.1850395451851, 4.47683561268577, 7.20930005485071}));
  EXPECT_THAT(got["rfft2"], IsNear({6.5, 0, -3.5, 0, 1.25, -3.03108891324554, 0.25, 2.1650635094611, 1.25,
                                    3.03108891324554, 0.25, -2.1650635094611}));
  EXPECT_THAT(got["irfftn"], IsNear({3.5, -1.375, 0, 0.375, -1.5, 0.375, 0, -0.375}));
}

TEST_F(FourierTest, RealTransformsAreHalfOfTheComplexOnes) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, Waves(2 * 3 * 6), {2, 3, 6});
    const Tensor z = ComplexFrom(x, b.Zeros(F64, {2, 3, 6}));
    b.Output("zero 1", Rfft(x) - SliceDim(Fft(z), 2, 0, 4));
    b.Output("zero 1 of dim 1", Rfft(x, {.dim = 1}) - SliceDim(Fft(z, {.dim = 1}), 1, 0, 2));
    b.Output("zero n", Rfftn(x) - SliceDim(Fftn(z), 2, 0, 4));
    b.Output("zero 2", Rfft2(x, {.dims = {2, 0}}) - SliceDim(Fft2(z, {.dims = {2, 0}}), 0, 0, 2));
  });
  for (const auto& [name, values] : got)
    EXPECT_THAT(values, IsNear(std::vector<double>(values.size(), 0))) << name;
}

TEST_F(FourierTest, SinglePrecision) {
  const std::vector<double> values = Waves(2 * 60);
  Values got = Compute([&](Builder& b) {
    b.Output("f32", Fft(Vector(b, values, {60, 2}, F32)));
    b.Output("f64", Fft(Cast(Vector(b, values, {60, 2}, F32), F64)));
    b.Output("real", Irfft(Rfft(Vector(b, values, {2, 60}, F32))));
  });
  EXPECT_THAT(got["f32"], IsNear(got["f64"], 1e-5));
  EXPECT_THAT(got["real"], IsNear(values, 1e-6));
}

TEST_F(FourierTest, EmptyBatches) {
  Values got = Compute([](Builder& b) {
    b.Output("fft", Fft(b.Zeros(F64, {0, 3, 2})));
    b.Output("rfft", Rfft(b.Zeros(F32, {2, 0, 4})));
    b.Output("irfft", Irfft(b.Zeros(F64, {0, 3, 2})));
  });
  for (const auto& [name, values] : got) EXPECT_TRUE(values.empty()) << name;
}

TEST_F(FourierTest, Shifts) {
  Values got = Compute([](Builder& b) {
    const Tensor odd = Vector(b, {0, 1, 2, -2, -1}), even = Vector(b, {0, 1, -2, -1});
    b.Output("odd", FftShift(odd, {.is_real = true}));
    b.Output("even", FftShift(even, {.is_real = true}));
    b.Output("back", IfftShift(FftShift(odd, {.is_real = true}), {.is_real = true}));
    b.Output("complex", FftShift(Vector(b, {1, 2, 3, 4, 5, 6}, {3, 2})));
    b.Output("one", FftShift(Vector(b, {1, 2, 3, 4, 5, 6}, {2, 3}), {.dims = {-1}, .is_real = true}));
    b.Output("all", FftShift(Vector(b, {1, 2, 3, 4, 5, 6}, {2, 3}), {.is_real = true}));
  });
  EXPECT_THAT(got["odd"], ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_THAT(got["even"], ElementsAre(-2, -1, 0, 1));
  EXPECT_THAT(got["back"], ElementsAre(0, 1, 2, -2, -1));
  EXPECT_THAT(got["complex"], ElementsAre(5, 6, 1, 2, 3, 4));
  EXPECT_THAT(got["one"], ElementsAre(3, 1, 2, 6, 4, 5));
  EXPECT_THAT(got["all"], ElementsAre(6, 4, 5, 3, 1, 2));
}

TEST_F(FourierTest, FrequenciesOfSamples) {
  Values got = Compute([](Builder& b) {
    const FftFreqOptions options = {.spacing = 0.5, .dtype = F64};
    b.Output("even", FftFreq(b, 4, options));
    b.Output("odd", FftFreq(b, 5, options));
    b.Output("half even", RfftFreq(b, 4, options));
    b.Output("half odd", RfftFreq(b, 5, options));
    b.Output("two", RfftFreq(b, 2));
    b.Output("one", FftFreq(b, 1));
  });
  EXPECT_THAT(got["even"], IsNear({0, 0.5, -1, -0.5}));
  EXPECT_THAT(got["odd"], IsNear({0, 0.4, 0.8, -0.8, -0.4}));
  EXPECT_THAT(got["half even"], IsNear({0, 0.5, 1}));
  EXPECT_THAT(got["half odd"], IsNear({0, 0.4, 0.8}));
  EXPECT_THAT(got["two"], ElementsAre(0, 0.5));
  EXPECT_THAT(got["one"], ElementsAre(0));
}

TEST_F(FourierTest, Gradients) {
  const auto weighted = [](Builder& b, const Tensor& x) {
    std::vector<double> weights;
    for (int64_t i = 0; i < x.size(); ++i) weights.push_back(1 + 0.37 * static_cast<double>(i % 7));
    return Sum(x * Vector(b, weights, x.shape()));
  };
  const auto check = [&](const Shape& shape, const std::function<Tensor(const Tensor&)>& y) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    ExpectGradient(Waves(count), shape,
                   [&](Builder& b, const Tensor& x) { return weighted(b, Square(y(x))); });
  };
  for (const FftNorm norm : {FftNorm::kBackward, FftNorm::kOrtho, FftNorm::kForward}) {
    check({2, 5, 2}, [&](const Tensor& x) { return Fft(x, {.norm = norm}); });
    check({4, 2, 2}, [&](const Tensor& x) { return Ifft(x, {.dim = 0, .norm = norm}); });
    check({2, 6}, [&](const Tensor& x) { return Rfft(x, {.norm = norm}); });
    check({2, 4, 2}, [&](const Tensor& x) { return Irfft(x, {.norm = norm}); });
  }
  for (const int64_t n : {1, 2, 4, 7}) {
    check({5}, [&](const Tensor& x) { return Rfft(x, {.n = n}); });
    check({3, 2}, [&](const Tensor& x) { return Irfft(x, {.n = n}); });
    check({3, 2}, [&](const Tensor& x) { return Fft(x, {.n = n}); });
  }
  check({3, 4}, [](const Tensor& x) { return Rfft2(x); });
  check({2, 2, 3, 2}, [](const Tensor& x) { return Irfftn(x); });
  check({3, 2}, [](const Tensor& x) { return FftShift(x); });
}

// The plans of CPUs and of GPUs call the kernel of the catalogue, and nothing else.
TEST_F(FourierTest, APlanCallsTheKernel) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) { b.Output("y", Rfft(b.Input("x", F32, {4, 8}))); });
  for (const Device device : {Device::Cpu(), Device::Gpu(0)}) {
    const absl::StatusOr<Plan> plan = Compile(graph, {.device = device, .gpu_architectures = {"sm_90"}});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto& steps = *plan->table().functions()->Get(0)->steps();
    ASSERT_EQ(steps.size(), 1);
    ASSERT_NE(steps.Get(0)->body_as_CatalogStep(), nullptr);
    EXPECT_EQ(steps.Get(0)->body_as_CatalogStep()->kernel()->str(), "rfft");
    EXPECT_EQ(steps.Get(0)->flops(), 2.5 * 4 * 8 * 3);
  }
}

class FourierErrorsTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(FourierErrorsTest, Says) { ExpectSays(GetParam(), "fourier_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Fourier, FourierErrorsTest,
    ::testing::Values(
        In("Integers", [](Builder& b) { Rfft(X(b, {4}, I32)); },
           {"Rfft(", "takes f32 or f64; Cast(x, F32) first"}),
        In("Halves", [](Builder& b) { Fft(X(b, {4, 2}, BF16)); },
           {"Fft(", "takes f32 or f64; Cast(x, F32) first"}),
        In("NoPairs", [](Builder& b) { Fft(X(b, {4, 3})); },
           {"Fft(", "takes complex numbers: pairs [re, im] in a last dimension of size 2"}),
        In("IrfftNoPairs", [](Builder& b) { Irfft(X(b, {3})); }, {"Irfft(", "takes complex numbers"}),
        In("NoDimension", [](Builder& b) { Ifft(X(b, {4, 2}), {.dim = 1}); }, {"Ifft(", "dimension 1"}),
        In("Scalar", [](Builder& b) { Rfft(X(b, {})); }, {"Rfft(", "dimension -1"}),
        In("NoNumbers", [](Builder& b) { Fft(X(b, {0, 2})); },
           {"Fft(", "transforms 0 numbers; expected at least one"}),
        In("ZeroN", [](Builder& b) { Rfft(X(b, {4}), {.n = 0}); },
           {"Rfft(", "transforms 0 numbers; expected at least one"}),
        In("NegativeN", [](Builder& b) { Ifft(X(b, {4, 2}), {.n = -3}); },
           {"Ifft(", "transforms -3 numbers"}),
        In("HugeN", [](Builder& b) { Ifft(X(b, {4, 2}), {.n = int64_t{1} << 60}); },
           {"Ifft(", "more than a tensor can have"}),
        In("IrfftOfOne", [](Builder& b) { Irfft(X(b, {1, 2})); }, {"Irfft(", "transforms 0 numbers"}),
        In("Twice", [](Builder& b) { Fftn(X(b, {3, 4, 2}), {.dims = {0, -2}}); },
           {"Fftn(", "transforms dimension 0 twice"}),
        In("SizesForDims", [](Builder& b) { Ifftn(X(b, {3, 4, 2}), {.sizes = {4}, .dims = {0, 1}}); },
           {"Ifftn(", "has 1 sizes for 2 dimensions"}),
        In("ManySizes", [](Builder& b) { Rfftn(X(b, {3}), {.sizes = {4, 4}}); }, {"Rfftn(", "dimension -2"}),
        In("NoDims", [](Builder& b) { Irfftn(X(b, {2})); }, {"Irfftn(", "needs a dimension"}),
        In("NegativeSize", [](Builder& b) { Rfft2(X(b, {3, 4}), {.sizes = {-1, 4}}); },
           {"Rfft2(", "transforms -1 numbers"}),
        In("ThreeDims", [](Builder& b) { Fft2(X(b, {3, 4, 5, 2}), {.dims = {0, 1, 2}}); },
           {"Fft2(", "has 3 dimensions; expected two"}),
        In("Ifft2Rank", [](Builder& b) { Ifft2(X(b, {3, 2})); }, {"Ifft2(", "dimension -2"}),
        In("Irfft2NoPairs", [](Builder& b) { Irfft2(X(b, {3, 3})); }, {"Irfft2(", "takes complex numbers"}),
        In("ShiftOfReals", [](Builder& b) { FftShift(X(b, {3})); },
           {"FftShift(", "give real ones with {.is_real = true}"}),
        In("ShiftDim", [](Builder& b) { IfftShift(X(b, {3, 2}), {.dims = {1}}); },
           {"IfftShift(", "dimension 1"}),
        In("FreqOfNothing", [](Builder& b) { FftFreq(b, 0); }, {"FftFreq", "transforms 0 numbers"}),
        In("FreqSpacing", [](Builder& b) { RfftFreq(b, 4, {.spacing = 0}); },
           {"RfftFreq", "needs a spacing above 0, got 0"}),
        In("FreqType", [](Builder& b) { FftFreq(b, 4, {.dtype = I32}); }, {"FftFreq", "gives floats"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
