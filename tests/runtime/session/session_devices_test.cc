// Sessions over several CPU devices and over the fake GPUs of fake_gpu.h.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kValues = kTwoDevicesSize;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

class SessionDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "2", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
};

TEST_F(SessionDevicesTest, TwoCpusRunOnePlan) {
  for (const bool poison : {false, true}) {
    absl::StatusOr<Session> session =
        TwoDevicesPlan(Device::Cpu(0), Device::Cpu(1)).MakeSession({.threads = 2, .poison = poison});
    ASSERT_TRUE(session.ok()) << session.status();
    ExpectTwoDevices(*session, 3);
  }
}

TEST_F(SessionDevicesTest, EachCpuHasItsAllocatorAndStatistics) {
  auto first = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(0)));
  auto second = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(1)));
  const TestPlan plan = TwoDevicesPlan(Device::Cpu(0), Device::Cpu(1));
  {
    Session session =
        *plan.MakeSession({.threads = 2, .allocator = first.get(), .allocators = {second.get()}});
    const SessionMemory here = session.memory(Device::Cpu(0)), there = session.memory(Device::Cpu(1));
    EXPECT_EQ(here.variables, 400);
    EXPECT_EQ(here.arena, 448 + 400);
    EXPECT_EQ(here.input_staging, 448);
    EXPECT_EQ(here.output_copies, 448);
    EXPECT_EQ(there.variables, 400);
    EXPECT_EQ(there.arena, 448 + 400);
    EXPECT_EQ(there.input_staging + there.output_copies + there.input_copies, 0);
    EXPECT_EQ(here.used, here.predicted);
    EXPECT_EQ(there.used, there.predicted);
    EXPECT_EQ(first->UsedBytes(), here.used);
    EXPECT_EQ(second->UsedBytes(), there.used);
    EXPECT_EQ(session.memory().used, here.used + there.used);
    EXPECT_EQ(session.memory(Device::Cpu(7)).predicted, 0);
    EXPECT_EQ(session.allocator(Device::Cpu(1)), second.get());
    EXPECT_EQ(session.allocator(Device::Gpu(0)), nullptr);
    EXPECT_EQ(&session.allocator(), first.get());
    ExpectTwoDevices(session, 2);
  }
  EXPECT_EQ(second->UsedBytes(), 0);
  Session session = *plan.MakeSession();
  EXPECT_EQ(session.allocator(Device::Cpu(1)), *ProcessAllocator(Device::Cpu(1)));
}

// Devices of two back ends exchange values through main memory. Each fake GPU checks that it is given no
// device of another back end, and runs work only when something waits for it, so that a missing wait reads
// old values.
TEST_F(SessionDevicesTest, TwoBackEndsRunOnePlan) {
  const Device gpu = Device::Gpu(0), second = Device::Of(SecondKind(), 0);
  for (const auto& [a, b] : {std::pair{gpu, second}, std::pair{second, gpu}}) {
    FakeGpus gpus;
    absl::StatusOr<Session> session = gpus.MakeSession(TwoDevicesPlan(a, b));
    ASSERT_TRUE(session.ok()) << session.status();
    ExpectTwoDevices(*session, 4);
    EXPECT_EQ(session->memory(Device::Cpu()).exchange_staging, kValues * 4);
    EXPECT_EQ(session->memory().used, session->memory().predicted);
    EXPECT_EQ(gpus[a].traffic().copied + gpus[b].traffic().copied, 0);
    session = gpus.MakeSession(OverwritingPlan(a, b, kValues));
    ASSERT_TRUE(session.ok()) << session.status();
    ExpectOverwriting(*session, kValues, 12, /*first_first=*/true);
    Profile profile;
    ASSERT_TRUE(session->Run("f", {{"x", Filled(kValues, 1)}}, &profile).ok());
    EXPECT_EQ(profile.steps.size(), 6u);
  }
}

// The staging is smaller than such a copy.
TEST_F(SessionDevicesTest, LargeCopiesBetweenBackEndsGoInPieces) {
  constexpr int64_t kLarge = (int64_t{8} << 20) / 4 + 100;
  FakeGpus gpus;
  absl::StatusOr<Session> session =
      gpus.MakeSession(OverwritingPlan(Device::Gpu(0), Device::Of(SecondKind(), 0), kLarge));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->memory(Device::Cpu()).exchange_staging, int64_t{8} << 20);
  absl::StatusOr<Outputs> out = session->Run("f", {{"x", Filled(kLarge, 1)}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(gpus[0].counts().downloads, 2 * 2);
  const std::span<const float> sum = *(*out)["sum"].Span<float>();
  EXPECT_EQ(std::ranges::count(sum, 6.0f), kLarge);
}

TEST_F(SessionDevicesTest, ARegisteredBackEndServesSessions) {
  static const absl::Status registered = RegisterBackend(FakeBackendOf(SecondKind()));
  ASSERT_TRUE(registered.ok()) << registered;
  ASSERT_EQ(*FindBackend(SecondKind()), &FakeBackendOf(SecondKind()));
  const Device second = *Device::Parse("second:1");
  EXPECT_EQ(QueryDevice(second)->name, "a fake device");
  absl::StatusOr<Session> session = TwoDevicesPlan(Device::Cpu(0), second).MakeSession();
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectTwoDevices(*session, 3);
  EXPECT_EQ(session->allocator(second), *ProcessAllocator(second));
  const absl::Status missing =
      TwoDevicesPlan(Device::Cpu(0), Device::Of(SecondKind(), 7)).MakeSession().status();
  EXPECT_EQ(missing, absl::NotFoundError("cannot run the plan: second:7 does not exist: there are 2"));
}

TEST_F(SessionDevicesTest, WrongAllocators) {
  auto first = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(0)));
  auto third = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(2)));
  const TestPlan plan = TwoDevicesPlan(Device::Cpu(0), Device::Cpu(1));
  const auto message = [&](const SessionOptions& options) {
    const absl::Status status = plan.MakeSession(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return MessageOf(status);
  };
  EXPECT_EQ(message({.allocators = {third.get()}}),
            "an allocator of cpu:2 is given, and the plan runs on cpu:0, cpu:1");
  EXPECT_EQ(message({.allocator = first.get(), .allocators = {first.get()}}),
            "two allocators of cpu:0 are given: give one");
  EXPECT_EQ(message({.allocators = {nullptr}}), "SessionOptions::allocators holds a null");
}

TEST_F(SessionDevicesTest, DevicesThatThereAreNot) {
  unsetenv("SINTER_CPU_DEVICES");
  absl::Status status = TwoDevicesPlan(Device::Cpu(0), Device::Cpu(3)).MakeSession().status();
  EXPECT_EQ(status,
            absl::FailedPreconditionError(
                "cannot run the plan: cpu:3 does not exist: there is cpu:0 alone; set SINTER_CPU_DEVICES=4 "
                "to have as many CPU devices, which share the cores"));
  // The message says how many devices the whole plan needs.
  status = TwoDevicesPlan(Device::Cpu(1), Device::Cpu(5)).MakeSession().status();
  EXPECT_THAT(MessageOf(status),
              HasSubstr("cpu:5 does not exist: there is cpu:0 alone; set SINTER_CPU_DEVICES=6 "));
  status = TwoDevicesPlan(Device::Gpu(99), Device::Cpu(0)).MakeSession().status();
  EXPECT_THAT(MessageOf(status), HasSubstr("cannot run the plan: gpu:99"));
  EXPECT_TRUE(absl::IsNotFound(status) || absl::IsFailedPrecondition(status));
}

TEST_F(SessionDevicesTest, PoisonReachesEveryArena) {
  for (const Device device : {Device::Cpu(1), Device::Gpu(0)}) {
    TestPlan plan;
    plan.UseDevices({Device::Cpu(0), device});
    TestFunction f(plan, "f");
    f.Output("here", f.Arena(DType::kF32, {8}));
    f.Output("there", f.Arena(DType::kF32, {8}, 1));
    FakeGpus gpus;
    Session session = *gpus.MakeSession(plan, {.poison = true});
    absl::StatusOr<Outputs> out = session.Run("f", {});
    for (const char* name : {"here", "there"}) {
      const std::span<const float> values = *(*out)[name].Span<float>();
      for (const float value : values) EXPECT_TRUE(std::isnan(value)) << name;
    }
  }
}

TEST_F(SessionDevicesTest, MemoryIsCheckedOnAllDevicesBeforeAnyIsTaken) {
  auto first = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(0)));
  auto second = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(1)),
                                          {.limit = MemoryLimit{.bytes = 1024}});
  const TestPlan plan = TwoDevicesPlan(Device::Cpu(0), Device::Cpu(1));
  const absl::Status status = plan.MakeSession({.allocators = {first.get(), second.get()}}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(MessageOf(status),
            "the session needs 1536 bytes of memory on cpu:1, and its allocator has 1024 left of its limit "
            "of 1024: "
            "raise that (SetLimit or SINTER_CPU_MEMORY_LIMIT), or compile for smaller batches; it needs:\n"
            "  1024 bytes: arena\n  512 bytes: variable b\non cpu:0 it needs 2560 bytes and has them");
  EXPECT_EQ(first->Stats().raw_allocations, 0);
  const absl::Status limited = plan.MakeSession({.memory_limit = MemoryLimit{.bytes = 1536}}).status();
  EXPECT_THAT(MessageOf(limited),
              AllOf(HasSubstr("needs 2560 bytes of memory on cpu:0, and its limit is 1536: raise "
                              "SessionOptions::memory_limit"),
                    HasSubstr("\non cpu:1 it needs 1536 bytes and has them")));
}

// Main memory has room for either device's arena, but not for both.
TEST_F(SessionDevicesTest, CpusShareTheMainMemory) {
  const int64_t most = HostMemory().FreeBytes() / 4 * 3 / 4096 * 4096;
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
  TestFunction f(plan, "f");
  f.Output("here", f.Arena(DType::kU8, {most}));
  f.Output("there", f.Arena(DType::kU8, {most}, 1));
  const absl::Status status = plan.MakeSession().status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(MessageOf(status),
              AllOf(HasSubstr("on cpu:0, and all CPU devices together need " + std::to_string(2 * most) +
                              " of the main memory, where "),
                    HasSubstr(" are free of "), HasSubstr(": make room, or compile for smaller batches")));
}

TEST_F(SessionDevicesTest, GpusRunAsWell) {
  for (const auto& [first, second] :
       {std::pair{Device::Gpu(0), Device::Gpu(1)}, std::pair{Device::Cpu(0), Device::Gpu(0)},
        std::pair{Device::Gpu(0), Device::Cpu(0)}, std::pair{Device::Gpu(1), Device::Cpu(1)}}) {
    for (const bool poison : {false, true}) {
      FakeGpus gpus;
      absl::StatusOr<Session> session = gpus.MakeSession(TwoDevicesPlan(first, second), {.poison = poison});
      ASSERT_TRUE(session.ok()) << session.status();
      ExpectTwoDevices(*session, 5);
    }
  }
}

// Destroys a session with pending work. A device's pending work still needs its own memory and that of other
// devices.
TEST_F(SessionDevicesTest, EndsWithWorkUnderWay) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(TwoDevicesPlan(Device::Gpu(0), Device::Gpu(1)));
  const HostTensor x = Filled(kValues, 2);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(session->Run("f", {{"x", x}}).ok());
  session = absl::CancelledError();
  EXPECT_EQ(gpus.allocator(0).UsedBytes() + gpus.allocator(1).UsedBytes(), 0);
}

TEST_F(SessionDevicesTest, NobodyOverwritesWhatIsStillRead) {
  const TestPlan plan = OverwritingPlan(Device::Gpu(0), Device::Gpu(1), kValues);
  for (const bool first_first : {true, false}) {
    FakeGpus gpus;
    Session session = *gpus.MakeSession(plan);
    ExpectOverwriting(session, kValues, 12, first_first);
  }
}

TEST_F(SessionDevicesTest, OutputsAreDownloadedWhenAskedForAndOnce) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), kValues));
  const HostTensor x = Filled(kValues, 2), t = Filled(kValues, 7);
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}, {"s", 3}, {"t", t}});
  ASSERT_TRUE(out.ok()) << out.status();
  const FakeGpu& gpu = gpus[0];
  EXPECT_EQ(gpu.counts().downloads, 0);
  EXPECT_THAT(*(*out)["t"].Span<float>(), Each(7.0f));  // An input: it was never on the GPU.
  EXPECT_EQ(gpu.counts().downloads, 0);
  EXPECT_THAT(*(*out)["z"].Span<float>(), Each(6.5f));
  EXPECT_EQ(gpu.traffic().downloaded, 400);
  EXPECT_EQ(out->Get("z").value(), &out->tensor(1));
  EXPECT_EQ(gpu.counts().downloads, 1);
  EXPECT_EQ((*out)["y"].Span<float>()->front(), 6.0f);
  EXPECT_EQ(gpu.counts().downloads, 2);
  out = session.Run("f", {{"x", x}, {"s", 4}, {"t", t}});
  EXPECT_EQ(gpu.counts().downloads, 2);
  EXPECT_THAT(*(*out)["z"].Span<float>(), Each(8.5f));
  EXPECT_EQ(gpu.traffic().downloaded, 1200);
}

TEST_F(SessionDevicesTest, OutputsOfEarlierRunsAreGone) {
  TestPlan plan = ScalePlan(Device::Gpu(0), kValues);
  const TestFunction other(plan, "g");
  FakeGpus gpus;
  Session session = *gpus.MakeSession(plan);
  const HostTensor x = Filled(kValues, 2);
  const std::vector<Argument> arguments = {{"x", x}, {"s", 3}, {"t", x}};
  const Outputs out = *session.Run("f", arguments);
  ASSERT_TRUE(session.Run("g", {}).ok());
  EXPECT_EQ(out.Get("z").status().message(),
            "output \"z\" is gone: the session has run since, and it was not read before, which brings it "
            "from gpu:0");
  EXPECT_DEATH(out["z"], "is gone: the session has run since");
}

TEST_F(SessionDevicesTest, SmallInputsGoInOneUploadLargeOnesByThemselves) {
  for (const auto& [size, uploads] : {std::pair{int64_t{100}, 1}, std::pair{int64_t{1} << 14, 2}}) {
    FakeGpus gpus;
    Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), size));
    const int before = gpus[0].counts().uploads;
    EXPECT_EQ(before, 1) << "the variable's initial value";
    const HostTensor x = Filled(size, 2);
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}, {"s", 3}, {"t", x}});
    EXPECT_EQ(gpus[0].counts().uploads - before, uploads);
    EXPECT_EQ(gpus[0].counts().waits, 0);
    EXPECT_THAT(*(*out)["z"].Span<float>(), Each(6.5f));
    const SessionMemory memory = session.memory(Device::Gpu(0)), host = session.memory(Device::Cpu(0));
    // In multiples of 256 bytes: x and the number s. The GPU does not read t.
    EXPECT_EQ(memory.input_copies, (size * 4 + 255) / 256 * 256 + 256);
    EXPECT_EQ(memory.arena, memory.variables + (size * 4 + 63) / 64 * 64);
    EXPECT_EQ(memory.used, gpus.allocator(0).UsedBytes());
    EXPECT_EQ(host.variables + host.arena, 0);
    EXPECT_EQ(host.output_copies, 3 * ((size * 4 + 63) / 64 * 64));
  }
}

TEST_F(SessionDevicesTest, StepsAreCapturedInTheSecondRunAndReplayed) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), kValues));
  const HostTensor x = Filled(kValues, 2);
  for (int run = 1; run <= 4; ++run) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}, {"s", run}, {"t", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["z"].Span<float>(), Each(2.0f * static_cast<float>(run) + 0.5f));
    EXPECT_EQ(gpus[0].counts().captures, run > 1 ? 1 : 0);
    EXPECT_EQ(gpus[0].counts().launches, run - 1);
    EXPECT_EQ(gpus[0].counts().steps, run > 1 ? 4 : 2);
  }
}

TEST_F(SessionDevicesTest, ProfilesHaveACaptureOfTheirOwn) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), kValues));
  const HostTensor x = Filled(kValues, 2);
  const auto run = [&](int number, Profile* profile) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}, {"s", number}, {"t", x}}, profile);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["z"].Span<float>(), Each(2.0f * static_cast<float>(number) + 0.5f));
  };
  for (int number = 1; number <= 3; ++number) run(number, nullptr);
  Profile profile;
  for (int number = 4; number <= 6; ++number) {
    run(number, &profile);
    EXPECT_EQ(gpus[0].counts().captures, 2);
    EXPECT_EQ(gpus[0].counts().launches, number - 1);
    EXPECT_EQ(gpus[0].counts().steps, 6);
  }
  EXPECT_EQ(profile.runs, 3);
  ASSERT_EQ(profile.steps.size(), 2u);
  const double work = FakeGpu::kSecondsOfWork;
  EXPECT_DOUBLE_EQ(profile.seconds_per_event, work);
  for (const StepTimes& step : profile.steps) {
    EXPECT_EQ(step.device, Device::Gpu(0));
    EXPECT_EQ(step.kind, "kernel");
    // The time of the events is subtracted.
    EXPECT_NEAR(step.seconds_min, work, 1e-9);
    EXPECT_NEAR(step.seconds_total, 3 * work, 1e-9);
  }
  // One step and its event.
  EXPECT_NEAR(profile.steps[1].begin_seconds - profile.steps[0].begin_seconds, 2 * work, 1e-9);
  run(7, nullptr);
  EXPECT_EQ(gpus[0].counts().captures, 2);
  EXPECT_EQ(gpus[0].counts().launches, 6);
}

// The first run is not captured, because libraries initialize themselves in it.
TEST_F(SessionDevicesTest, AFirstRunIsProfiledStepByStep) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), kValues));
  const HostTensor x = Filled(kValues, 2);
  Profile profile;
  for (int number = 1; number <= 2; ++number) {
    ASSERT_TRUE(session.Run("f", {{"x", x}, {"s", number}, {"t", x}}, &profile).ok());
    EXPECT_EQ(gpus[0].counts().captures, number - 1);
  }
  EXPECT_EQ(profile.runs, 2);
}

TEST_F(SessionDevicesTest, ProfilesOfSeveralDevices) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(TwoDevicesPlan(Device::Gpu(0), Device::Gpu(1)));
  const HostTensor x = Filled(kValues, 2);
  Profile profile;
  for (int run = 1; run <= 3; ++run) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}}, run == 1 ? nullptr : &profile);
    EXPECT_THAT(*(*out)["t"].Span<float>(), Each(6.0f));
    EXPECT_THAT(*(*out)["b"].Span<float>(), Each(10.0f + 3.0f * static_cast<float>(run)));
  }
  // The session captures from the second run on, and it captures launches of a single step too.
  EXPECT_EQ(gpus[0].counts().captures, gpus[0].counts().launches / 2);
  EXPECT_EQ(profile.steps[1].kind, "copy");
  EXPECT_EQ(profile.steps[1].device, Device::Gpu(1));
  // The time excludes the copy's wait.
  EXPECT_NEAR(profile.steps[1].seconds_min, FakeGpu::kSecondsOfWork, 1e-9);
}

TEST_F(SessionDevicesTest, VariablesOnAGpu) {
  TestPlan plan, host_plan;
  plan.UseDevices({Device::Gpu(0)});
  for (TestPlan* p : {&plan, &host_plan}) {
    p->AddVariable("w", DType::kF32, {64, 32});
    fb::InitializerT& init = *p->table.variables[0]->initializer;
    init.kind = fb::InitializerKind::Normal, init.b = 0.02, init.seed = 7;
    p->AddVariable("empty", DType::kF32, {0});
    // "long" is uploaded in one piece if its values were computed ahead, else in two. "zeros" is never
    // uploaded.
    p->AddVariable("long", DType::kF32, {1 << 20, 2});
    *p->table.variables[2]->initializer = init;
    p->table.variables[2]->initializer->kind = fb::InitializerKind::Uniform;
    p->AddVariable("zeros", DType::kF32, {1 << 20, 2});
    TestFunction f(*p, "f");
    f.Output("w", f.Variable(0));
  }
  FakeGpus gpus;
  Session session = *gpus.MakeSession(plan), host = *host_plan.MakeSession();
  const auto bytes = [](const Session& s, const char* name = "w") {
    const HostTensor value = *s.ReadVariable(name);
    return std::string(static_cast<const char*>(value.data()), static_cast<size_t>(value.num_bytes()));
  };
  EXPECT_EQ(bytes(session), bytes(host));
  EXPECT_EQ(session.ReadVariable("empty")->ToString(), "f32[0]");
  EXPECT_TRUE(session.ViewVariable("w")->is_owning());
  EXPECT_EQ(bytes(session, "long"), bytes(host, "long"));
  EXPECT_EQ(bytes(session, "zeros"), bytes(host, "zeros"));
  EXPECT_EQ(gpus[0].counts().uploads, 2);

  const ScratchFolder folder;
  const std::string path = folder.File("w.safetensors");
  ASSERT_TRUE(SaveCheckpoint(session, path).ok());
  const HostTensor ones = *HostTensor::FromVector<float>({64, 32}, std::vector<float>(64 * 32, 1));
  ASSERT_TRUE(session.WriteVariable("w", ones).ok());
  EXPECT_THAT(*(*session.Run("f", {}))["w"].Span<float>(), Each(1.0f));
  ASSERT_TRUE(LoadCheckpoint(session, path).ok());
  EXPECT_EQ(bytes(session), bytes(host));
  ASSERT_TRUE(session.WriteVariable("w", ones).ok());
  const int before = gpus[0].counts().uploads;
  ASSERT_TRUE(session.ResetVariables().ok());
  EXPECT_EQ(bytes(session), bytes(host));
  EXPECT_EQ(bytes(session, "long"), bytes(host, "long"));
  EXPECT_EQ(gpus[0].counts().uploads - before, 3);
}

TEST_F(SessionDevicesTest, ConstantsAreCopiedToWhereTheyAreRead) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0), Device::Cpu(0), Device::Gpu(1)});
  const std::vector<float> values(kValues, 5);
  plan.AddConstant("pad", 3);
  const uint64_t offset = plan.AddConstant(values.data(), values.size() * sizeof(float));
  TestFunction f(plan, "f");
  for (const uint32_t device : {0u, 1u}) {
    const uint32_t constant = f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {kValues}, device);
    const uint32_t y = f.Arena(DType::kF32, {kValues}, device);
    f.Copy(constant, y);
    f.Output(device == 0 ? "gpu" : "cpu", y);
  }
  FakeGpus gpus;
  Session session = *gpus.MakeSession(plan);
  const Outputs out = *session.Run("f", {});
  EXPECT_THAT(*out["gpu"].Span<float>(), Each(5.0f));
  EXPECT_THAT(*out["cpu"].Span<float>(), Each(5.0f));
  EXPECT_EQ(session.memory(Device::Gpu(0)).constant_copies, 464);
  EXPECT_EQ(session.memory(Device::Gpu(1)).constant_copies, 0);
  EXPECT_EQ(session.memory().constants, 464);
  EXPECT_EQ(gpus[1].counts().uploads, 0);
}

TEST_F(SessionDevicesTest, ADevicesErrorsComeWithTheCallThatWaits) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), kValues));
  const HostTensor x = Filled(kValues, 2);
  gpus[0].Break(absl::InternalError("the bus is gone"));
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}, {"s", 3}, {"t", x}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->Get("z").status(), absl::InternalError("the bus is gone"));
  EXPECT_EQ(session.Synchronize(), absl::InternalError("the bus is gone"));
  EXPECT_EQ(session.ReadVariable("w").status(), absl::InternalError("the bus is gone"));
  Profile profile;
  EXPECT_EQ(session.Run("f", {{"x", x}, {"s", 3}, {"t", x}}, &profile).status(),
            absl::InternalError("the bus is gone"));
}

TEST_F(SessionDevicesTest, CheckpointsReturnADevicesErrors) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), kValues));
  const ScratchFolder folder;
  ASSERT_TRUE(SaveCheckpoint(session, folder.File("w")).ok());
  gpus[0].Break(absl::InternalError("the bus is gone"));
  EXPECT_EQ(SaveCheckpoint(session, folder.File("again")), absl::InternalError("the bus is gone"));
  gpus[0].BreakUploads();
  // The variable still had its initial value.
  EXPECT_EQ(
      LoadCheckpoint(session, folder.File("w")).status(),
      absl::InternalError("the bus is gone; nor have the variables their initial values again (variable "
                          "\"w\": the bus is gone): reset them, or end this session"));
}

TEST_F(SessionDevicesTest, AStepThatADeviceCannotRunIsNamed) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  f.GpuKernel("sub_f32", {}, {f.Arena(DType::kF32, {4})}, 4);
  FakeGpus gpus;
  EXPECT_EQ(gpus.MakeSession(plan).status().message(),
            "function \"f\", step 0 (sub_f32): a fake GPU has no kernel sub_f32");
}

}  // namespace
}  // namespace sinter
