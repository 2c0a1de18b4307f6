#include "sinter/runtime/cuda/driver/gpu_switches.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "sinter/runtime/cuda/cuda_runtime.h"

namespace sinter {
namespace {

// Unsets the environment variables before and after each test.
class GpuSwitchesTest : public ::testing::Test {
 protected:
  void SetUp() override { UnsetAll(); }
  void TearDown() override { UnsetAll(); }
  static void UnsetAll() {
    for (const char* name : {"SINTER_GPU_EARLY_START", "SINTER_GPU_SIDE_BY_SIDE", "SINTER_GPU_PRIORITIES",
                             "SINTER_GPU_ATTENTION"})
      unsetenv(name);
  }
};

TEST_F(GpuSwitchesTest, AreOnUnlessTheEnvironmentSaysNo) {
  for (const char* nothing : {"", "1"}) {
    setenv("SINTER_GPU_EARLY_START", nothing, 1);
    setenv("SINTER_GPU_SIDE_BY_SIDE", nothing, 1);
    setenv("SINTER_GPU_PRIORITIES", nothing, 1);
    setenv("SINTER_GPU_ATTENTION", *nothing == '\0' ? "" : "in-order", 1);
    const absl::StatusOr<GpuSwitches> on = GpuSwitches::FromEnvironment();
    ASSERT_TRUE(on.ok()) << on.status();
    EXPECT_TRUE(on->early_start && on->side_by_side && on->priorities && on->attention_in_order);
  }
  setenv("SINTER_GPU_EARLY_START", "0", 1);
  EXPECT_FALSE(GpuSwitches::FromEnvironment()->early_start);
  EXPECT_TRUE(GpuSwitches::FromEnvironment()->side_by_side);
  setenv("SINTER_GPU_SIDE_BY_SIDE", "0", 1);
  EXPECT_FALSE(GpuSwitches::FromEnvironment()->side_by_side);
  EXPECT_TRUE(GpuSwitches::FromEnvironment()->priorities);
  setenv("SINTER_GPU_PRIORITIES", "0", 1);
  EXPECT_FALSE(GpuSwitches::FromEnvironment()->priorities);
  EXPECT_TRUE(GpuSwitches::FromEnvironment()->attention_in_order);
  setenv("SINTER_GPU_ATTENTION", "any-order", 1);
  EXPECT_FALSE(GpuSwitches::FromEnvironment()->attention_in_order);
}

// The session checks the variables when it creates a GPU's runtime, before it looks for GPUs.
TEST_F(GpuSwitchesTest, AnUnknownWordIsRefusedWhereAGpuIsMade) {
  const struct {
    const char *variable, *word, *message;
  } cases[] = {
      {"SINTER_GPU_EARLY_START", "no",
       "SINTER_GPU_EARLY_START is \"no\": write 0 to launch each kernel when the one in front of it has "
       "ended, or 1 to launch it before where it can wait itself"},
      {"SINTER_GPU_SIDE_BY_SIDE", "no",
       "SINTER_GPU_SIDE_BY_SIDE is \"no\": write 0 to run the steps of a capture one after the other, or 1 "
       "to run those side by side that do not need each other"},
      {"SINTER_GPU_PRIORITIES", "no",
       "SINTER_GPU_PRIORITIES is \"no\": write 0 to have all kernels of a capture as urgent, or 1 to "
       "prefer "
       "those that most others wait for"},
      {"SINTER_GPU_ATTENTION", "any", "SINTER_GPU_ATTENTION is \"any\"; expected in-order or any-order"},
  };
  for (const auto& [variable, word, message] : cases) {
    setenv(variable, word, 1);
    const absl::Status status = MakeCudaRuntime(Device::Gpu(0)).status();
    unsetenv(variable);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(status.message(), message);
  }
}

}  // namespace
}  // namespace sinter
