#include "sinter/runtime/cuda/cublas/matmul_tuning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/cublas/matmul_trial.h"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/host/half.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

TEST(TuningKeyTest, SaysAllThatAChoiceDependsOn) {
  const CudaDeviceInfo device = {.name = "NVIDIA H200", .major = 9, .minor = 0, .multiprocessors = 132};
  const MatmulShape shape = {.m = 64, .n = 32, .k = 16, .transpose_b = true, .dtype = fb::DType::BF16};
  const TuningKey key = TuningKeyOf(device, "13.1.0", shape);
  EXPECT_EQ(key.device, "NVIDIA H200, sm_90, 132 multiprocessors");
  EXPECT_EQ(key.library, "cuBLASLt 13.1.0");
  EXPECT_EQ(key.problem, "bf16 Ieee 1x64x32x16 (batch, m, n, k), b transposed, aligned to 16");
}

TEST(TuningKeyTest, TellsEpiloguesApart) {
  const auto text = [](MatmulShape shape) {
    shape.m = 64, shape.n = 32, shape.k = 16, shape.dtype = fb::DType::BF16;
    return shape.ToString();
  };
  const std::string plain = "bf16 Ieee 1x64x32x16 (batch, m, n, k)";
  EXPECT_EQ(text({}), plain);
  EXPECT_EQ(text({.has_bias = true, .has_addend = true, .has_scale = true}), plain + ", bias, addend, scale");
  EXPECT_EQ(text({.result_is_f32 = true}), plain + ", result of f32");
  EXPECT_EQ(text({.activation = fb::Activation::GeluTanh}), plain + ", GeluTanh");
  EXPECT_EQ(text({.activation = fb::Activation::GeluTanh, .is_gradient = true}),
            plain + ", gradient of GeluTanh");
}

TEST(SplitAlikeTest, LooksAtPartsOfKAndAtWhatAddsThemUp) {
  const AlgorithmConfig whole = {.id = 66, .tile = 20}, other = {.id = 21, .tile = 5, .reduction = 1};
  AlgorithmConfig none = whole, two = whole, four = whole, otherwise = whole;
  none.split_k = 0;  // Equivalent to 1.
  two.split_k = 2, four.split_k = 4;
  otherwise.split_k = 2, otherwise.reduction = 2;
  EXPECT_TRUE(SplitAlike(whole, other));
  EXPECT_TRUE(SplitAlike(whole, none));
  EXPECT_TRUE(SplitAlike(two, two));
  EXPECT_FALSE(SplitAlike(whole, two));
  EXPECT_FALSE(SplitAlike(two, four));
  EXPECT_FALSE(SplitAlike(two, otherwise));
}

// Sums a matmul's k terms in f32 in the order of different tiles and splits, and rounds them to the element
// type.
class SumOrderTest : public ::testing::TestWithParam<fb::DType> {
 protected:
  double Element(const std::vector<std::byte>& table, int64_t i) const {
    const auto read = [&](auto value) {
      std::memcpy(&value, table.data() + static_cast<size_t>(i) * sizeof(value), sizeof(value));
      return value;
    };
    switch (GetParam()) {
      case fb::DType::F32:
        return read(float{});
      case fb::DType::BF16:
        return read(BFloat16{}).ToFloat();
      default:
        return read(Float16{}).ToFloat();
    }
  }

  float Rounded(float sum) const {
    if (GetParam() == fb::DType::BF16) return BFloat16::FromFloat(sum).ToFloat();
    return GetParam() == fb::DType::F16 ? Float16::FromFloat(sum).ToFloat() : sum;
  }

  // Splits k into `splits` parts. In each part, sums groups of `lanes` adjacent terms first.
  static float Sum(const std::vector<float>& terms, size_t lanes, size_t splits) {
    float total = 0;
    for (size_t split = 0; split < splits; ++split) {
      float sum = 0;
      for (size_t i = terms.size() / splits * split; i < terms.size() / splits * (split + 1); i += lanes) {
        float group = 0;
        for (size_t j = i; j < std::min(i + lanes, terms.size()); ++j) group += terms[j];
        sum += group;
      }
      total += sum;
    }
    return total;
  }
};

// With factors that cancel, any two of four summation orders differ in most results.
TEST_P(SumOrderTest, ShowsInMostResultsOfCancellingFactors) {
  constexpr int64_t k = 4096, rows = CancellingFactors::kRows;
  const CancellingFactors factors = CancellingFactorsOf(GetParam(), k, 1);
  constexpr std::array<std::array<size_t, 2>, 4> kOrders = {{{1, 1}, {8, 1}, {16, 1}, {16, 2}}};
  std::array<std::array<int, 4>, 4> differ = {};
  double largest_term = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < rows; ++column) {
      std::vector<float> terms;
      double exact = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double term = Element(factors.a, row * k + i) * Element(factors.b, column * k + i);
        terms.push_back(static_cast<float>(term));
        exact += terms.back();
        largest_term = std::max(largest_term, std::abs(term));
      }
      ASSERT_NEAR(exact, 0, 1e-6);  // Up to rounding in double.
      for (size_t x = 0; x < 4; ++x) {
        for (size_t y = 0; y < x; ++y) {
          differ[x][y] += Rounded(Sum(terms, kOrders[x][0], kOrders[x][1])) !=
                          Rounded(Sum(terms, kOrders[y][0], kOrders[y][1]));
        }
      }
    }
  }
  EXPECT_LE(largest_term, 4096);
  for (size_t x = 0; x < 4; ++x) {
    for (size_t y = 0; y < x; ++y) EXPECT_GT(differ[x][y], rows * rows * 9 / 10) << x << " and " << y;
  }
}

// With random numbers, another order changes few results of 16 bits. Chance could hide a difference among
// some thousand results.
TEST_P(SumOrderTest, HidesInRandomNumbersOf16Bits) {
  if (GetParam() == fb::DType::F32) return;
  constexpr int64_t k = 4096, count = 256;
  const std::vector<std::byte> block = RandomBlock(GetParam());
  const int64_t period = 65537;
  int differ = 0;
  for (int64_t result = 0; result < count; ++result) {
    std::vector<float> terms;
    for (int64_t i = 0; i < k; ++i) {
      terms.push_back(static_cast<float>(Element(block, (result * k + i) % period) *
                                         Element(block, (result * 131 + i * 17) % period)));
    }
    differ += Rounded(Sum(terms, 8, 1)) != Rounded(Sum(terms, 16, 1));
  }
  EXPECT_LT(differ, count / 20);
}

INSTANTIATE_TEST_SUITE_P(Types, SumOrderTest,
                         ::testing::Values(fb::DType::F32, fb::DType::BF16, fb::DType::F16),
                         [](const auto& info) { return std::string(fb::EnumNameDType(info.param)); });

class MatmulTuningTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    context_ = CudaContext::Create(0, &gpu().allocator()).value();
  }

  std::unique_ptr<CublasMatmul> Matmul(const MatmulShape& shape) {
    return CublasMatmul::Create(*context_, shape).value();
  }

  std::unique_ptr<CudaContext> context_;
  ScratchFolder folder_;
};

// A valid choice of the file is used without measuring. An invalid one is reported and measured again.
TEST_F(MatmulTuningTest, TakesWhatTheFileSays) {
  const std::unique_ptr<CublasMatmul> matmul =
      Matmul({.m = 640, .n = 768, .k = 320, .dtype = fb::DType::BF16});
  const std::string version = VersionOf(*context_->Cublas()->functions);
  const TuningKey key = TuningKeyOf(context_->info(), version, matmul->shape());
  const auto candidates = CandidatesOf(*matmul).value();
  const auto& [last, config] = candidates.back();
  const std::string file = folder_.File("t.tuning");
  ASSERT_TRUE(SaveTuning(file, {{key, {.algorithm = config, .first_us = 2, .chosen_us = 1}}}).ok());
  SessionTuning tuning({.file = file, .mode = TuningMode::kSameBits});
  context_->set_tuning(&tuning);
  for (int i = 0; i < 2; ++i) {
    const auto chosen = ChooseAlgorithm(*context_, *matmul);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(std::memcmp(&chosen->algo, &last.algo, sizeof(last.algo)), 0);
  }
  ASSERT_EQ(tuning.report().choices.size(), 1u);
  EXPECT_EQ(tuning.report().Count(ChoiceSource::kFile), 1);

  ASSERT_TRUE(SaveTuning(file, {{key, {.algorithm = {.id = 1 << 30}, .first_us = 2, .chosen_us = 1}}}).ok());
  SessionTuning wrong({.file = file, .save = true, .mode = TuningMode::kSameBits});
  context_->set_tuning(&wrong);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *matmul).ok());
  wrong.Finish();
  EXPECT_EQ(wrong.report().Count(ChoiceSource::kMeasured), 1);
  EXPECT_THAT(std::string(wrong.report().status.message()),
              HasSubstr("a matmul is measured although the tuning file"));
  // The file is valid again.
  SessionTuning right({.file = file, .mode = TuningMode::kSameBits});
  context_->set_tuning(&right);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *matmul).ok());
  EXPECT_EQ(right.report().Count(ChoiceSource::kFile), 1);
  EXPECT_TRUE(right.report().status.ok()) << right.report().status;
}

// Sums that do not cancel would be some thousand. Sums that are all zero would not show the order.
TEST_F(MatmulTuningTest, FactorsCancelInEveryLayout) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const std::unique_ptr<CublasMatmul> matmul = Matmul(
          {.batch = 2, .m = 83, .n = 37, .k = 1025, .transpose_a = transpose_a, .transpose_b = transpose_b});
      SCOPED_TRACE(matmul->shape().ToString());
      MatmulTrial trial(*context_, *matmul);
      ASSERT_TRUE(trial.Prepare().ok());
      ASSERT_TRUE(trial.FillCancelling(7).ok());
      std::vector<std::byte> bytes;
      ASSERT_TRUE(trial.AddResults(matmul->Algorithms(1).value()[0], /*round=*/0, bytes).ok());
      std::vector<float> values(size_t{2} * 83 * 37);
      ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      int64_t zeros = 0;
      for (const float value : values) {
        ASSERT_LT(std::abs(value), 1);
        zeros += value == 0;
      }
      EXPECT_LT(zeros, static_cast<int64_t>(values.size()) / 10);
    }
  }
}

// Compares results on 1,000 operand sets that the choice did not use: random and cancelling ones in turn.
TEST_F(MatmulTuningTest, ChosenAlgorithmsEqualTheFirstOnThousandOperandSets) {
  constexpr uint64_t kSets = 1000;
  const MatmulShape shapes[] = {{.m = 32, .n = 32, .k = 8192, .dtype = fb::DType::BF16},
                                {.m = 640, .n = 768, .k = 320, .transpose_b = true, .dtype = fb::DType::F16},
                                {.m = 384, .n = 256, .k = 1024, .transpose_a = true},
                                {.m = 256, .n = 512, .k = 768, .has_bias = true, .dtype = fb::DType::BF16},
                                {.m = 128, .n = 128, .k = 2048, .math = fb::MathMode::Tf32}};
  for (const MatmulShape& shape : shapes) {
    SCOPED_TRACE(shape.ToString());
    const std::unique_ptr<CublasMatmul> matmul = Matmul(shape);
    SessionTuning tuning({.again = true, .mode = TuningMode::kSameBits});
    context_->set_tuning(&tuning);
    const auto chosen = ChooseAlgorithm(*context_, *matmul);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    const cublasLtMatmulHeuristicResult_t first = matmul->Algorithms(1).value()[0];
    MatmulTrial trial(*context_, *matmul);
    ASSERT_TRUE(trial.Prepare().ok());
    for (uint64_t set = 0; set < kSets; ++set) {
      const uint64_t seed = 100 + set;
      ASSERT_TRUE((set % 2 == 0 ? trial.FillRandom(seed) : trial.FillCancelling(seed)).ok());
      std::vector<std::byte> want, got;
      ASSERT_TRUE(trial.AddResults(first, /*round=*/0, want).ok());
      ASSERT_TRUE(trial.AddResults(*chosen, /*round=*/0, got).ok());
      ASSERT_TRUE(want == got) << "set " << set;
    }
  }
}

TEST_F(MatmulTuningTest, SaysWhyAMatmulIsNotMeasured) {
  SessionTuning tuning({.mode = TuningMode::kSameBits}), off({.mode = TuningMode::kFirstChoice});
  const std::unique_ptr<CublasMatmul> small = Matmul({.m = 8, .n = 8, .k = 8});
  context_->set_tuning(&tuning);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *small).ok());
  EXPECT_EQ(tuning.report().choices.at(0).reason, "it is too small to time");
  context_->set_tuning(&off);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *small).ok());
  EXPECT_EQ(off.report().choices.at(0).reason, "tuning is off");
}

}  // namespace
}  // namespace sinter
