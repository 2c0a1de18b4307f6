// Sessions on the GPUs of this machine, with the expectations of session_devices_test.cc.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/cuda_runtime.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cuda/gpu_session.h"
#include "sinter/tests/runtime/device_plans.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class SessionGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = CudaAvailable(); !status.ok()) GTEST_SKIP() << status.message();
  }

  absl::StatusOr<Session> MakeSession(TestPlan plan, const SessionOptions& options = {}) {
    return MakeGpuSession(std::move(plan), options, &runtimes_);
  }
  DeviceRuntime::Traffic TrafficOf(Device device) { return runtimes_[device]->traffic(); }

 private:
  std::map<Device, DeviceRuntime*> runtimes_;
};

TEST_F(SessionGpuTest, OneGpuAndTheCpu) {
  for (const bool poison : {false, true}) {
    for (const auto& [first, second] :
         {std::pair{Device::Cpu(), Device::Gpu(0)}, std::pair{Device::Gpu(0), Device::Cpu()}}) {
      absl::StatusOr<Session> session = MakeSession(TwoDevicesPlan(first, second), {.poison = poison});
      ASSERT_TRUE(session.ok()) << session.status();
      ExpectTwoDevices(*session, 20);
    }
  }
}

TEST_F(SessionGpuTest, OutputsAreDownloadedWhenAskedFor) {
  constexpr int64_t kSize = 1 << 20;
  absl::StatusOr<Session> session = MakeSession(ScalePlan(Device::Gpu(0), kSize));
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor x = Filled(kSize, 2);
  const int64_t before = TrafficOf(Device::Gpu(0)).uploaded;
  for (int run = 1; run <= 10; ++run) {
    absl::StatusOr<Outputs> out = session->Run("f", {{"x", x}, {"s", run}, {"t", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(TrafficOf(Device::Gpu(0)).downloaded, (run - 1) * 4 * kSize);
    ASSERT_THAT(*(*out)["z"].Span<float>(), Each(2.0f * static_cast<float>(run) + 0.5f));
  }
  // input_copies counts each input twice: the place where it is read, and its staging buffer.
  const int64_t small = session->memory(Device::Gpu(0)).input_copies / 2 - 4 * kSize;
  EXPECT_EQ(TrafficOf(Device::Gpu(0)).uploaded - before, 10 * (4 * kSize + small));
  Profile profile;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session->Run("f", {{"x", x}, {"s", 1}, {"t", x}}, &profile).ok());
  }
  EXPECT_EQ(profile.runs, 3);
  // The step moves 12 MB. In 1 us that would be 10 TB/s or more, which no GPU reaches.
  EXPECT_GT(profile.steps[1].seconds_min, 1e-6);
  EXPECT_LT(profile.seconds_per_event, 1e-5);
  EXPECT_GE(profile.steps[1].begin_seconds, profile.steps[0].begin_seconds + profile.steps[0].seconds_min);
}

// On a busy GPU, the work that prepares a session's memory may be late. Inputs use another stream and must
// survive.
TEST_F(SessionGpuTest, FirstInputsStayWhateverElseTheGpuDoes) {
  constexpr size_t kBytes = size_t{1} << 30;
  absl::StatusOr<std::unique_ptr<DeviceRuntime>> other = MakeCudaRuntime(Device::Gpu(0));
  ASSERT_TRUE(other.ok()) << other.status();
  absl::StatusOr<Allocation> memory = (*other)->allocator().Allocate(kBytes, "busy");
  ASSERT_TRUE(memory.ok()) << memory.status();
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE((*other)->Fill(memory->ptr(), 1, kBytes).ok());
    absl::StatusOr<Session> session = MakeSession(ScalePlan(Device::Gpu(0), 64));
    ASSERT_TRUE(session.ok()) << session.status();
    const HostTensor x = Filled(64, 2);
    absl::StatusOr<Outputs> out = session->Run("f", {{"x", x}, {"s", 1}, {"t", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    ASSERT_THAT(*(*out)["z"].Span<float>(), Each(2.5f)) << "round " << round;
    ASSERT_TRUE((*other)->Synchronize().ok());
  }
}

TEST_F(SessionGpuTest, VariablesHaveTheBitsOfTheCpu) {
  const auto make = [](Device device) {
    TestPlan plan;
    plan.UseDevices({device});
    plan.AddVariable("w", DType::kF32, {640, 320});
    fb::InitializerT& init = *plan.table.variables[0]->initializer;
    init.kind = fb::InitializerKind::Normal, init.b = 0.02, init.seed = 7;
    return plan;
  };
  absl::StatusOr<Session> gpu = MakeSession(make(Device::Gpu(0))), cpu = MakeSession(make(Device::Cpu()));
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  const auto bytes = [](const Session& s) {
    const HostTensor value = *s.ReadVariable("w");
    return std::string(static_cast<const char*>(value.data()), static_cast<size_t>(value.num_bytes()));
  };
  const std::string first = bytes(*cpu);
  EXPECT_EQ(bytes(*gpu), first);
  const ScratchFolder folder;
  ASSERT_TRUE(SaveCheckpoint(*gpu, folder.File("w")).ok());
  ASSERT_TRUE(gpu->WriteVariable("w", *HostTensor::Zeros(DType::kF32, {640, 320})).ok());
  EXPECT_NE(bytes(*gpu), first);
  ASSERT_TRUE(LoadCheckpoint(*gpu, folder.File("w")).ok());
  EXPECT_EQ(bytes(*gpu), first);
}

TEST_F(SessionGpuTest, RunsTakeNoMemoryOfTheDriver) {
  constexpr int64_t kSize = 1 << 16;
  absl::StatusOr<Session> session = MakeSession(ScalePlan(Device::Gpu(0), kSize));
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor x = Filled(kSize, 2);
  CudaDriverCalls before;
  for (int run = 0; run < 8; ++run) {
    if (run == 2) before = CountCudaDriverCalls();
    absl::StatusOr<Outputs> out = session->Run("f", {{"x", x}, {"s", 3}, {"t", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(out->Get("y").ok());
  }
  EXPECT_EQ(CountCudaDriverCalls().allocations, before.allocations);
  EXPECT_EQ(CountCudaDriverCalls().frees, before.frees);
}

TEST_F(SessionGpuTest, MemoryIsCheckedBeforeAnyIsTaken) {
  TestPlan plan = ScalePlan(Device::Gpu(0), 1 << 20);
  absl::Status status = MakeSession(plan, {.memory_limit = MemoryLimit{.bytes = 1 << 20}}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("bytes of memory on gpu:0, and its limit is 1048576"),
                    HasSubstr("on cpu:0, and its limit is 1048576")));
  plan.table.functions[0]->arena_bytes = uint64_t{1} << 44;
  status = MakeSession(plan).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("on gpu:0, and "), HasSubstr(" are free of "),
                                                   HasSubstr("17592186044416 bytes: arena")));
}

TEST_F(SessionGpuTest, GpusAreDescribed) {
  absl::StatusOr<Session> session = MakeSession(ScalePlan(Device::Gpu(0), 1 << 20));
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::StatusOr<DeviceInfo> info = QueryDevice(Device::Gpu(0));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(info->name, HasSubstr("NVIDIA"));
  EXPECT_EQ(info->architecture,
            "sm_" + std::to_string(info->compute_major) + std::to_string(info->compute_minor));
  EXPECT_GT(info->free_bytes, 0);
  EXPECT_GT(info->total_bytes, info->free_bytes);
  EXPECT_EQ(info->used_bytes, (*ProcessAllocator(Device::Gpu(0)))->UsedBytes());
  EXPECT_GE(info->used_bytes, session->memory(Device::Gpu(0)).used);
  EXPECT_EQ(TryGpu(), Device::Gpu(0));
}

class SessionGpusTest : public SessionGpuTest {
 protected:
  void SetUp() override {
    SessionGpuTest::SetUp();
    if (!IsSkipped() && NumGpus() < 2) GTEST_SKIP() << "there is one GPU";
  }
};

TEST_F(SessionGpusTest, TwoGpus) {
  for (const bool poison : {false, true}) {
    absl::StatusOr<Session> session =
        MakeSession(TwoDevicesPlan(Device::Gpu(1), Device::Gpu(0)), {.poison = poison});
    ASSERT_TRUE(session.ok()) << session.status();
    ExpectTwoDevices(*session, 20);
  }
}

// Large enough that a missing wait would show.
TEST_F(SessionGpusTest, NobodyOverwritesWhatIsStillRead) {
  constexpr int64_t kSize = 1 << 18;
  absl::StatusOr<Session> session = MakeSession(OverwritingPlan(Device::Gpu(0), Device::Gpu(1), kSize));
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectOverwriting(*session, kSize, 60, /*first_first=*/true);
  ASSERT_TRUE(session->ResetVariables().ok());
  ExpectOverwriting(*session, kSize, 60, /*first_first=*/false);
}

// Each GPU adds the value of the previous GPU to its variable: around all GPUs and back to the first.
TEST_F(SessionGpusTest, ARingOfAll) {
  constexpr int64_t kSize = 1 << 18;
  const uint32_t count = static_cast<uint32_t>(NumGpus());
  TestPlan plan;
  plan.UseDevices(TryAllGpus());
  for (uint32_t d = 0; d < count; ++d) plan.AddVariable("v" + std::to_string(d), DType::kF32, {kSize}, 1, d);
  TestFunction f(plan, "f");
  uint32_t at = f.Input("x", DType::kF32, {kSize});
  for (uint32_t d = 0; d < count; ++d) {
    const uint32_t variable = f.Variable(d);
    AddSum(f, plan, at, variable, variable);
    at = f.Arena(DType::kF32, {kSize}, (d + 1) % count);
    f.Copy(variable, at);
  }
  f.Output("y", at);
  absl::StatusOr<Session> session = MakeSession(plan);
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor x = Filled(kSize, 1);
  std::vector<float> expected(count, 1);
  for (int run = 0; run < 6; ++run) {
    float sum = 1;
    for (float& variable : expected) sum = variable += sum;
    absl::StatusOr<Outputs> out = session->Run("f", {{"x", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    if (run % 2 == 0) continue;
    ASSERT_THAT(*(*out)["y"].Span<float>(), Each(sum)) << run;
  }
}

}  // namespace
}  // namespace sinter
