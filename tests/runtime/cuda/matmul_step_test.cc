#include <cstdlib>
#include <tuple>

#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

fb::MatmulStepT Matmul(int64_t batch, int64_t m, int64_t n, int64_t k, DType dtype = DType::kF32) {
  fb::MatmulStepT s;
  s.batch = batch, s.m = m, s.n = n, s.k = k;
  s.dtype = static_cast<fb::DType>(dtype);
  return s;
}

fb::PlanT PlanOf(const fb::MatmulStepT& s) { return MakeStepPlan(s, s.has_bias ? 3 : 2); }

double Apply(fb::Activation activation, double x) {
  if (activation == fb::Activation::Relu) return std::max(x, 0.0);
  if (activation == fb::Activation::None) return x;
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// Returns op(a) op(b) + bias. The values are already rounded to their type.
std::vector<Sum> Reference(const fb::MatmulStepT& s, const std::vector<double>& a,
                           const std::vector<double>& b, const std::vector<double>& bias) {
  std::vector<Sum> result;
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        Sum sum;
        if (s.has_bias) sum.Add(bias[static_cast<size_t>(j)]);
        for (int64_t k = 0; k < s.k; ++k) {
          const int64_t at_a = batch * s.m * s.k + (s.transpose_a ? k * s.m + i : i * s.k + k);
          const int64_t at_b = batch * s.n * s.k + (s.transpose_b ? j * s.k + k : k * s.n + j);
          sum.Add(a[static_cast<size_t>(at_a)] * b[static_cast<size_t>(at_b)]);
        }
        sum.value = Apply(s.activation, sum.value);
        result.push_back(sum);
      }
    }
  }
  return result;
}

class MatmulTest : public GpuTest {
 protected:
  void Check(const fb::MatmulStepT& s) {
    const DType dtype = static_cast<DType>(s.dtype);
    const HostTensor a = MakeTensor(dtype, {s.batch, s.m, s.k}, FullValues(s.batch * s.m * s.k, 1));
    const HostTensor b = MakeTensor(dtype, {s.batch, s.k, s.n}, FullValues(s.batch * s.k * s.n, 2));
    const HostTensor bias = MakeTensor(dtype, {s.n}, FullValues(s.n, 3));
    std::vector<const HostTensor*> inputs = {&a, &b};
    if (s.has_bias) inputs.push_back(&bias);
    const std::vector<double> got = RunOnGpu(PlanOf(s), inputs, {dtype, {s.batch, s.m, s.n}});
    const std::string what = std::string(DTypeName(dtype)) + " " + std::to_string(s.batch) + "x" +
                             std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
                             (s.transpose_a ? ", a transposed" : "") +
                             (s.transpose_b ? ", b transposed" : "") + (s.has_bias ? ", bias " : " ") +
                             fb::EnumNameActivation(s.activation);
    ExpectSums(got, Reference(s, ToDoubles(a), ToDoubles(b), ToDoubles(bias)),
               ToleranceOfSums(dtype, s.math == fb::MathMode::Tf32), what);
  }
};

class MatmulTypesTest : public MatmulTest,
                        public ::testing::WithParamInterface<std::tuple<DType, fb::MathMode>> {
 protected:
  fb::MatmulStepT Typed(int64_t batch, int64_t m, int64_t n, int64_t k) {
    fb::MatmulStepT s = Matmul(batch, m, n, k, std::get<0>(GetParam()));
    s.math = std::get<1>(GetParam());
    return s;
  }
  bool is_f64() const { return std::get<0>(GetParam()) == DType::kF64; }
};

TEST_P(MatmulTypesTest, ShapesAndTransposes) {
  const int64_t shapes[][4] = {{1, 1, 1, 1},     {1, 5, 7, 3},     {3, 4, 9, 2},       {1, 1, 33, 17},
                               {1, 65, 1, 70},   {2, 66, 67, 300}, {1, 257, 129, 513}, {1, 128, 256, 64},
                               {5, 64, 32, 128}, {1, 1, 1, 4096}};
  for (const auto& [batch, m, n, k] : shapes) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      fb::MatmulStepT s = Typed(batch, m, n, k);
      s.transpose_a = transposes & 1, s.transpose_b = transposes & 2;
      Check(s);
    }
  }
}

TEST_P(MatmulTypesTest, BiasAndActivations) {
  if (is_f64()) GTEST_SKIP() << "cuBLASLt has no epilogue in f64";
  for (const fb::Activation activation :
       {fb::Activation::None, fb::Activation::Relu, fb::Activation::GeluTanh}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      for (const bool has_bias : {false, true}) {
        for (const int64_t batch : {1, 3}) {
          fb::MatmulStepT s = Typed(batch, 24, 40, 56);
          s.transpose_a = transposes & 1, s.transpose_b = transposes & 2;
          s.has_bias = has_bias, s.activation = activation;
          Check(s);
        }
      }
    }
  }
}

// Large enough to be measured, so that the choice may differ from cuBLASLt's first.
TEST_P(MatmulTypesTest, LargeOnesAreMeasured) {
  fb::MatmulStepT s = Typed(1, 320, 512, 256);
  s.transpose_b = true;
  Check(s);
  Check(s);  // Uses the measured choice.
}

TEST_P(MatmulTypesTest, NothingToSum) {
  fb::MatmulStepT s = Typed(2, 3, 5, 0);
  Check(s);
  s.activation = fb::Activation::Relu;
  if (!is_f64()) Check(s);
  s.has_bias = true;
  if (!is_f64()) Check(s);
  s = Typed(1, 0, 5, 4);
  Check(s);
  s = Typed(0, 3, 5, 4);
  Check(s);
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulTypesTest,
                         ::testing::Values(std::tuple(DType::kF64, fb::MathMode::Ieee),
                                           std::tuple(DType::kF32, fb::MathMode::Ieee),
                                           std::tuple(DType::kF32, fb::MathMode::Tf32),
                                           std::tuple(DType::kBf16, fb::MathMode::Ieee),
                                           std::tuple(DType::kF16, fb::MathMode::Ieee)),
                         [](const auto& info) {
                           return std::string(DTypeName(std::get<0>(info.param))) + "_" +
                                  fb::EnumNameMathMode(std::get<1>(info.param));
                         });

// 1 + 2^-15 is an f32 number that tf32 rounds to 1.
TEST_F(MatmulTest, IeeeKeepsAllBits) {
  fb::MatmulStepT s = Matmul(1, 64, 64, 64);
  const HostTensor a =
      MakeTensor(DType::kF32, {64, 64}, std::vector<double>(64 * 64, 1 + std::ldexp(1, -15)));
  const HostTensor ones = MakeTensor(DType::kF32, {64, 64}, std::vector<double>(64 * 64, 1));
  EXPECT_THAT(RunOnGpu(PlanOf(s), {&a, &ones}, {DType::kF32, {64, 64}}), Each(64 + std::ldexp(1, -9)));
}

// Adds 4096 terms of 2^-12 to a 1. Sums in 16 bits would lose each term; sums in f32 keep them.
TEST_F(MatmulTest, HalvesSumInF32) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    constexpr int64_t kDepth = 4097;
    std::vector<double> values(kDepth, std::ldexp(1, -12));
    values[0] = 1;
    const HostTensor a = MakeTensor(dtype, {1, kDepth}, values);
    const HostTensor ones = MakeTensor(dtype, {kDepth, 1}, std::vector<double>(kDepth, 1));
    EXPECT_THAT(RunOnGpu(PlanOf(Matmul(1, 1, 1, kDepth, dtype)), {&a, &ones}, {dtype, {1, 1}}), Each(2));
  }
}

// Sums of 8-bit floats are exact here: small integers, and scales that are powers of two. GPUs before compute
// capability 8.9 have none, and before 9.0 none with scales of rows.
TEST_F(MatmulTest, EightBitFloats) {
  using Dims = std::vector<int64_t>;
  constexpr int64_t kRows = 48, kColumns = 32, kDepth = 64;
  for (const fb::MatmulScales scales : {fb::MatmulScales::Tensors, fb::MatmulScales::Rows}) {
    for (const DType of_a : {DType::kF8E4M3, DType::kF8E5M2}) {
      fb::MatmulStepT s = Matmul(1, kRows, kColumns, kDepth, of_a);
      s.transpose_b = true, s.dtype_b = fb::DType::F8E4M3, s.scales = scales, s.result_is_f32 = true;
      const fb::PlanT plan = MakeStepPlan(s, 4);
      const bool by_row = scales == fb::MatmulScales::Rows;
      std::vector<double> a(kRows * kDepth), b(kColumns * kDepth), of_rows(kRows), of_columns(kColumns);
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * 7 % 5) - 2;
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 11 % 9) - 4;
      for (size_t i = 0; i < of_rows.size(); ++i) of_rows[i] = std::ldexp(1, static_cast<int>(i % 4));
      for (size_t i = 0; i < of_columns.size(); ++i) of_columns[i] = std::ldexp(1, -static_cast<int>(i % 3));
      if (!by_row) of_rows = {4}, of_columns = {0.5};
      const HostTensor x = MakeTensor(of_a, {kRows, kDepth}, a),
                       y = MakeTensor(DType::kF8E4M3, {kColumns, kDepth}, b),
                       p = MakeTensor(DType::kF32, by_row ? Dims{kRows} : Dims{}, of_rows),
                       q = MakeTensor(DType::kF32, by_row ? Dims{kColumns} : Dims{}, of_columns);
      if (const absl::Status status = MakeError(plan); !status.ok()) {
        EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
        EXPECT_THAT(std::string(status.message()), HasSubstr("8-bit floats need 8.9 or newer"));
        continue;
      }
      const std::vector<double> got = RunOnGpu(plan, {&x, &y, &p, &q}, {DType::kF32, {kRows, kColumns}});
      for (size_t i = 0; i < got.size(); ++i) {
        const size_t row = i / kColumns, column = i % kColumns;
        double want = 0;
        for (size_t l = 0; l < kDepth; ++l) want += a[row * kDepth + l] * b[column * kDepth + l];
        want *= of_rows[by_row ? row : 0] * of_columns[by_row ? column : 0];
        ASSERT_EQ(got[i], want) << i;
      }
    }
  }
}

TEST_F(MatmulTest, ThreeTimesBf16OrAnError) {
  fb::MatmulStepT s = Matmul(1, 64, 64, 64);
  s.math = fb::MathMode::Bf16x3;
  const absl::Status status = MakeError(PlanOf(s));
  // The GPUs on which cuBLASLt emulates bf16x3 depend on its version.
  if (status.ok()) return Check(s);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("matmuls in bf16x3 need 10.0 or newer; use ieee or tf32"));
}

TEST_F(MatmulTest, RefusesWhatCublasDoesNotDo) {
  fb::MatmulStepT s = Matmul(1, 4, 4, 4, DType::kI32);
  absl::Status status = MakeError(PlanOf(s));
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_EQ(status.message(),
            "a matmul of I32 is not done by cuBLASLt, which is for f64, f32, bf16, f16 and i8: let the "
            "compiler generate its kernel (model.cc:12)");
  s = Matmul(1, 4, 4, 4, DType::kI8);
  s.result_is_i32 = true;
  status = MakeError(PlanOf(s));
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("because cuBLASLt takes rows of i8 along k"));
  s = Matmul(1, 4, 4, 4);
  s.activation = fb::Activation::Gelu;
  status = MakeError(PlanOf(s));
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("a matmul of F32 and activation Gelu is not done by cuBLASLt: leave them out of the matmul"));
  s = Matmul(1, 4, 4, 4, DType::kF64);
  s.has_bias = true;
  EXPECT_THAT(std::string(MakeError(PlanOf(s)).message()), HasSubstr("a matmul of F64 with bias"));
  s = Matmul(1, 4, 4, 4, DType::kF16);
  s.math = fb::MathMode::Bf16x3;
  EXPECT_THAT(std::string(MakeError(PlanOf(s)).message()),
              HasSubstr("math bf16x3 is for matmuls of f32, not of F16"));
}

TEST_F(MatmulTest, RefusesOperandsThatAreNotAligned) {
  const PackedPlan packed(PlanOf(Matmul(1, 4, 4, 4)));
  absl::StatusOr<std::unique_ptr<Step>> step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  const Allocation memory = gpu().allocator().Allocate(4096, "test").value();
  std::byte* const data = static_cast<std::byte*>(memory.ptr());
  void* buffers[] = {data, data + 1024 + 4, data + 2048};
  const absl::Status status = (*step)->Run(
      {.buffers = buffers, .workspace = nullptr, .scratch = nullptr, .library_workspace = data + 3072});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not start at a multiple of 16 bytes"));
}

TEST_F(MatmulTest, RefusesAnUnreadableChoiceOfTuning) {
  setenv("SINTER_GPU_TUNE", "fast", 1);
  const absl::Status status = MakeError(PlanOf(Matmul(1, 4, 4, 4)));
  for (const char* tune : {"0", "2"}) {
    setenv("SINTER_GPU_TUNE", tune, 1);
    Check(Matmul(1, 384, 512, 256));
  }
  unsetenv("SINTER_GPU_TUNE");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SINTER_GPU_TUNE is \"fast\": write 0"));
}

}  // namespace
}  // namespace sinter
