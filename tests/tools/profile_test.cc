// Measurements and output of `sinter profile`, on the CPU and on fake GPUs.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tools/chrome_trace.h"
#include "sinter/tools/function_profile.h"
#include "sinter/tools/profile_text.h"
#include "sinter/tools/roofline.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using tools::FunctionProfile;
using tools::ProfiledStep;

constexpr ContractionType kBf16{DType::kBf16, fb::MathMode::Ieee};

ProfiledStep Step(std::string kind, std::string what, double us, double begin_us, double bound_us) {
  ProfiledStep step;
  step.kind = std::move(kind);
  step.what = std::move(what);
  step.lines = "net.cc:12 Linear(4)";
  step.device = Device::Gpu(0);
  step.seconds = us * 1e-6;
  step.last_seconds = us * 1.1e-6;
  step.begin_seconds = begin_us * 1e-6;
  step.bytes = us * 1e6;
  step.bound = {bound_us * 1e-6, "memory"};
  return step;
}

FunctionProfile Example() {
  FunctionProfile profile;
  profile.plan = "net";
  profile.function = "train";
  profile.repeat = 7;
  profile.run_seconds = 400e-6;
  profile.marked_seconds = 410e-6;
  profile.seconds_per_event = 1.5e-6;
  profile.devices = {Device::Gpu(0)};
  profile.rooflines.push_back({Device::Gpu(0), 4e12, 512 << 20, {{kBf16, {7e14, 8192}}}});
  profile.steps = {Step("kernel", "kernel add", 50, 2, 25), Step("matmul", "matmul a", 100, 60, 80),
                   Step("matmul", "matmul a", 140, 165, 80), Step("copy", "copy", 10, 310, 0)};
  profile.steps[1].flops = 6e10;
  profile.steps[1].bound.limit = "compute";
  return profile;
}

TEST(ProfileTextTest, IsATableWithTotals) {
  EXPECT_EQ(tools::ProfileText(Example()),
            R"(function train of plan net on gpu:0: 4 steps, 7 runs
  run        0.4000 ms  without a profile, the median
  steps      0.3000 ms  75.0 %: the sum of their medians
  gap        0.1000 ms  25.0 %
  events     0.0060 ms  1.50 us each (measured between small fills, subtracted from every step); a run with events 0.4100 ms

roofline, measured first
  gpu:0  copy of 512 MiB     4000.0 GB/s
  gpu:0  bf16 matmul of 8192  700000.0 GFLOP/s

by kind
 steps          ms       %      GB/s    GFLOP/s roofline % bound    kind
     2      0.2400    60.0    1000.0   250000.0       66.7 both     matmul
     1      0.0500    12.5    1000.0          -       50.0 memory   kernel
     1      0.0100     2.5    1000.0          -          - -        copy

identical steps, summed
 steps          ms       %      GB/s    GFLOP/s roofline % bound    what
     2      0.2400    60.0    1000.0   250000.0       66.7 both     matmul a; net.cc:12 Linear(4)
     1      0.0500    12.5    1000.0          -       50.0 memory   kernel add; net.cc:12 Linear(4)
     1      0.0100     2.5    1000.0          -          - -        copy; net.cc:12 Linear(4)

step by step
  step          ms       %      GB/s    GFLOP/s roofline % bound    what
     2      0.1400    35.0    1000.0          -       57.1 memory   matmul a; net.cc:12 Linear(4)
     1      0.1000    25.0    1000.0   600000.0       80.0 compute  matmul a; net.cc:12 Linear(4)
     0      0.0500    12.5    1000.0          -       50.0 memory   kernel add; net.cc:12 Linear(4)
     3      0.0100     2.5    1000.0          -          - -        copy; net.cc:12 Linear(4)
)");
}

TEST(ProfileTextTest, LeavesTheShortOnesOut) {
  const std::string text = tools::ProfileText(Example(), 1);
  EXPECT_THAT(
      text,
      HasSubstr("     -      0.1600    40.0    1000.0   375000.0       70.0 both     the other 3 steps\n"));
  EXPECT_THAT(text, Not(HasSubstr("kernel add")));
}

TEST(ChromeTraceTest, IsTheLastRunOfEachDevice) {
  FunctionProfile profile = Example();
  profile.devices = {Device::Cpu(0), Device::Gpu(0)};
  profile.steps[0].lines = "caf\xe9.cc:1";  // A file name in Latin 1.
  const ScratchFolder folder;
  ASSERT_TRUE(tools::WriteChromeTrace(profile, folder.File("t.json")).ok());
  const auto trace = nlohmann::json::parse(ReadAll(folder.File("t.json")));
  const auto& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0]["args"]["name"], "net, train");
  EXPECT_EQ(events[2]["args"]["name"], "gpu:0");
  EXPECT_EQ(events[2]["tid"], 1);
  const auto& step = events[4];
  EXPECT_EQ(step["name"], "matmul a");
  EXPECT_EQ(step["ph"], "X");
  EXPECT_EQ(step["tid"], 1);
  EXPECT_NEAR(step["ts"].get<double>(), 60, 1e-6);
  EXPECT_NEAR(step["dur"].get<double>(), 110, 1e-6);
  EXPECT_NEAR(step["args"]["median_us"].get<double>(), 100, 1e-6);
  EXPECT_NEAR(step["args"]["least_us"].get<double>(), 80, 1e-6);
  EXPECT_EQ(step["args"]["bound"], "compute");
  EXPECT_EQ(step["args"]["lines"], "net.cc:12 Linear(4)");
  EXPECT_FALSE(events[6]["args"].contains("bound"));
}

TEST(ChromeTraceTest, ExchangesHaveARowOfTheirOwnForEachRank) {
  FunctionProfile profile = Example();
  profile.devices = {Device::Gpu(0), Device::Gpu(1)};
  profile.ranks = {0, 1};
  profile.steps = {Step("kernel", "kernel add", 50, 2, 25), Step("collective", "all_reduce", 100, 20, 0)};
  profile.steps[1].is_exchange = true;
  const auto trace = nlohmann::json::parse(tools::ChromeTrace(profile));
  std::map<int, std::string> names;
  std::map<std::string, int> rows;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") rows[event["name"]] = event["tid"];
  }
  EXPECT_EQ(names, (std::map<int, std::string>{
                       {0, "rank 0, gpu:0"}, {1, "rank 1, gpu:1"}, {2, "rank 0, gpu:0, exchanges"}}));
  EXPECT_EQ(rows, (std::map<std::string, int>{{"kernel add", 0}, {"all_reduce", 2}}));
}

// A plan of an n x n matmul and a copy of its result, with their bytes and floating-point operations.
TestPlan MatmulPlan(Device device, DType dtype, int64_t n, fb::MathMode math = fb::MathMode::Ieee) {
  TestPlan plan;
  plan.UseDevices({device});
  plan.AddVariable("a", dtype, {n, n}, 1);
  TestFunction f(plan, "f");
  const uint32_t a = f.Variable(0), y = f.Arena(dtype, {n, n}), z = f.Arena(dtype, {n, n});
  fb::MatmulStepT matmul;
  matmul.batch = 1, matmul.m = matmul.n = matmul.k = n;
  matmul.dtype = static_cast<fb::DType>(dtype);
  matmul.math = math;
  fb::StepT& step = f.Matmul(matmul, {a, a}, {y});
  const double bytes = static_cast<double>(BytesOf(dtype, {n, n}));
  step.flops = 2 * static_cast<double>(n * n * n);
  step.bytes = 2 * bytes;
  f.Copy(y, z).bytes = 2 * bytes;
  f.Output("z", z);
  return plan;
}

TEST(RooflineTest, StepsAreHeldAgainstIt) {
  const Plan plan = *MatmulPlan(Device::Cpu(), DType::kF32, 64, fb::MathMode::Tf32).Make();
  const fb::Function& f = *plan.table().functions()->Get(0);
  const fb::Step &matmul = *f.steps()->Get(0), &copy = *f.steps()->Get(1);
  const ContractionType tf32{DType::kF32, fb::MathMode::Tf32};
  EXPECT_EQ(*ContractionTypeOf(matmul), tf32);
  EXPECT_EQ(tf32.ToString(), "f32 as tf32");
  EXPECT_EQ(kBf16.ToString(), "bf16");
  EXPECT_FALSE(ContractionTypeOf(copy).has_value());
  tools::Roofline roofline{Device::Cpu(), 32768e3, 0, {{tf32, {524288e4, 64}}}};
  EXPECT_EQ(tools::BoundOf(f, matmul, roofline).limit, "memory");
  EXPECT_NEAR(tools::BoundOf(f, matmul, roofline).seconds, 1e-3, 1e-12);
  roofline.matmuls[tf32].flops_per_second = 524288e2;
  EXPECT_EQ(tools::BoundOf(f, matmul, roofline).limit, "compute");
  EXPECT_NEAR(tools::BoundOf(f, matmul, roofline).seconds, 1e-2, 1e-12);
  // There is no roofline for matmuls of this type, so memory is the limit.
  roofline.matmuls = {{kBf16, {1, 64}}};
  EXPECT_EQ(tools::BoundOf(f, matmul, roofline).limit, "memory");
  EXPECT_EQ(tools::BoundOf(f, copy, roofline).limit, "memory");
}

TEST(RooflineTest, AttentionIsMadeOfProducts) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  fb::AttentionStepT step;
  step.dtype = fb::DType::BF16, step.packed = step.causal = true, step.batch = 2, step.scale = 0.5;
  step.queries = step.keys = 4, step.heads = step.key_heads = 3, step.width = 8;
  f.Attention(step, {f.Arena(DType::kBf16, {2, 4, 3, 3, 8})}, {f.Arena(DType::kBf16, {2, 4, 3, 8})});
  const Plan made = *plan.Make();
  EXPECT_EQ(*ContractionTypeOf(*made.table().functions()->Get(0)->steps()->Get(0)), kBf16);
}

TEST(RooflineTest, ThereIsNoneBetweenDevices) {
  const Plan plan = *TwoDevicesPlan(Device::Cpu(), Device::Gpu(0)).Make();
  const fb::Function& f = *plan.table().functions()->Get(0);
  const tools::StepBound bound =
      tools::BoundOf(f, *f.steps()->Get(1), {.device = Device::Gpu(0), .matmuls = {}});
  EXPECT_EQ(bound.seconds, 0);
  EXPECT_EQ(bound.limit, "-");
}

TEST(FunctionProfileTest, ProfilesAgainstAMeasuredRoof) {
  Session session = *MatmulPlan(Device::Cpu(), DType::kF32, 256).MakeSession();
  BoundFunction f = *session.Bind("f");
  const absl::StatusOr<FunctionProfile> profile = tools::ProfileFunction(session, f, "f", {.repeat = 5});
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->rooflines.size(), 1u);
  EXPECT_GT(profile->rooflines[0].bytes_per_second, 1e8);
  ASSERT_EQ(profile->rooflines[0].matmuls.size(), 1u);
  EXPECT_GT(profile->rooflines[0].matmuls.begin()->second.flops_per_second, 1e8);
  ASSERT_EQ(profile->steps.size(), 2u);
  EXPECT_EQ(profile->steps[0].what, "matmul 256x256x256 in f32");
  EXPECT_EQ(profile->steps[1].what, "copy; f32[256,256] -> f32[256,256]");
  EXPECT_EQ(profile->steps[1].lines, "net.cc:12 Linear(4)");
  for (const ProfiledStep& step : profile->steps) EXPECT_GT(step.bound.seconds, 0);
  EXPECT_EQ(profile->seconds_per_event, 0);
  EXPECT_GT(profile->run_seconds, 0);
}

// A run of the fake GPU takes no time on the host; each piece of work takes a millisecond of the fake's own
// clock.
TEST(FunctionProfileTest, GpusAreTimedByMarks) {
  FakeGpus gpus;
  Session session = *gpus.MakeSession(ScalePlan(Device::Gpu(0), 100));
  BoundFunction f = *session.Bind("f");
  const HostTensor x = Filled(100, 2);
  for (const char* name : {"x", "t"}) ASSERT_TRUE(f.SetInput(name, x).ok());
  ASSERT_TRUE(f.SetScalar("s", 3).ok());
  const absl::StatusOr<FunctionProfile> profile =
      tools::ProfileFunction(session, f, "f", {.repeat = 4, .with_rooflines = false});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_NEAR(profile->StepSeconds(), 2e-3, 1e-9);
  EXPECT_NEAR(profile->seconds_per_event, 1e-3, 1e-9);
  // Two steps, and the event between them.
  EXPECT_NEAR(profile->marked_seconds, 3e-3, 1e-9);
  EXPECT_THAT(tools::ProfileText(*profile),
              AllOf(HasSubstr("on gpu:0: 2 steps, 4 runs\n"), HasSubstr("  steps      2.0000 ms  "),
                    HasSubstr("1000.00 us each (measured")));
}

TEST(FunctionProfileTest, SaysWhatIsWrong) {
  Session session = *MatmulPlan(Device::Cpu(), DType::kF32, 8).MakeSession();
  BoundFunction f = *session.Bind("f");
  EXPECT_EQ(tools::ProfileFunction(session, f, "f", {.repeat = 0}).status(),
            absl::InvalidArgumentError("--repeat must be at least 1"));
  // This machine has no such device; only the fake one runs it.
  FakeGpus gpus;
  Session far = *gpus.MakeSession(ScalePlan(Device::Gpu(77), 100));
  BoundFunction g = *far.Bind("f");
  EXPECT_THAT(
      std::string(tools::ProfileFunction(far, g, "f").status().message()),
      HasSubstr("what the device can do at most could not be measured; --no-roofline profiles without it: "));
}

// Each rank's steps are measured, although the plan has those of one rank.
TEST(FunctionProfileTest, CoversAllRanksOfAMesh) {
  setenv("SINTER_CPU_DEVICES", "4", 1);
  Session session = *MeshPlan({2, 2}, Device::Cpu()).MakeSession({.threads = 1});
  unsetenv("SINTER_CPU_DEVICES");
  BoundFunction f = *session.Bind("f");
  const HostTensor x = MeshRows(0, 4);
  ASSERT_TRUE(f.SetInput("x", x).ok());
  const absl::StatusOr<FunctionProfile> profile =
      tools::ProfileFunction(session, f, "f", {.repeat = 2, .with_rooflines = false});
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->steps.size(), 4u * 11u);
  EXPECT_EQ(profile->steps[3].device, Device::Cpu(3));
  EXPECT_THAT(profile->steps[3].what, HasSubstr("all_reduce, rank 1 of 2"));
}

}  // namespace
}  // namespace sinter
