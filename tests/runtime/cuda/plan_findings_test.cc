#include "sinter/runtime/cuda/steps/plan_findings.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_libraries.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns the findings about kernels. The plan has code for sm_80, sm_90 and sm_100.
std::vector<PlanFinding> AboutKernels(const DeviceInfo& gpu) {
  const absl::StatusOr<Plan> plan = Plan::Load(SINTER_GOLDEN_PLANS "/v8/masked_gpu.plan");
  SINTER_CHECK(plan.ok()) << plan.status();
  std::vector<PlanFinding> found;
  for (PlanFinding& finding : FindInCudaPlan(plan->table(), gpu)) {
    if (finding.text.find(" kernels ") != std::string::npos) found.push_back(std::move(finding));
  }
  return found;
}

TEST(PlanFindingsTest, CodeForTheGpuIsRight) {
  EXPECT_THAT(AboutKernels({.device = Device::Gpu(),
                            .name = "NVIDIA H200",
                            .architecture = "sm_90",
                            .compute_major = 9,
                            .compute_minor = 0}),
              IsEmpty());
}

TEST(PlanFindingsTest, CodeForAnOlderGpuIsSlower) {
  const std::vector<PlanFinding> found = AboutKernels({.device = Device::Gpu(),
                                                       .name = "NVIDIA A40",
                                                       .architecture = "sm_86",
                                                       .compute_major = 8,
                                                       .compute_minor = 6});
  ASSERT_EQ(found.size(), 1);
  EXPECT_FALSE(found[0].is_fatal);
  EXPECT_EQ(found[0].text,
            "6 of 6 kernels run code for sm_80 on sm_86: compile it with --gpu-architectures sm_86");
}

TEST(PlanFindingsTest, NoCodeForTheGpuIsFatal) {
  const std::vector<PlanFinding> found = AboutKernels({.device = Device::Gpu(),
                                                       .name = "Tesla T4",
                                                       .architecture = "sm_75",
                                                       .compute_major = 7,
                                                       .compute_minor = 5});
  ASSERT_EQ(found.size(), 1);
  EXPECT_TRUE(found[0].is_fatal);
  EXPECT_EQ(found[0].text,
            "6 of 6 kernels have no code for sm_75 (Tesla T4); the plan holds sm_100, sm_80, sm_90: compile "
            "it with --gpu-architectures sm_75");
}

// The plan's attention calls cuDNN.
TEST(PlanFindingsTest, MissingLibrariesAreFatal) {
  const absl::StatusOr<Plan> plan = Plan::Load(SINTER_GOLDEN_PLANS "/v8/masked_gpu.plan");
  SINTER_CHECK(plan.ok()) << plan.status();
  bool is_fatal = false, is_usable = false;
  for (const PlanFinding& finding : FindInCudaPlan(plan->table(), {.device = Device::Gpu(),
                                                                   .name = "NVIDIA H200",
                                                                   .architecture = "sm_90",
                                                                   .compute_major = 9,
                                                                   .compute_minor = 0})) {
    is_fatal = is_fatal || (finding.is_fatal && finding.text.find("cuDNN") != std::string::npos);
  }
  for (const LibraryReport& library : FindCudaLibraries()) {
    if (library.name == "cuDNN") is_usable = library.status.ok();
  }
  EXPECT_EQ(is_fatal, !is_usable);
}

TEST(CudaLibrariesTest, EachHasAVersionAndAFileOrAReason) {
  std::vector<std::string> names;
  for (const LibraryReport& library : FindCudaLibraries()) {
    names.push_back(library.name);
    EXPECT_EQ(library.status.ok(), !library.version.empty()) << library.name;
    EXPECT_EQ(library.status.ok(), library.path.find('/') != std::string::npos) << library.name;
    if (!library.status.ok()) {
      EXPECT_THAT(std::string(library.status.message()), HasSubstr(library.name));
    }
  }
  EXPECT_THAT(names, ElementsAre("cuBLASLt", "cuDNN", "cuBLAS", "cuSOLVER", "cuFFT", "NCCL", "NVRTC"));
}

}  // namespace
}  // namespace sinter
