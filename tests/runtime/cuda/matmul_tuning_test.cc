#include "sinter/runtime/cuda/matmul_tuning.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session_tuning.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

TEST(ProductKeyTest, SaysAllThatAChoiceDependsOn) {
  const CudaDeviceInfo device = {.name = "NVIDIA H200", .major = 9, .minor = 0, .multiprocessors = 132};
  const MatmulShape shape = {.m = 64, .n = 32, .k = 16, .transpose_b = true, .dtype = fb::DType::BF16};
  const ProductKey key = ProductKeyOf(device, "13.1.0", shape);
  EXPECT_EQ(key.device, "NVIDIA H200, sm_90, 132 multiprocessors");
  EXPECT_EQ(key.library, "cuBLASLt 13.1.0");
  EXPECT_EQ(key.product, "bf16 Ieee 1x64x32x16 (batch, m, n, k), b transposed, aligned to 16");
}

TEST(ProductKeyTest, TellsEpiloguesApart) {
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

class MatmulTuningTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    context_ = CudaContext::Create(0, &gpu().allocator()).value();
  }

  std::unique_ptr<CublasMatmul> Product(const MatmulShape& shape) {
    return CublasMatmul::Create(*context_, shape).value();
  }

  std::unique_ptr<CudaContext> context_;
  ScratchFolder folder_;
};

// What the file says is taken without measuring, and what it says wrongly is reported and measured.
TEST_F(MatmulTuningTest, TakesWhatTheFileSays) {
  const std::unique_ptr<CublasMatmul> product =
      Product({.m = 640, .n = 768, .k = 320, .dtype = fb::DType::BF16});
  const std::string version = VersionOf(*context_->Cublas()->functions);
  const ProductKey key = ProductKeyOf(context_->info(), version, product->shape());
  const auto candidates = CandidatesOf(*product).value();
  const auto& [last, config] = candidates.back();
  const std::string file = folder_.File("t.tuning");
  ASSERT_TRUE(SaveTuning(file, {{key, {.algorithm = config, .first_us = 2, .chosen_us = 1}}}).ok());
  SessionTuning tuning({.file = file, .mode = TuningMode::kSameBits});
  context_->set_tuning(&tuning);
  for (int i = 0; i < 2; ++i) {
    const auto chosen = ChooseAlgorithm(*context_, *product);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(std::memcmp(&chosen->algo, &last.algo, sizeof(last.algo)), 0);
  }
  ASSERT_EQ(tuning.report().products.size(), 1u);
  EXPECT_EQ(tuning.report().Count(ChoiceSource::kFile), 1);

  ASSERT_TRUE(SaveTuning(file, {{key, {.algorithm = {.id = 1 << 30}, .first_us = 2, .chosen_us = 1}}}).ok());
  SessionTuning wrong({.file = file, .save = true, .mode = TuningMode::kSameBits});
  context_->set_tuning(&wrong);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *product).ok());
  wrong.Finish();
  EXPECT_EQ(wrong.report().Count(ChoiceSource::kMeasured), 1);
  EXPECT_THAT(std::string(wrong.report().status.message()),
              HasSubstr("a product is measured although the tuning file"));
  // The file is right again.
  SessionTuning right({.file = file, .mode = TuningMode::kSameBits});
  context_->set_tuning(&right);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *product).ok());
  EXPECT_EQ(right.report().Count(ChoiceSource::kFile), 1);
  EXPECT_TRUE(right.report().status.ok()) << right.report().status;
}

TEST_F(MatmulTuningTest, SaysWhyAProductIsNotMeasured) {
  SessionTuning tuning({.mode = TuningMode::kSameBits}), off({.mode = TuningMode::kFirstChoice});
  const std::unique_ptr<CublasMatmul> small = Product({.m = 8, .n = 8, .k = 8});
  context_->set_tuning(&tuning);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *small).ok());
  EXPECT_EQ(tuning.report().products.at(0).reason, "it is too small to time");
  context_->set_tuning(&off);
  ASSERT_TRUE(ChooseAlgorithm(*context_, *small).ok());
  EXPECT_EQ(off.report().products.at(0).reason, "tuning is off");
}

}  // namespace
}  // namespace sinter
