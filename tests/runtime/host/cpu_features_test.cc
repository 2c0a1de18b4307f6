#include "sinter/runtime/host/cpu_features.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cpu/cpu_level.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CpuFeaturesTest : public ::testing::Test {
 protected:
  CpuFeaturesTest() {
    const char* const now = std::getenv("SINTER_CPU_LEVEL");
    before_ = now == nullptr ? "" : now;
  }
  ~CpuFeaturesTest() override { setenv("SINTER_CPU_LEVEL", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_F(CpuFeaturesTest, ALevelHidesWhatIsBeyondIt) {
  unsetenv("SINTER_CPU_LEVEL");
  const int own = sn_cpu_level();
  EXPECT_EQ(sn_cpu_level_asked(), 0);
  ASSERT_GE(own, 3) << "these tests need what Sinter needs";
  const bool has_avx512 = RunningCpuHas("avx512f");
  EXPECT_TRUE(RunningCpuHas("avx2"));
  setenv("SINTER_CPU_LEVEL", "x86-64-v3", 1);
  EXPECT_EQ(sn_cpu_level(), 3);
  EXPECT_TRUE(RunningCpuHas("avx2"));
  for (const char* beyond : {"avx512f", "avx512bf16", "gfni", "sse4a"})
    EXPECT_FALSE(RunningCpuHas(beyond)) << beyond;
  EXPECT_TRUE(CheckRunningCpu().ok());
  setenv("SINTER_CPU_LEVEL", "x86-64-v2", 1);
  EXPECT_FALSE(RunningCpuHas("avx2"));
  EXPECT_TRUE(RunningCpuHas("sse4.2"));
  // A level never adds features that the CPU lacks.
  setenv("SINTER_CPU_LEVEL", "x86-64-v4", 1);
  EXPECT_EQ(sn_cpu_level(), own);
  EXPECT_EQ(RunningCpuHas("avx512f"), has_avx512);
  setenv("SINTER_CPU_LEVEL", "", 1);
  EXPECT_EQ(sn_cpu_level(), own);
}

TEST_F(CpuFeaturesTest, SaysWhatSinterNeeds) {
  setenv("SINTER_CPU_LEVEL", "x86-64-v2", 1);
  EXPECT_EQ(CheckRunningCpu().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(CheckRunningCpu().message()),
      AllOf(HasSubstr("Sinter needs a CPU of level x86-64-v3"), HasSubstr("lacks avx, avx2, bmi, bmi2, f16c"),
            Not(HasSubstr("avx512")), Not(HasSubstr("sse"))));
  for (const char* wrong : {"x86-64-v5", "v3", "avx2", " x86-64-v3"}) {
    setenv("SINTER_CPU_LEVEL", wrong, 1);
    EXPECT_EQ(CheckRunningCpu().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(CheckRunningCpu().message()),
              std::string("SINTER_CPU_LEVEL is \"") + wrong +
                  "\": write x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, or leave it unset");
  }
}

}  // namespace
}  // namespace sinter
