// Matmuls on a GPU with an addend, a scale, an f32 result, or the gradient of an activation.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

double Gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double GeluSlope(double x) { return (Gelu(x + 1e-5) - Gelu(x - 1e-5)) / 2e-5; }

// Returns op(a) op(b) of one matmul. The values are already rounded to their type.
std::vector<Sum> Matmuls(const fb::MatmulStepT& s, const std::vector<double>& a,
                         const std::vector<double>& b) {
  std::vector<Sum> result(static_cast<size_t>(s.m * s.n));
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      for (int64_t k = 0; k < s.k; ++k) {
        const int64_t at_a = s.transpose_a ? k * s.m + i : i * s.k + k;
        const int64_t at_b = s.transpose_b ? j * s.k + k : k * s.n + j;
        result[static_cast<size_t>(i * s.n + j)].Add(a[static_cast<size_t>(at_a)] *
                                                     b[static_cast<size_t>(at_b)]);
      }
    }
  }
  return result;
}

fb::MatmulStepT Matmul(int64_t m, int64_t n, int64_t k, DType dtype) {
  fb::MatmulStepT s;
  s.batch = 1, s.m = m, s.n = n, s.k = k;
  s.dtype = static_cast<fb::DType>(dtype);
  return s;
}

class MatmulEpilogueTest : public GpuTest {
 protected:
  // Makes the operands in the order of the step's inputs, and the matmul's reference result.
  void Make(const fb::MatmulStepT& s) {
    const DType dtype = static_cast<DType>(s.dtype);
    of_result_ = s.result_is_f32 ? DType::kF32 : dtype;
    inputs_.clear();
    inputs_.push_back(MakeTensor(dtype, {s.m * s.k}, FullValues(s.m * s.k, 1)));
    inputs_.push_back(MakeTensor(dtype, {s.k * s.n}, FullValues(s.k * s.n, 2)));
    matmuls_ = Matmuls(s, ToDoubles(inputs_[0]), ToDoubles(inputs_[1]));
  }
  std::vector<double> Add(DType dtype, int64_t elements, int seed) {
    inputs_.push_back(MakeTensor(dtype, {elements}, FullValues(elements, seed)));
    return ToDoubles(inputs_.back());
  }
  std::vector<double> Run(const fb::MatmulStepT& s) {
    std::vector<const HostTensor*> inputs;
    for (const HostTensor& input : inputs_) inputs.push_back(&input);
    return RunOnGpu(MakeStepPlan(s, static_cast<uint32_t>(inputs.size())), inputs, {of_result_, {s.m, s.n}});
  }

  // Checks scale op(a) op(b) + bias + addend.
  void CheckSums(const fb::MatmulStepT& s) {
    Make(s);
    const std::vector<double> bias = s.has_bias ? Add(of_result_, s.n, 3) : std::vector<double>();
    const std::vector<double> addend = s.has_addend ? Add(of_result_, s.m * s.n, 4) : std::vector<double>();
    const DType of_scale = s.dtype == fb::DType::F64 ? DType::kF64 : DType::kF32;
    const double scale = s.has_scale ? Add(of_scale, 1, 5)[0] : 1;
    std::vector<Sum> want = matmuls_;
    for (size_t i = 0; i < want.size(); ++i) {
      want[i].value *= scale;
      if (s.has_bias) want[i].Add(bias[i % static_cast<size_t>(s.n)]);
      if (s.has_addend) want[i].Add(addend[i]);
      if (s.activation == fb::Activation::Relu) want[i].value = std::max(want[i].value, 0.0);
    }
    const SumTolerance tolerance = ToleranceOfSums(of_result_, s.math == fb::MathMode::Tf32);
    ExpectSums(Run(s), want, tolerance,
               std::string(fb::EnumNameDType(s.dtype)) + (s.result_is_f32 ? " in f32" : "") +
                   (s.has_addend ? " addend" : "") + (s.has_scale ? " scale" : "") +
                   (s.has_bias ? " bias" : ""));
  }

  DType of_result_ = DType::kF32;
  std::vector<HostTensor> inputs_;
  std::vector<Sum> matmuls_;
};

// The outputs hold NaN before a run: without an addend, the matmul must not read them.
TEST_F(MatmulEpilogueTest, AddendAndScale) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16}) {
    for (int what = 1; what < 8; ++what) {
      fb::MatmulStepT s = Matmul(72, 40, 56, dtype);
      s.transpose_a = what & 1;
      s.has_addend = what & 1, s.has_scale = what & 2, s.has_bias = what & 4;
      if (s.has_bias && dtype == DType::kF64) continue;
      CheckSums(s);
      if (s.has_bias) s.activation = fb::Activation::Relu;
      if (s.has_bias) CheckSums(s);
    }
  }
}

TEST_F(MatmulEpilogueTest, ResultOfF32FromNarrowOperands) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    for (int what = 0; what < 8; ++what) {
      fb::MatmulStepT s = Matmul(48, 24, 80, dtype);
      s.result_is_f32 = true, s.transpose_a = true;
      s.has_addend = what & 1, s.has_scale = what & 2, s.has_bias = what & 4;
      CheckSums(s);
    }
  }
}

// A matmul large enough to be measured, and matmuls without terms.
TEST_F(MatmulEpilogueTest, MeasuredOnesAndEmptyOnes) {
  fb::MatmulStepT s = Matmul(320, 256, 512, DType::kF32);
  s.has_addend = s.has_scale = true;
  s.math = fb::MathMode::Tf32;
  CheckSums(s);
  CheckSums(s);
  s = Matmul(16, 8, 0, DType::kF32);
  s.has_addend = s.has_scale = true;
  CheckSums(s);
  s.has_addend = false;
  CheckSums(s);
}

// W -= rate X^T G, in place.
TEST_F(MatmulEpilogueTest, ResultOverTheAddend) {
  fb::MatmulStepT s = Matmul(64, 32, 16, DType::kF32);
  s.has_addend = s.has_scale = true;
  const PackedPlan packed(MakeStepPlan(s, 4));
  auto step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  const std::vector<double> a = FullValues(64 * 16, 1), b = FullValues(16 * 32, 2),
                            w = FullValues(64 * 32, 3);
  std::vector<Allocation> memory;
  std::vector<HostTensor> tensors;
  for (const auto& [elements, values] : {std::pair(64 * 16, a), {16 * 32, b}, {64 * 32, w}, {1, {-0.5}}}) {
    tensors.push_back(MakeTensor(DType::kF32, {elements}, values));
    memory.push_back(gpu().allocator().Allocate(elements * 4, "test").value());
    ASSERT_TRUE(
        gpu().Upload(memory.back().ptr(), tensors.back().data(), static_cast<size_t>(elements) * 4).ok());
  }
  const Allocation workspace =
      gpu().allocator().Allocate(static_cast<int64_t>((*step)->LibraryWorkspaceBytes()), "test").value();
  void* buffers[] = {memory[0].ptr(), memory[1].ptr(), memory[2].ptr(), memory[3].ptr(), memory[2].ptr()};
  ASSERT_TRUE((*step)
                  ->Run({.buffers = buffers,
                         .workspace = nullptr,
                         .scratch = nullptr,
                         .library_workspace = workspace.ptr()})
                  .ok());
  HostTensor got = *HostTensor::Zeros(DType::kF32, {64 * 32});
  ASSERT_TRUE(gpu().Download(got.mutable_data(), memory[2].ptr(), 64 * 32 * 4).ok());
  std::vector<Sum> want = Matmuls(s, ToDoubles(tensors[0]), ToDoubles(tensors[1]));
  const std::vector<double> before = ToDoubles(tensors[2]);
  for (size_t i = 0; i < want.size(); ++i) {
    want[i].value *= -0.5;
    want[i].Add(before[i]);
  }
  ExpectSums(ToDoubles(got), want, ToleranceOfSums(DType::kF32, false), "over the addend");
}

TEST_F(MatmulEpilogueTest, GradientOfGelu) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    fb::MatmulStepT s = Matmul(96, 64, 40, dtype);
    s.transpose_b = s.is_gradient = true;
    s.activation = fb::Activation::GeluTanh;
    Make(s);
    const std::vector<double> x = Add(dtype, s.m * s.n, 3);
    std::vector<Sum> want = matmuls_;
    for (size_t i = 0; i < want.size(); ++i) want[i].value *= GeluSlope(x[i]);
    // cuBLASLt uses the hardware's tanh, whose error is 2^-11 (CUDA C++ Programming Guide, tanh.approx).
    const SumTolerance tolerance = ToleranceOfSums(dtype, false);
    ExpectSums(Run(s), want, {tolerance.result + 1e-3, 1e-3}, "gradient of gelu");
  }
}

TEST_F(MatmulEpilogueTest, RefusesWhatCublasDoesNotDo) {
  const auto error = [&](const fb::MatmulStepT& s) {
    const absl::Status status = MakeError(MakeStepPlan(s, 3));
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    return std::string(status.message());
  };
  fb::MatmulStepT s = Matmul(16, 16, 16, DType::kF32);
  s.is_gradient = true, s.activation = fb::Activation::GeluTanh;
  EXPECT_EQ(
      error(s),
      "the product f32 Ieee 1x16x16x16 (batch, m, n, k), gradient of GeluTanh is not done by cuBLASLt in one "
      "call, because cuBLASLt does it for matmuls of bf16 and f16: compile the graph again (model.cc:12)");
  s.dtype = fb::DType::BF16, s.n = 12;
  EXPECT_THAT(error(s), HasSubstr("rows of a multiple of 8 elements"));
  s.n = 16, s.activation = fb::Activation::Relu;
  EXPECT_THAT(error(s), HasSubstr("has the gradient of gelu_tanh only"));
  s.activation = fb::Activation::GeluTanh, s.result_is_f32 = true;
  EXPECT_THAT(error(s), HasSubstr("what gelu_tanh is applied to in 16 bits"));
  s.result_is_f32 = false, s.batch = 2;
  EXPECT_THAT(error(s), HasSubstr("for a single matmul"));
}

}  // namespace
}  // namespace sinter
