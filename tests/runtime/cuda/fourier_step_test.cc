// Fourier transforms by cuFFT against their definition.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

fb::PlanT PlanOfTransforms(const char* kernel, std::vector<int64_t> parameters) {
  fb::CatalogStepT step;
  step.kernel = kernel;
  step.parameters = std::move(parameters);
  return MakeStepPlan(step);
}

using Pairs = std::vector<std::complex<double>>;

Pairs TransformOf(const Pairs& x, double sign) {
  const size_t n = x.size();
  Pairs roots(n), y(n);
  for (size_t j = 0; j < n; ++j) {
    roots[j] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) y[k] += x[j] * roots[j * k % n];
  }
  return y;
}

// Row `row` of [..., n, 2] numbers.
Pairs RowOf(const std::vector<double>& numbers, int64_t row, int64_t n) {
  Pairs pairs;
  for (int64_t i = row * n; i < (row + 1) * n; ++i) {
    pairs.emplace_back(numbers[static_cast<size_t>(2 * i)], numbers[static_cast<size_t>(2 * i + 1)]);
  }
  return pairs;
}

// Expects the first numbers of `want`, close relative to the largest.
void ExpectPairs(const Pairs& got, const Pairs& want, double tolerance, const std::string& what) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(want[i]));
    error = std::max(error, std::abs(got[i] - want[i]));
  }
  EXPECT_LE(error, tolerance * largest) << what;
}

class FourierStepTest : public GpuTest, public ::testing::WithParamInterface<DType> {
 protected:
  int64_t number() const { return static_cast<int64_t>(GetParam()); }
  double tolerance() const { return GetParam() == DType::kF64 ? 1e-13 : 2e-6; }
  static std::string Title(const char* kernel, int64_t batch, int64_t n) {
    return std::string(kernel) + " of " + std::to_string(batch) + "x" + std::to_string(n);
  }

  void CheckComplex(int64_t batch, int64_t n, bool inverse) {
    const HostTensor x = MakeTensor(GetParam(), {batch, n, 2}, FullValues(batch * n * 2, 1));
    const std::vector<double> got =
        RunOnGpu(PlanOfTransforms("fft", {number(), batch, n, inverse}), {&x}, {GetParam(), {batch, n, 2}});
    for (int64_t row = 0; row < batch; ++row) {
      ExpectPairs(RowOf(got, row, n), TransformOf(RowOf(ToDoubles(x), row, n), inverse ? 1 : -1), tolerance(),
                  Title("fft", batch, n));
    }
  }

  void CheckReal(int64_t batch, int64_t n) {
    const int64_t half = n / 2 + 1;
    const HostTensor x = MakeTensor(GetParam(), {batch, n}, FullValues(batch * n, 2));
    const std::vector<double> values = ToDoubles(x),
                              got = RunOnGpu(PlanOfTransforms("rfft", {number(), batch, n}), {&x},
                                             {GetParam(), {batch, half, 2}});
    for (int64_t row = 0; row < batch; ++row) {
      const Pairs reals(values.begin() + row * n, values.begin() + (row + 1) * n);
      ExpectPairs(RowOf(got, row, half), TransformOf(reals, -1), tolerance(), Title("rfft", batch, n));
    }
  }

  // The operand has imaginary parts that do not count.
  void CheckToReal(int64_t batch, int64_t n) {
    const int64_t half = n / 2 + 1;
    const HostTensor x = MakeTensor(GetParam(), {batch, half, 2}, FullValues(batch * half * 2, 3));
    const std::vector<double> got =
        RunOnGpu(PlanOfTransforms("irfft", {number(), batch, n}), {&x}, {GetParam(), {batch, n}});
    for (int64_t row = 0; row < batch; ++row) {
      Pairs pairs = RowOf(ToDoubles(x), row, half);
      pairs[0].imag(0);
      if (n % 2 == 0) pairs.back().imag(0);
      pairs.resize(static_cast<size_t>(n));
      for (int64_t k = half; k < n; ++k)
        pairs[static_cast<size_t>(k)] = std::conj(pairs[static_cast<size_t>(n - k)]);
      ExpectPairs(Pairs(got.begin() + row * n, got.begin() + (row + 1) * n), TransformOf(pairs, 1),
                  tolerance(), Title("irfft", batch, n));
    }
  }
};

TEST_P(FourierStepTest, AgreesWithTheDefinition) {
  for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 30, 53, 97, 106, 128, 1000, 1009, 1024}) {
    for (const int64_t batch : {1, 3}) {
      CheckComplex(batch, n, false);
      CheckComplex(batch, n, true);
      CheckReal(batch, n);
      CheckToReal(batch, n);
    }
  }
  CheckToReal(1000, 6);
}

// RunOnGpu runs a step several times on one operand: a step that changed it would give other bits. This
// checks that a result may take the operand's place.
TEST_P(FourierStepTest, InPlace) {
  const PackedPlan packed(PlanOfTransforms("fft", {number(), 2, 60, 0}));
  const HostTensor x = MakeTensor(GetParam(), {2, 60, 2}, FullValues(240, 4));
  const size_t bytes = static_cast<size_t>(240 * SizeOf(GetParam()));
  absl::StatusOr<std::unique_ptr<Step>> step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  absl::StatusOr<Allocation> memory = gpu().allocator().Allocate(static_cast<int64_t>(bytes), "test");
  absl::StatusOr<Allocation> workspace =
      gpu().allocator().Allocate(static_cast<int64_t>((*step)->LibraryWorkspaceBytes()), "test");
  ASSERT_TRUE(memory.ok() && workspace.ok());
  ASSERT_TRUE(gpu().Upload(memory->ptr(), x.data(), bytes).ok());
  void* const buffers[] = {memory->ptr(), memory->ptr()};
  const absl::Status run = (*step)->Run({.buffers = buffers, .library_workspace = workspace->ptr()});
  ASSERT_TRUE(run.ok()) << run;
  HostTensor y = *HostTensor::Zeros(GetParam(), {2, 60, 2});
  ASSERT_TRUE(gpu().Download(y.mutable_data(), memory->ptr(), bytes).ok());
  EXPECT_EQ(ToDoubles(y),
            RunOnGpu(PlanOfTransforms("fft", {number(), 2, 60, 0}), {&x}, {GetParam(), {2, 60, 2}}));
}

TEST_P(FourierStepTest, EmptyBatches) {
  const HostTensor none = MakeTensor(GetParam(), {0, 5, 2}, {}), reals = MakeTensor(GetParam(), {0, 5}, {});
  EXPECT_TRUE(
      RunOnGpu(PlanOfTransforms("fft", {number(), 0, 5, 0}), {&none}, {GetParam(), {0, 5, 2}}).empty());
  EXPECT_TRUE(
      RunOnGpu(PlanOfTransforms("rfft", {number(), 0, 5}), {&reals}, {GetParam(), {0, 3, 2}}).empty());
  EXPECT_TRUE(RunOnGpu(PlanOfTransforms("irfft", {number(), 0, 5}), {&none}, {GetParam(), {0, 5}}).empty());
}

INSTANTIATE_TEST_SUITE_P(Types, FourierStepTest, ::testing::Values(DType::kF32, DType::kF64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

class LibraryCallTest : public GpuTest {};

TEST_F(LibraryCallTest, RefusesOtherKernels) {
  EXPECT_THAT(std::string(MakeError(PlanOfTransforms("cumsum", {1, 2, 3, 2, 0})).message()),
              HasSubstr("no library of GPUs computes the kernel cumsum, and the plan puts it on gpu:0"));
}

TEST_F(LibraryCallTest, RefusesUnalignedOperands) {
  const PackedPlan packed(PlanOfTransforms("fft", {1, 1, 8, 0}));
  absl::StatusOr<std::unique_ptr<Step>> step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  absl::StatusOr<Allocation> memory = gpu().allocator().Allocate(256, "test");
  ASSERT_TRUE(memory.ok());
  void* const buffers[] = {static_cast<std::byte*>(memory->ptr()) + 4, memory->ptr()};
  const absl::Status run = (*step)->Run({.buffers = buffers});
  EXPECT_THAT(std::string(run.message()),
              HasSubstr("an operand of a Fourier transform does not start at a multiple of 8 bytes"));
}

}  // namespace
}  // namespace sinter
