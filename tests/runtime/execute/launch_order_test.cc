#include "sinter/runtime/execute/launch_order.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

// Returns the launches as text, e.g. "gpu:0 [0 1], gpu:1 after gpu:0 <2>, last: gpu:0 after gpu:1". [] lists
// the steps; <> is a copy from another device.
std::string OrderOf(const TestPlan& test_plan) {
  const absl::StatusOr<Plan> plan = test_plan.Make();
  if (!plan.ok()) return std::string(plan.status().message());
  const std::vector<Device> devices = plan->Devices();
  std::vector<bool> is_host;
  for (const Device device : devices) is_host.push_back(device.is_cpu());
  const LaunchOrder order = MakeLaunchOrder(plan->table(), *plan->table().functions()->Get(0), is_host);
  std::vector<std::string> parts;
  for (const Launch& launch : order.launches) {
    std::string text = devices[launch.device].ToString();
    for (const uint32_t other : launch.others) absl::StrAppend(&text, " after ", devices[other].ToString());
    absl::StrAppend(&text, launch.is_between ? " <" : " [", absl::StrJoin(launch.steps, " "),
                    launch.is_between ? ">" : "]");
    parts.push_back(text);
  }
  for (const Wait& wait : order.last) {
    parts.push_back(
        absl::StrCat("last: ", devices[wait.waiter].ToString(), " after ", devices[wait.other].ToString()));
  }
  return absl::StrJoin(parts, ", ");
}

// Builds a function. Compute adds a step that reads a buffer of its device and writes to a new one; Move adds
// a copy to another device.
class Steps {
 public:
  explicit Steps(const std::vector<Device>& devices) {
    plan.UseDevices(devices);
    plan.AddVariable("v", DType::kF32, {4}, 0, 0);
    function.emplace(plan, "f");
  }

  uint32_t New(uint32_t device) { return function->Arena(DType::kF32, {4}, device); }
  void Compute(uint32_t from, uint32_t to) {
    const uint32_t device = function->table().buffers[to]->device;
    if (plan.table.devices[device]->kind == fb::DeviceKind::Gpu) {
      function->GpuKernel("k", {from}, {to}, 1);
    } else {
      function->Kernel("k", {from}, {to}, 4);
    }
  }
  uint32_t Compute(uint32_t from) {
    const uint32_t to = New(function->table().buffers[from]->device);
    Compute(from, to);
    return to;
  }
  uint32_t Move(uint32_t from, uint32_t device) {
    const uint32_t to = New(device);
    function->Copy(from, to);
    return to;
  }

  // Adds an in-place collective over the devices of these buffers.
  void Exchange(const std::vector<uint32_t>& buffers) {
    fb::CollectiveStepT step;
    step.dtype = fb::DType::F32;
    step.channel = channels_++;
    step.elements = {4};
    for (const uint32_t buffer : buffers) step.group.push_back(function->table().buffers[buffer]->device);
    for (step.rank = 0; step.rank < buffers.size(); ++step.rank) {
      function->CollectiveLayout(step, {buffers[step.rank]}, {buffers[step.rank]});
    }
  }

  TestPlan plan;
  std::optional<TestFunction> function;

 private:
  uint32_t channels_ = 0;
};

constexpr Device kCpu0 = Device::Cpu(0), kCpu1 = Device::Cpu(1), kGpu0 = Device::Gpu(0),
                 kGpu1 = Device::Gpu(1), kGpu2 = Device::Gpu(2);

TEST(LaunchOrderTest, OneDeviceIsOneLaunch) {
  for (const Device device : {kCpu0, kGpu0}) {
    Steps s({device});
    s.Compute(s.Compute(s.Compute(s.New(0))));
    EXPECT_EQ(OrderOf(s.plan), device.ToString() + " [0 1 2]");
  }
}

TEST(LaunchOrderTest, NoStepsNoLaunch) { EXPECT_EQ(OrderOf(Steps({kGpu0, kGpu1}).plan), ""); }

TEST(LaunchOrderTest, IndependentGpusHaveALaunchEach) {
  Steps s({kGpu0, kGpu1});
  uint32_t a = s.New(0), b = s.New(1);
  for (int i = 0; i < 3; ++i) {
    a = s.Compute(a);
    b = s.Compute(b);
  }
  EXPECT_EQ(OrderOf(s.plan), "gpu:0 [0 2 4], gpu:1 [1 3 5]");
}

TEST(LaunchOrderTest, CpusStayWhereThePlanHasThem) {
  Steps s({kCpu0, kGpu0});
  uint32_t a = s.New(0), b = s.New(1);
  for (int i = 0; i < 2; ++i) {
    a = s.Compute(a);
    b = s.Compute(b);
  }
  EXPECT_EQ(OrderOf(s.plan), "cpu:0 [0], gpu:0 [1 3], cpu:0 [2]");
}

TEST(LaunchOrderTest, CpusNeverWait) {
  Steps s({kCpu0, kCpu1});
  const uint32_t a = s.Compute(s.New(0));
  const uint32_t b = s.Compute(s.Move(a, 1));
  s.Compute(b, b);
  s.Compute(a, a);
  EXPECT_EQ(OrderOf(s.plan), "cpu:0 [0], cpu:1 <1>, cpu:1 [2 3], cpu:0 [4]");
}

TEST(LaunchOrderTest, ACopyWaitsForWhatItReads) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.Compute(s.New(0));
  s.Compute(s.Move(a, 1));
  s.Compute(a);  // Reads only, but follows the copy's wait: a separate launch.
  EXPECT_EQ(OrderOf(s.plan),
            "gpu:0 [0], gpu:1 after gpu:0 <1>, gpu:1 [2], gpu:0 [3], last: gpu:0 after gpu:1");
}

TEST(LaunchOrderTest, AWriterWaitsForTheCopyThatReads) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.Compute(s.New(0));
  s.Move(a, 1);
  s.Compute(a);
  s.Compute(a, a);
  EXPECT_EQ(OrderOf(s.plan), "gpu:0 [0], gpu:1 after gpu:0 <1>, gpu:0 [2], gpu:0 after gpu:1 [3]");
}

TEST(LaunchOrderTest, AWorkspaceIsWrittenToo) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.New(0);
  s.Move(a, 1);
  s.Compute(s.New(0));
  fb::StepT& step = *s.plan.table.functions[0]->steps.back();
  step.workspace_bytes = 16;  // At offset 0, as `a`.
  EXPECT_EQ(OrderOf(s.plan), "gpu:1 after gpu:0 <0>, gpu:0 after gpu:1 [1]");
}

TEST(LaunchOrderTest, OneWaitIsEnoughForSeveralCopies) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.Compute(s.New(0)), b = s.Compute(s.New(0));
  s.Move(a, 1);
  s.Move(b, 1);
  const uint32_t c = s.Compute(s.New(0));
  s.Move(b, 1);  // Not written since.
  s.Move(c, 1);
  EXPECT_EQ(OrderOf(s.plan),
            "gpu:0 [0 1], gpu:1 after gpu:0 <2>, gpu:1 <3>, gpu:0 [4], gpu:1 <5>, gpu:1 after gpu:0 <6>, "
            "last: gpu:0 after gpu:1");
}

TEST(LaunchOrderTest, WaitsGoOnToTheThird) {
  Steps s({kGpu0, kGpu1, kGpu2});
  const uint32_t a = s.Compute(s.New(0));
  const uint32_t b = s.Move(a, 1);
  s.Move(b, 2);  // After gpu:1, and so after gpu:0.
  s.Move(a, 2);
  EXPECT_EQ(OrderOf(s.plan),
            "gpu:0 [0], gpu:1 after gpu:0 <1>, gpu:2 after gpu:1 <2>, gpu:2 <3>, last: gpu:0 after gpu:1, "
            "last: gpu:1 after gpu:2, last: gpu:0 after gpu:2");
}

TEST(LaunchOrderTest, VariablesCountWhateverTheFunctionWroteBefore) {
  Steps s({kGpu0, kGpu1});
  const uint32_t v = s.function->Variable(0);
  s.Move(v, 1);
  s.Compute(v, v);
  EXPECT_EQ(OrderOf(s.plan), "gpu:1 after gpu:0 <0>, gpu:0 after gpu:1 [1]");
}

TEST(LaunchOrderTest, CopiesFromAndToACpuEndLaunchesAndWaitForNobody) {
  Steps s({kCpu0, kGpu0});
  const uint32_t a = s.Compute(s.New(1));
  const uint32_t b = s.Compute(s.Move(a, 0));
  const uint32_t c = s.Move(b, 1);
  s.Compute(a, a);
  s.Compute(b, b);
  s.Compute(c, c);
  EXPECT_EQ(OrderOf(s.plan), "gpu:0 [0], cpu:0 <1>, cpu:0 [2], gpu:0 <3>, gpu:0 [4 6], cpu:0 [5]");
}

TEST(LaunchOrderTest, CollectivesOfGpusAreStepsOfTheirLaunches) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.Compute(s.New(0)), b = s.Compute(s.New(1));
  s.Exchange({a, b});
  s.Compute(a);
  s.Compute(b);
  s.Exchange({a, b});
  EXPECT_EQ(OrderOf(s.plan), "gpu:0 [0 2 4 6], gpu:1 [1 3 5 7]");
}

TEST(LaunchOrderTest, CollectivesOfCpusAreOneLaunch) {
  Steps s({kCpu0, kCpu1});
  const uint32_t a = s.Compute(s.New(0)), b = s.Compute(s.New(1));
  s.Exchange({a, b});
  s.Compute(a);
  EXPECT_EQ(OrderOf(s.plan), "cpu:0 [0], cpu:1 [1], cpu:0 [2 3], cpu:0 [4]");
}

// gpu:0 overwrites the source of gpu:1's copy, so it waits before either member is launched. A later wait
// would hang: gpu:1's copy would come after its member, which waits for gpu:0's member.
TEST(LaunchOrderTest, MembersWaitForOthersBeforeAnyIsLaunched) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.Compute(s.New(0)), b = s.Compute(s.New(1));
  s.Move(a, 1);
  s.Exchange({b, a});
  EXPECT_EQ(OrderOf(s.plan),
            "gpu:0 [0], gpu:1 [1], gpu:1 after gpu:0 <2>, gpu:0 after gpu:1 [], gpu:1 [3], gpu:0 [4]");
}

TEST(LaunchOrderTest, BuffersOfNoBytesAreNowhere) {
  Steps s({kGpu0, kGpu1});
  const uint32_t a = s.function->Arena(DType::kF32, {0}, 0);
  s.function->Copy(a, s.function->Arena(DType::kF32, {0}, 1));
  s.Compute(a, a);
  EXPECT_EQ(OrderOf(s.plan), "gpu:1 after gpu:0 <0>, gpu:0 [1], last: gpu:0 after gpu:1");
}

std::string PartsAround(Launch launch, const std::vector<uint32_t>& not_captured) {
  std::string text;
  for (const Launch& part : PartsOf(std::move(launch), [&](uint32_t step) {
         return std::ranges::find(not_captured, step) == not_captured.end();
       })) {
    text += text.empty() ? "" : " |";
    for (const uint32_t step : part.steps) text += " " + std::to_string(step);
    if (!part.others.empty()) text += " after " + std::to_string(part.others[0]);
    EXPECT_EQ(part.device, 2u);
  }
  return text;
}

TEST(LaunchOrderTest, StepsThatCannotBeCapturedArePartsOfTheirOwn) {
  const Launch launch = {.device = 2, .steps = {3, 4, 5, 8}, .others = {1}};
  EXPECT_EQ(PartsAround(launch, {}), " 3 4 5 8 after 1");
  EXPECT_EQ(PartsAround(launch, {5}), " 3 4 after 1 | 5 | 8");
  EXPECT_EQ(PartsAround(launch, {3, 4}), " 3 4 after 1 | 5 8");
  EXPECT_EQ(PartsAround(launch, {3, 8}), " 3 after 1 | 4 5 | 8");
  EXPECT_EQ(PartsAround({.device = 2, .others = {1}}, {3}), " after 1");
  // A collective of CPUs.
  EXPECT_EQ(PartsAround({.device = 2, .steps = {3, 4}, .is_collective = true}, {4}), " 3 4");
}

}  // namespace
}  // namespace sinter
