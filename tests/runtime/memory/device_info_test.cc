#include "sinter/runtime/memory/device_info.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceInfoTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("SINTER_CPU_DEVICES"); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
};

TEST_F(DeviceInfoTest, OneCpuUnlessMoreAreAskedFor) {
  EXPECT_EQ(NumCpuDevices().value(), 1);
  setenv("SINTER_CPU_DEVICES", "", 1);
  EXPECT_EQ(NumCpuDevices().value(), 1);
  setenv("SINTER_CPU_DEVICES", "4", 1);
  EXPECT_EQ(NumCpuDevices().value(), 4);
  EXPECT_TRUE(CheckDevice(Device::Cpu(3)).ok());
  for (const char* text : {"0", "-1", "257", "four", "4 ", "1e1"}) {
    setenv("SINTER_CPU_DEVICES", text, 1);
    EXPECT_EQ(NumCpuDevices().status().message(),
              std::string("SINTER_CPU_DEVICES is \"") + text + "\": write a number of devices, 1 to 256");
    EXPECT_TRUE(absl::IsInvalidArgument(CheckDevice(Device::Cpu())));
  }
}

TEST_F(DeviceInfoTest, SaysHowToGetACpuThatThereIsNot) {
  EXPECT_TRUE(CheckDevice(Device::Cpu()).ok());
  EXPECT_EQ(CheckDevice(Device::Cpu(3)),
            absl::FailedPreconditionError(
                "cpu:3 does not exist: there is cpu:0 alone; set SINTER_CPU_DEVICES=4 to have "
                "as many CPU devices, which share the cores"));
  setenv("SINTER_CPU_DEVICES", "2", 1);
  EXPECT_EQ(CheckDevice(Device::Cpu(300)),
            absl::NotFoundError("cpu:300 does not exist: there is cpu:0 to cpu:1, and never more than 256"));
  EXPECT_TRUE(absl::IsNotFound(CheckDevice(Device::Cpu(-1))));
}

TEST_F(DeviceInfoTest, GpusAreThereOrTheReasonIs) {
  EXPECT_GE(NumGpus(), 0);
  const absl::Status status = CheckDevice(Device::Gpu(NumGpus()));
  if (FindBackend(DeviceKind::kGpu).ok()) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("gpu:" + std::to_string(NumGpus()) + " does not exist: "));
  } else {
    EXPECT_EQ(NumGpus(), 0);
    EXPECT_EQ(status,
              absl::FailedPreconditionError(
                  "gpu:0: this build of Sinter has no CUDA; build it with -D SINTER_CUDA=ON, which says "
                  "what of CUDA's toolkit is missing, and scripts/bootstrap.sh --cuda fetches it"));
  }
  EXPECT_EQ(QueryDevice(Device::Gpu(NumGpus())).status(), status);
  EXPECT_EQ(ProcessAllocator(Device::Gpu(NumGpus())).status(), status);
}

TEST_F(DeviceInfoTest, TryFallsBackToTheCpu) {
  EXPECT_EQ(TryGpu(NumGpus()), Device::Cpu());
  EXPECT_EQ(TryGpu(-1), Device::Cpu());
  if (NumGpus() == 0) {
    EXPECT_THAT(TryAllGpus(), ElementsAre(Device::Cpu()));
  } else {
    EXPECT_EQ(TryGpu(), Device::Gpu(0));
    EXPECT_EQ(TryAllGpus().size(), static_cast<size_t>(NumGpus()));
    EXPECT_EQ(TryAllGpus().back(), Device::Gpu(NumGpus() - 1));
  }
}

TEST_F(DeviceInfoTest, QueriesTheCpu) {
  const HostTensor held = HostTensor::Zeros(DType::kF32, {1000}).value();
  HostTensor freed = HostTensor::Zeros(DType::kF32, {2000}).value();
  freed = HostTensor();
  const DeviceInfo info = QueryDevice(Device::Cpu()).value();
  EXPECT_EQ(info.device, Device::Cpu());
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.architecture.empty());
  EXPECT_GT(info.free_bytes, 0);
  EXPECT_GE(info.total_bytes, info.free_bytes);
  EXPECT_EQ(info.used_bytes, ProcessAllocator().value()->UsedBytes());
  EXPECT_GE(info.used_bytes, 4096);
  EXPECT_EQ(info.cached_bytes, ProcessAllocator().value()->FreeBytes());
  EXPECT_GE(info.cached_bytes, 8192 - 4096);
}

TEST_F(DeviceInfoTest, ADeviceThatNobodyUsesHoldsNothing) {
  setenv("SINTER_CPU_DEVICES", "8", 1);
  EXPECT_EQ(FindProcessAllocator(Device::Cpu(7)), nullptr);
  EXPECT_EQ(QueryDevice(Device::Cpu(7)).value().used_bytes, 0);
  EXPECT_EQ(FindProcessAllocator(Device::Cpu(7)), nullptr);
  CachingAllocator* const made = ProcessAllocator(Device::Cpu(7)).value();
  EXPECT_EQ(FindProcessAllocator(Device::Cpu(7)), made);
}

}  // namespace
}  // namespace sinter
