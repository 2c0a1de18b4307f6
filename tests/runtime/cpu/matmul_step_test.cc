#include <tuple>

#include "gtest/gtest.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

double Apply(fb::Activation activation, double x) {
  switch (activation) {
    case fb::Activation::None:
      return x;
    case fb::Activation::Relu:
      return std::max(x, 0.0);
    case fb::Activation::Gelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case fb::Activation::GeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case fb::Activation::Sigmoid:
      return 1 / (1 + std::exp(-x));
    case fb::Activation::Tanh:
      return std::tanh(x);
    case fb::Activation::Silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

std::vector<double> Reference(const fb::MatmulStepT& s, const std::vector<double>& a,
                              const std::vector<double>& b, const std::vector<double>& bias,
                              const std::vector<double>& addend, double scale) {
  std::vector<double> result;
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k) {
          sum += a[batch * s.m * s.k + (s.transpose_a ? k * s.m + i : i * s.k + k)] *
                 b[batch * s.n * s.k + (s.transpose_b ? j * s.k + k : k * s.n + j)];
        }
        sum = sum * scale + (s.has_bias ? bias[j] : 0) + (s.has_addend ? addend[result.size()] : 0);
        result.push_back(Apply(s.activation, sum));
      }
    }
  }
  return result;
}

void Check(fb::MatmulStepT s, DType dtype) {
  s.dtype = static_cast<fb::DType>(dtype);
  const bool whole = !IsFloat(dtype);
  const std::vector<double> a = RandomValues(s.batch * s.m * s.k, 1, whole),
                            b = RandomValues(s.batch * s.k * s.n, 2, whole);
  const DType of_result = s.result_is_f32 ? DType::kF32 : s.result_is_i32 ? DType::kI32 : dtype;
  const std::vector<double> bias = RandomValues(s.n, 3, whole);
  const std::vector<double> addend = RandomValues(s.batch * s.m * s.n, 4, whole);
  const double scale = s.has_scale ? -0.5 : 1;
  const HostTensor ta = MakeTensor(dtype, {s.batch, s.m, s.k}, a),
                   tb = MakeTensor(dtype, {s.batch, s.k, s.n}, b);
  const HostTensor tbias = MakeTensor(of_result, {s.n}, bias);
  const HostTensor taddend = MakeTensor(of_result, {s.batch, s.m, s.n}, addend);
  const HostTensor tscale = MakeTensor(dtype == DType::kF64 ? dtype : DType::kF32, {}, {scale});
  std::vector<const HostTensor*> inputs = {&ta, &tb};
  if (s.has_bias) inputs.push_back(&tbias);
  if (s.has_addend) inputs.push_back(&taddend);
  if (s.has_scale) inputs.push_back(&tscale);
  const auto results = RunStep(inputs, {{of_result, {s.batch, s.m, s.n}}},
                               [&](TestFunction& f, const std::vector<uint32_t>& in,
                                   const std::vector<uint32_t>& out) { f.Matmul(s, in, out); });
  const std::string what = std::string(DTypeName(dtype)) + " " + std::to_string(s.batch) + "x" +
                           std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
  ExpectNear(results[0], Reference(s, a, b, bias, addend, scale),
             Tolerance(dtype) * (1 + static_cast<double>(s.k) / 64), what);
}

class MatmulStepTest : public ::testing::TestWithParam<DType> {};

TEST_P(MatmulStepTest, ShapesAndTransposes) {
  const int64_t shapes[][4] = {{1, 1, 1, 1},   {1, 5, 7, 3},   {3, 4, 9, 2},
                               {1, 1, 33, 17}, {1, 65, 1, 70}, {2, 66, 67, 300}};
  for (const auto& [batch, m, n, k] : shapes) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      fb::MatmulStepT s;
      s.batch = batch, s.m = m, s.n = n, s.k = k;
      s.transpose_a = transposes & 1, s.transpose_b = transposes & 2;
      s.has_bias =
          (transposes == 1 || transposes == 2) && GetParam() != DType::kI8 && GetParam() != DType::kU8;
      // Sums of 300 terms would exceed 8 bits.
      if (SizeOf(GetParam()) == 1 && k > 5) continue;
      Check(s, GetParam());
    }
  }
}

TEST_P(MatmulStepTest, NothingToSum) {
  fb::MatmulStepT s;
  s.batch = 1, s.m = 3, s.n = 5, s.k = 0, s.has_bias = true;
  Check(s, GetParam());
  s.m = 0, s.k = 4;
  Check(s, GetParam());
  s.batch = 0, s.m = 3;
  Check(s, GetParam());
}

TEST_P(MatmulStepTest, Activations) {
  // Integers support relu only.
  for (int activation = 1; activation <= (IsFloat(GetParam()) ? 6 : 1); ++activation) {
    fb::MatmulStepT s;
    s.batch = 1, s.m = 9, s.n = 20, s.k = 6, s.has_bias = true,
    s.activation = static_cast<fb::Activation>(activation);
    Check(s, GetParam());
  }
}

TEST_P(MatmulStepTest, AddendScaleAndResultOfF32) {
  if (!IsFloat(GetParam())) GTEST_SKIP() << "integers have neither";
  const bool is_low_precision = SizeOf(GetParam()) == 2;
  for (int what = 1; what < (is_low_precision ? 16 : 8); ++what) {
    fb::MatmulStepT s;
    s.batch = 2, s.m = 9, s.n = 20, s.k = 70;
    s.has_addend = what & 1, s.has_scale = what & 2, s.has_bias = what & 4, s.result_is_f32 = what & 8;
    if (what & 1) s.activation = fb::Activation::Relu;
    Check(s, GetParam());
    s.k = 0;
    Check(s, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulStepTest,
                         ::testing::Values(DType::kF64, DType::kF32, DType::kBf16, DType::kF16, DType::kI64,
                                           DType::kI32, DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                                           DType::kU32, DType::kU64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// Sizes around those of tiles, blocks and depths, in all layouts; few rows read the second factor in place.
TEST(MatmulStepTest, IntegersOf8BitsAreSummedIn32) {
  const int64_t shapes[][4] = {{1, 1, 1, 1},     {1, 1, 40, 600},  {1, 8, 33, 17},   {1, 9, 33, 64},
                               {1, 13, 31, 515}, {1, 50, 258, 70}, {1, 97, 300, 33}, {1, 12, 16, 1030},
                               {3, 12, 16, 20},  {1, 64, 64, 512}};
  for (const auto& [batch, m, n, k] : shapes) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      fb::MatmulStepT s;
      s.batch = batch, s.m = m, s.n = n, s.k = k, s.result_is_i32 = true;
      s.transpose_a = transposes & 1, s.transpose_b = transposes & 2;
      s.has_bias = transposes == 1;
      if (transposes == 2) s.activation = fb::Activation::Relu;
      Check(s, DType::kI8);
    }
  }
}

// A result of several tiles, and one whose k is split.
TEST(MatmulStepTest, LargeMatmulsDoNotDependOnThreads) {
  fb::MatmulStepT s;
  s.batch = 1, s.m = 130, s.n = 140, s.k = 517;
  for (DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16, DType::kI32}) Check(s, dtype);
  s.m = 10, s.n = 70, s.k = 5000;
  for (DType dtype : {DType::kF64, DType::kF32}) Check(s, dtype);
}

TEST(MatmulStepTest, NarrowIntegersWrapBeforeRelu) {
  const HostTensor a = MakeTensor(DType::kI8, {1, 2}, {100, 100}), b = MakeTensor(DType::kI8, {2, 1}, {1, 1});
  fb::MatmulStepT s;
  s.batch = 1, s.m = 1, s.n = 1, s.k = 2, s.dtype = fb::DType::I8;
  const auto add = [&](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
    f.Matmul(s, in, out);
  };
  EXPECT_EQ(RunStep({&a, &b}, {{DType::kI8, {1, 1}}}, add)[0][0], -56);
  s.activation = fb::Activation::Relu;
  EXPECT_EQ(RunStep({&a, &b}, {{DType::kI8, {1, 1}}}, add)[0][0], 0);
}

}  // namespace
}  // namespace sinter
