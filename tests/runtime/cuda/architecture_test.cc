#include "sinter/runtime/cuda/driver/architecture.h"

#include "gtest/gtest.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {
namespace {

TEST(ArchitectureTest, TakesTheNearest) {
  EXPECT_EQ(BestImage({"sm_80", "sm_90"}, 9, 0), 1);
  EXPECT_EQ(BestImage({"sm_80", "sm_86", "sm_89"}, 8, 9), 2);
  EXPECT_EQ(BestImage({"sm_80", "sm_86", "sm_90"}, 8, 9), 1);
  EXPECT_EQ(BestImage({"sm_86", "sm_80"}, 8, 0), 1);
  EXPECT_EQ(BestImage({"sm_100", "sm_103"}, 10, 3), 1);
  EXPECT_EQ(BestImage({"sm_120"}, 12, 1), 0);
}

TEST(ArchitectureTest, KnowsWhatRunsNowhereElse) {
  EXPECT_EQ(BestImage({"sm_90a"}, 9, 0), 0);
  EXPECT_EQ(BestImage({"sm_90", "sm_90a"}, 9, 0), 1);
  EXPECT_EQ(BestImage({"sm_100a"}, 10, 3), -1);
  EXPECT_EQ(BestImage({"sm_100", "sm_100a", "sm_100f"}, 10, 3), 2);
  EXPECT_EQ(BestImage({"sm_103", "sm_100f"}, 10, 3), 0);
}

TEST(ArchitectureTest, FindsNone) {
  EXPECT_EQ(BestImage({}, 9, 0), -1);
  EXPECT_EQ(BestImage({"sm_80"}, 9, 0), -1);
  EXPECT_EQ(BestImage({"sm_90"}, 8, 9), -1);
  EXPECT_EQ(BestImage({"sm_89"}, 8, 6), -1);
  EXPECT_EQ(BestImage({"compute_90", "sm_", "sm_9", "sm_90b", "90", "sm_-90", "sm_99999999999"}, 9, 0), -1);
}

TEST(ArchitectureTest, TheFirstOfEqualOnes) { EXPECT_EQ(BestImage({"sm_90", "sm_90"}, 9, 0), 0); }

TEST(GpuLimitsTest, SayWhatLibrariesFuse) {
  EXPECT_TRUE(CublasEpilogueSupported(fb::Activation::None));
  EXPECT_TRUE(CublasEpilogueSupported(fb::Activation::Relu, /*has_bias=*/true, fb::DType::BF16));
  EXPECT_TRUE(CublasEpilogueSupported(fb::Activation::GeluTanh, /*has_bias=*/true));
  for (const fb::Activation activation :
       {fb::Activation::Gelu, fb::Activation::Sigmoid, fb::Activation::Tanh, fb::Activation::Silu}) {
    EXPECT_FALSE(CublasEpilogueSupported(activation));
    EXPECT_FALSE(CudnnEpilogueSupported(activation));
  }
  EXPECT_TRUE(CublasEpilogueSupported(fb::Activation::None, /*has_bias=*/false, fb::DType::F64));
  EXPECT_FALSE(CublasEpilogueSupported(fb::Activation::None, /*has_bias=*/true, fb::DType::F64));
  EXPECT_FALSE(CublasEpilogueSupported(fb::Activation::Relu, /*has_bias=*/false, fb::DType::F64));
  EXPECT_TRUE(CudnnEpilogueSupported(fb::Activation::Relu));
  EXPECT_FALSE(CudnnEpilogueSupported(fb::Activation::GeluTanh));
  EXPECT_TRUE(CublasTypeSupported(fb::DType::F16));
  EXPECT_FALSE(CublasTypeSupported(fb::DType::I8));
  EXPECT_EQ(kMaxGpuKernelBuffers, 4095u);
}

}  // namespace
}  // namespace sinter
