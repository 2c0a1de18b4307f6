// The catalogue's kernels of Fourier transforms, and plans that call them wrongly.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kDoubles = 0, kFloats = 1;

AddStep CallingFourier(const std::string& kernel, const std::vector<int64_t>& parameters) {
  return [=](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
    f.Catalog(kernel, parameters, in, out);
  };
}

// The transform of n complex numbers, by its definition.
std::vector<double> Transformed(const std::vector<double>& pairs, double sign) {
  const size_t n = pairs.size() / 2;
  std::vector<double> result;
  for (size_t k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (size_t j = 0; j < n; ++j) {
      const double angle =
          sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum += std::complex<double>(pairs[2 * j], pairs[2 * j + 1]) * std::polar(1.0, angle);
    }
    result.insert(result.end(), {sum.real(), sum.imag()});
  }
  return result;
}

std::vector<double> Part(const std::vector<double>& all, int64_t index, int64_t count) {
  return {all.begin() + index * count, all.begin() + (index + 1) * count};
}

// Expects numbers close to `want`, relative to the largest of them.
void ExpectClose(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 0, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(want[i]));
    error = std::max(error, std::abs(got[i] - want[i]));
  }
  EXPECT_LE(error, tolerance * largest) << what;
}

// Every radix, primes that go by powers of two, and sizes of which one is a factor. RunStep compares the bits
// for several numbers of threads.
TEST(FourierKernelsTest, AgreesWithTheDefinition) {
  for (const int64_t n :
       {1, 2, 3, 4, 5, 6, 7, 9, 11, 16, 30, 47, 49, 53, 59, 64, 97, 106, 127, 360, 509, 1024}) {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const int64_t batch = 3, number = static_cast<int64_t>(dtype), half = n / 2 + 1;
      const double tolerance = dtype == DType::kF64 ? 1e-13 : 2e-7;
      const std::string what = std::to_string(n) + " of " + std::string(DTypeName(dtype));
      const std::vector<double> values = RandomValues(batch * n * 2, 1);
      const HostTensor x = MakeTensor(dtype, {batch, n, 2}, values);
      for (const int64_t inverse : {0, 1}) {
        const std::vector<double> got =
            RunStep({&x}, {{dtype, {batch, n, 2}}}, CallingFourier("fft", {number, batch, n, inverse}))[0];
        for (int64_t b = 0; b < batch; ++b) {
          ExpectClose(Part(got, b, 2 * n), Transformed(Part(values, b, 2 * n), inverse == 1 ? 1 : -1),
                      tolerance, "fft " + what);
        }
      }
      const std::vector<double> reals = RandomValues(batch * n, 2);
      const HostTensor y = MakeTensor(dtype, {batch, n}, reals);
      const std::vector<double> halves =
          RunStep({&y}, {{dtype, {batch, half, 2}}}, CallingFourier("rfft", {number, batch, n}))[0];
      for (int64_t b = 0; b < batch; ++b) {
        std::vector<double> pairs;
        for (const double real : Part(reals, b, n)) pairs.insert(pairs.end(), {real, 0});
        ExpectClose(Part(halves, b, 2 * half), Part(Transformed(pairs, -1), 0, 2 * half), tolerance,
                    "rfft " + what);
        EXPECT_EQ(halves[static_cast<size_t>(b * 2 * half + 1)], 0) << what;
        if (n % 2 == 0) EXPECT_EQ(halves[static_cast<size_t>((b + 1) * 2 * half - 1)], 0) << what;
      }
      const HostTensor z = MakeTensor(dtype, {batch, half, 2}, halves);
      std::vector<double> back =
          RunStep({&z}, {{dtype, {batch, n}}}, CallingFourier("irfft", {number, batch, n}))[0];
      for (double& value : back) value /= static_cast<double>(n);
      ExpectClose(back, reals, 4 * tolerance, "irfft " + what);
    }
  }
}

TEST(FourierKernelsTest, ImaginaryPartsOfTheEndsDoNotCount) {
  for (const int64_t n : {1, 2, 5, 6}) {
    std::vector<double> values = RandomValues((n / 2 + 1) * 2, 3), plain = values;
    plain[1] = 0, values[1] = 7;
    if (n % 2 == 0) plain.back() = 0, values.back() = -9;
    const HostTensor x = MakeTensor(DType::kF64, {n / 2 + 1, 2}, values),
                     y = MakeTensor(DType::kF64, {n / 2 + 1, 2}, plain);
    const AddStep call = CallingFourier("irfft", {kDoubles, 1, n});
    EXPECT_EQ(RunStep({&x}, {{DType::kF64, {n}}}, call), RunStep({&y}, {{DType::kF64, {n}}}, call)) << n;
  }
}

// Work of several threads gives the bits of one.
TEST(FourierKernelsTest, ThreadsGiveTheSameBits) {
  for (const auto& [batch, n] : {std::pair<int64_t, int64_t>{1000, 12}, {7, 3003}, {9, 1009}, {5, 8192}}) {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const int64_t number = static_cast<int64_t>(dtype), half = n / 2 + 1;
      const HostTensor pairs = MakeTensor(dtype, {batch, n, 2}, RandomValues(batch * n * 2, 4));
      const HostTensor reals = MakeTensor(dtype, {batch, n}, RandomValues(batch * n, 5));
      const HostTensor halves = MakeTensor(dtype, {batch, half, 2}, RandomValues(batch * half * 2, 6));
      const std::vector<int> threads = {1, 2, 3};
      RunStep({&pairs}, {{dtype, {batch, n, 2}}}, CallingFourier("fft", {number, batch, n, 1}), threads);
      RunStep({&reals}, {{dtype, {batch, half, 2}}}, CallingFourier("rfft", {number, batch, n}), threads);
      RunStep({&halves}, {{dtype, {batch, n}}}, CallingFourier("irfft", {number, batch, n}), threads);
    }
  }
}

// The result may be in the memory of the operand.
TEST(FourierKernelsTest, InPlace) {
  for (const int64_t n : {8, 53}) {
    const HostTensor x = MakeTensor(DType::kF64, {2, n, 2}, RandomValues(4 * n, 7));
    const std::vector<int64_t> parameters = {kDoubles, 2, n, 0};
    const auto in_place = [&](TestFunction& f, const std::vector<uint32_t>& in,
                              const std::vector<uint32_t>& out) {
      f.Copy(in[0], out[0]);
      f.Catalog("fft", parameters, out, out);
    };
    const TensorType type{DType::kF64, {2, n, 2}};
    EXPECT_EQ(RunStep({&x}, {type}, in_place), RunStep({&x}, {type}, CallingFourier("fft", parameters)));
  }
}

struct BrokenTransform {
  const char* kernel;
  std::vector<int64_t> parameters, input, output;
  const char* message;
};

constexpr int64_t kHugeCount = int64_t{1} << 62;

const std::vector<BrokenTransform> kBrokenTransforms = {
    {"fft", {kFloats, 3, 4}, {3, 4, 2}, {3, 4, 2}, "the kernel fft has 4 parameters, not 3"},
    {"fft", {kFloats, 3, 4, 2}, {3, 4, 2}, {3, 4, 2}, "inverse is 2, not 0 or 1"},
    {"fft", {2, 3, 4, 0}, {3, 4, 2}, {3, 4, 2}, "transforms are of f32 or f64, not of element type number 2"},
    {"fft", {kFloats, 3, 0, 0}, {3, 0, 2}, {3, 0, 2}, "transforms are of 0 numbers, not of at least one"},
    {"fft", {kFloats, 3, -4, 0}, {3, 4, 2}, {3, 4, 2}, "transforms are of -4 numbers, not of at least one"},
    {"fft", {kFloats, -3, 4, 0}, {3, 4, 2}, {3, 4, 2}, "the size -3 is out of range"},
    {"fft", {kFloats, 1, kHugeCount, 0}, {4, 2}, {4, 2}, "is out of range"},
    {"fft", {kFloats, kHugeCount, 4, 0}, {4, 2}, {4, 2}, "is out of range"},
    {"fft", {kFloats, int64_t{1} << 40, int64_t{1} << 40, 0}, {4, 2}, {4, 2}, "is out of range"},
    {"fft", {kFloats, 3, 4, 0}, {3, 5, 2}, {3, 4, 2}, "x has 30 elements of f32, and the parameters make 24"},
    {"fft",
     {kDoubles, 3, 4, 0},
     {3, 4, 2},
     {3, 4, 2},
     "x has 24 elements of f32, and the parameters make 24 of f64"},
    {"fft", {kFloats, 3, 4, 0}, {3, 4, 2}, {3, 5, 2}, "the result has 30 elements"},
    {"rfft",
     {kFloats, 3, 4},
     {3, 4},
     {3, 4, 2},
     "the result has 24 elements of f32, and the parameters make 18"},
    {"rfft", {kFloats, 3, 5}, {3, 4}, {3, 3, 2}, "x has 12 elements"},
    {"rfft", {kFloats, 0, kHugeCount}, {0}, {0}, "is out of range"},
    {"irfft", {kFloats, 3, 4}, {3, 4, 2}, {3, 4}, "x has 24 elements of f32, and the parameters make 18"},
    {"irfft", {kFloats, 3, 4}, {3, 3, 2}, {3, 5}, "the result has 15 elements"},
    {"irfft", {kFloats, 3, std::numeric_limits<int64_t>::max()}, {0}, {0}, "is out of range"},
};

// A plan is refused before it runs: each size decides what the kernel reads and writes.
TEST(FourierKernelsTest, BrokenPlansAreRefused) {
  for (const BrokenTransform& call : kBrokenTransforms) {
    TestPlan plan;
    TestFunction f(plan, "f");
    const uint32_t in = f.Input("x", DType::kF32, call.input), out = f.Arena(DType::kF32, call.output);
    f.Catalog(call.kernel, call.parameters, {in}, {out});
    f.Output("y", out);
    const absl::Status status = plan.Make().status();
    ASSERT_FALSE(status.ok()) << call.kernel << ": " << call.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(call.message));
  }
}

// GPUs run those kernels of the catalogue that a library computes there, and no others.
TEST(FourierKernelsTest, PlansOfGpusHaveLibraryKernelsAlone) {
  const auto status_of = [](const std::string& kernel, const std::vector<int64_t>& parameters) {
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0)});
    TestFunction f(plan, "f");
    const uint32_t x = f.Arena(DType::kF32, {2, 3, 2});
    f.Catalog(kernel, parameters, {x}, {f.Arena(DType::kF32, {2, 3, 2})});
    return plan.Make().status();
  };
  EXPECT_TRUE(status_of("fft", {kFloats, 2, 3, 0}).ok()) << status_of("fft", {kFloats, 2, 3, 0});
  const absl::Status refused = status_of("cumsum", {kFloats, 2, 3, 2, 0});
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("it runs on gpu:0, and no library of GPUs computes the kernel cumsum"));
}

}  // namespace
}  // namespace sinter
