#include "sinter/runtime/cuda/matmul_tuning.h"

#include <cstring>
#include <initializer_list>
#include <random>
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

// On operands that no trial has seen.
TEST_F(MatmulTuningTest, TheChosenGivesTheBitsOfTheFirstOnAThousandOperandSets) {
  constexpr int kSets = 1000;
  constexpr int64_t kBytes = int64_t{4} << 20;
  std::mt19937_64 random(20261123);
  const Allocation operands = gpu().allocator().Allocate(kBytes, "operands").value();
  const Allocation workspace = gpu().allocator().Allocate(CublasMatmul::kMaxWorkspace, "workspace").value();
  const CudaDeviceScope on(0);
  for (const MatmulShape& shape : std::initializer_list<MatmulShape>{
           {.m = 32, .n = 32, .k = 8192, .dtype = fb::DType::BF16},
           {.m = 64, .n = 96, .k = 4096, .transpose_b = true, .dtype = fb::DType::F16},
           {.m = 256, .n = 512, .k = 768, .has_bias = true, .dtype = fb::DType::BF16},
           {.m = 128, .n = 128, .k = 2048, .math = fb::MathMode::Tf32}}) {
    SCOPED_TRACE(shape.ToString());
    const DType dtype = static_cast<DType>(shape.dtype);
    const HostTensor values =
        MakeTensor(dtype, {kBytes / SizeOf(dtype)}, FullValues(kBytes / SizeOf(dtype), 7));
    ASSERT_TRUE(gpu().Upload(operands.ptr(), values.data(), kBytes).ok());
    ASSERT_TRUE(gpu().Synchronize().ok());
    const std::unique_ptr<CublasMatmul> product = Product(shape);
    SessionTuning tuning({.again = true, .mode = TuningMode::kSameBits});
    context_->set_tuning(&tuning);
    const auto first = product->Algorithms(1).value()[0];
    const auto chosen = ChooseAlgorithm(*context_, *product);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    const size_t bytes = static_cast<size_t>(shape.m * shape.n * SizeOf(dtype));
    const Allocation result = gpu().allocator().Allocate(static_cast<int64_t>(bytes), "result").value();
    const auto run = [&](const auto& algorithm, MatmulOperands from) {
      from.result = result.ptr();
      std::string got(bytes, '\0');
      EXPECT_TRUE(product->Launch(algorithm, from, workspace.ptr()).ok());
      EXPECT_TRUE(context_->WaitForStream("try a product").ok());
      EXPECT_EQ(cudaMemcpy(got.data(), result.ptr(), bytes, cudaMemcpyDeviceToHost), cudaSuccess);
      return got;
    };
    for (int set = 0; set < kSets; ++set) {
      const auto somewhere = [&](int64_t elements) {
        const int64_t places =
            (kBytes - elements * SizeOf(dtype)) / static_cast<int64_t>(CublasMatmul::kAlignment);
        return static_cast<std::byte*>(operands.ptr()) +
               static_cast<int64_t>(random() % static_cast<uint64_t>(places)) *
                   static_cast<int64_t>(CublasMatmul::kAlignment);
      };
      MatmulOperands from = {.a = somewhere(shape.m * shape.k), .b = somewhere(shape.k * shape.n)};
      if (shape.has_bias) from.bias = somewhere(shape.n);
      ASSERT_TRUE(run(first, from) == run(*chosen, from)) << "set " << set;
    }
  }
}

}  // namespace
}  // namespace sinter
