// Variables and outputs that have replicas on several devices, in one process and several.
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::string ReplicaMessage(const absl::Status& status) { return std::string(status.message()); }

constexpr int64_t kRows = 4, kColumns = 16, kReplicaSize = kRows * kColumns;

// Returns a plan over two devices, which both update their replica of w: w += all_reduce(sum of their halves
// of x). Output "w" is on both devices, "sum1" only on the second.
TestPlan ReplicatedPlan(Device first, Device second) {
  TestPlan plan;
  plan.UseDevices({first, second});
  constexpr int64_t kHalf = kReplicaSize / 2;
  plan.AddVariable("w", DType::kF32, {kHalf}, 1, 0);
  plan.AddVariable("w@1", DType::kF32, {kHalf}, 77, 1);
  plan.AddVariable("here", DType::kF32, {2}, 3, 1);
  plan.table.variables[1]->replica_of = 1;
  TestFunction f(plan, "train");
  f.Input("x", DType::kF32, {kRows, kColumns});
  std::vector<uint32_t> sums;
  fb::CollectiveStepT step;
  step.dtype = fb::DType::F32, step.group = {0, 1}, step.elements = {kHalf};
  std::vector<uint32_t> parts;
  for (uint32_t d : {0u, 1u}) {
    parts.push_back(f.Buffer(fb::Space::Input, 0, d * kHalf * 4, DType::kF32, {kHalf}, d));
    sums.push_back(f.Arena(DType::kF32, {kHalf}, d));
  }
  for (uint32_t d : {0u, 1u}) {
    step.rank = d;
    f.CollectiveLayout(step, {parts[d]}, {sums[d]});
  }
  for (uint32_t d : {0u, 1u}) AddSum(f, plan, f.Variable(d), sums[d], f.Variable(d));
  f.Output("w", f.Variable(0));
  f.table().outputs[0]->replicas = {f.Variable(1)};
  f.Output("sum1", sums[1]);
  return plan;
}

TestPlan CpuPlan() { return ReplicatedPlan(Device::Cpu(0), Device::Cpu(1)); }

HostTensor Rows(int64_t begin, int64_t end) {
  std::vector<float> values;
  for (int64_t i = begin * kColumns; i < end * kColumns; ++i) values.push_back(static_cast<float>(i));
  return *HostTensor::FromVector<float>({end - begin, kColumns}, values);
}
// Returns the values of w after a run that starts from `w`.
std::vector<float> Sums(float w) {
  std::vector<float> sums;
  constexpr int64_t kHalf = kReplicaSize / 2;
  for (int64_t i = 0; i < kHalf; ++i) sums.push_back(w + static_cast<float>(2 * i + kHalf));
  return sums;
}

class SessionReplicasTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "2", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
};

TEST_F(SessionReplicasTest, AreOneVariable) {
  Session session = *CpuPlan().MakeSession();
  ASSERT_EQ(session.variables().size(), 2u);
  EXPECT_EQ(session.variables()[0].name, "w");
  EXPECT_EQ(session.variables()[1].name, "here");
  EXPECT_TRUE(absl::IsNotFound(session.ReadVariable("w@1").status()));
  // A replica has the initial values of its original.
  absl::StatusOr<Outputs> out = session.Run("train", {{"x", Rows(0, kRows)}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(session.memory(Device::Cpu(1)).variables, kReplicaSize / 2 * 4 + 8);
  ASSERT_TRUE(session.WriteVariable("w", Filled(kReplicaSize / 2, 5)).ok());
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(session.Run("train", {{"x", Rows(0, kRows)}}).ok());
  ASSERT_TRUE(session.ResetVariables().ok());
  out = session.Run("train", {{"x", Rows(0, kRows)}});
  EXPECT_THAT(*(*out)["w"].Span<float>(), ::testing::ElementsAreArray(Sums(1)));
  EXPECT_THAT(*session.ReadVariable("w")->Span<float>(), ::testing::ElementsAreArray(Sums(1)));
}

TEST_F(SessionReplicasTest, CheckpointsHoldThemOnce) {
  const ScratchFolder folder;
  const std::string path = folder.File("w.safetensors");
  Session session = *CpuPlan().MakeSession();
  ASSERT_TRUE(session.WriteVariable("w", Filled(kReplicaSize / 2, 9)).ok());
  ASSERT_TRUE(SaveCheckpoint(session, path).ok());
  Session other = *CpuPlan().MakeSession();
  ASSERT_TRUE(LoadCheckpoint(other, path).ok());
  absl::StatusOr<Outputs> out = other.Run("train", {{"x", Rows(0, kRows)}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(*(*out)["w"].Span<float>(), ::testing::ElementsAreArray(Sums(9)));
}

// Each process reads the values of its own device, and passes inputs for that device.
TEST_F(SessionReplicasTest, AmongProcesses) {
  RunInWorld(2, [](World& world) {
    const int64_t rank = world.rank();
    absl::StatusOr<Session> session = CpuPlan().MakeSession({.threads = 1, .world = &world, .poison = true});
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(session->memory().variables, rank == 0 ? kReplicaSize / 2 * 4 : kReplicaSize / 2 * 4 + 8);
    EXPECT_EQ(session->variables()[0].device, Device::Cpu(0));
    ASSERT_TRUE(session->WriteVariable("w", Filled(kReplicaSize / 2, 2)).ok());
    // Passes the whole input, or only the rows that this process reads.
    for (const bool is_part : {false, true}) {
      ASSERT_TRUE(session->WriteVariable("w", Filled(kReplicaSize / 2, 2)).ok());
      const HostTensor x = is_part ? Rows(rank * 2, rank * 2 + 2) : Rows(0, kRows);
      absl::StatusOr<Outputs> out = session->Run("train", {{"x", x}});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_THAT(*(*out)["w"].Span<float>(), ::testing::ElementsAreArray(Sums(2)));
      EXPECT_THAT(*session->ReadVariable("w")->Span<float>(), ::testing::ElementsAreArray(Sums(2)));
      if (rank == 1) {
        EXPECT_THAT(*(*out)["sum1"].Span<float>(), ::testing::ElementsAreArray(Sums(0)));
        EXPECT_THAT(*session->ReadVariable("here")->Span<float>(), Each(3.0f));
        continue;
      }
      EXPECT_EQ(
          out->Get("sum1").status(),
          absl::FailedPreconditionError("output \"sum1\" is on cpu:1 of the plan, which rank 1 runs and "
                                        "this process does not: read it there"));
      EXPECT_EQ(session->ReadVariable("here").status(),
                absl::FailedPreconditionError("variable \"here\" is on cpu:1 of the plan, which rank 1 runs "
                                              "and this process does not: use it there"));
      EXPECT_TRUE(session->WriteVariable("here", Filled(2, 1)).ok());
    }
    const absl::Status wrong = session->Run("train", {{"x", Rows(0, 3)}}).status();
    EXPECT_THAT(ReplicaMessage(wrong),
                HasSubstr(rank == 0 ? "input \"x\" is f32[4,16], of which rank 0 may give rows 0 to 2 alone, "
                                      "f32[2,16], and f32[3,16] is given"
                                    : "of which rank 1 may give rows 2 to 4 alone"));
  });
}

TEST_F(SessionReplicasTest, RowsAreForSeveralProcessesAlone) {
  Session session = *CpuPlan().MakeSession();
  EXPECT_THAT(ReplicaMessage(session.Run("train", {{"x", Rows(0, 2)}}).status()),
              HasSubstr("input \"x\" is f32[4,16], and f32[2,16] is given"));
}

// Unaligned input is copied, but only the rows that are read.
TEST_F(SessionReplicasTest, UnalignedRows) {
  RunInWorld(2, [](World& world) {
    Session session = *CpuPlan().MakeSession({.threads = 1, .world = &world});
    EXPECT_EQ(session.memory().input_staging, kReplicaSize / 2 * 4);
    std::vector<float> values(kReplicaSize + 1);
    const HostTensor x = Rows(0, kRows);
    std::copy_n(x.Span<float>()->begin(), kReplicaSize, values.begin() + 1);
    const HostTensor shifted = *HostTensor::View(DType::kF32, {kRows, kColumns}, values.data() + 1);
    absl::StatusOr<Outputs> out = session.Run("train", {{"x", shifted}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["w"].Span<float>(), ::testing::ElementsAreArray(Sums(1)));
  });
}

// Returns a plan with an f32 variable between replicas in bf16 and f16, which function "narrow" outputs.
TestPlan LowPrecisionPlan(Device device, int64_t size, float value) {
  TestPlan plan;
  plan.UseDevices({device});
  plan.AddVariable("w@bf16", DType::kBf16, {size}, value);
  plan.AddVariable("w", DType::kF32, {size}, value);
  plan.AddVariable("w@f16", DType::kF16, {size}, value);
  for (int replica : {0, 2}) plan.table.variables[replica]->replica_of = 2;
  TestFunction f(plan, "narrow");
  const uint32_t bf16 = f.Arena(DType::kBf16, {size}), f16 = f.Arena(DType::kF16, {size});
  f.Copy(f.Variable(0), bf16);
  f.Copy(f.Variable(2), f16);
  f.Output("bf16", bf16);
  f.Output("f16", f16);
  return plan;
}

// The replicas must hold the rounded values of the original.
void ExpectRounded(Session& session) {
  const HostTensor w = *session.ReadVariable("w");
  absl::StatusOr<Outputs> out = session.Run("narrow", {});
  ASSERT_TRUE(out.ok()) << out.status();
  const HostTensor &narrow = (*out)["bf16"], &other = (*out)["f16"];
  const auto wide = *w.Span<float>();
  const auto bf16 = *narrow.Span<BFloat16>();
  const auto f16 = *other.Span<Float16>();
  for (size_t i = 0; i < wide.size(); ++i) {
    ASSERT_EQ(bf16[i].bits, BFloat16::FromFloat(wide[i]).bits) << "element " << i;
    ASSERT_EQ(f16[i].bits, Float16::FromFloat(wide[i]).bits) << "element " << i;
  }
}

TEST(LowPrecisionReplicasTest, FollowWhoeverWrites) {
  const ScratchFolder folder;
  const std::string path = folder.File("w.safetensors");
  Session session = *LowPrecisionPlan(Device::Cpu(), 5, 0.3f).MakeSession();
  ASSERT_EQ(session.variables().size(), 1u);
  EXPECT_EQ(session.variables()[0].name, "w");
  EXPECT_EQ(session.variables()[0].dtype, DType::kF32);
  EXPECT_EQ(session.memory().variables, 5 * (4 + 2 + 2));
  ExpectRounded(session);
  // Ties, a carry, a value too large for f16, and a subnormal f16.
  const HostTensor values =
      *HostTensor::FromVector<float>({5}, {1.00390625f, -1.01171875f, 1.99999988f, 70000.0f, 3.0e-8f});
  ASSERT_TRUE(session.WriteVariable("w", values).ok());
  ExpectRounded(session);
  EXPECT_EQ((*session.Run("narrow", {}))["bf16"].Span<BFloat16>()->front().bits, 0x3f80);
  ASSERT_TRUE(SaveCheckpoint(session, path).ok());
  Session other = *LowPrecisionPlan(Device::Cpu(), 5, 0.3f).MakeSession();
  ASSERT_TRUE(LoadCheckpoint(other, path).ok());
  EXPECT_THAT(*other.ReadVariable("w")->Span<float>(), ::testing::ElementsAreArray(*values.Span<float>()));
  ExpectRounded(other);
  ASSERT_TRUE(other.ResetVariables().ok());
  EXPECT_THAT(*other.ReadVariable("w")->Span<float>(), Each(0.3f));
  ExpectRounded(other);
}

// Large enough to be copied in pieces. Values whose bytes are all equal in some types but not in others, and
// random values, computed ahead or not.
TEST(LowPrecisionReplicasTest, OnGpus) {
  constexpr int64_t kMany = (int64_t{5} << 18) + 3;
  for (const float value : {0.0f, 0.3f, std::bit_cast<float>(0x3f3f3f3f), -1.0f}) {
    TestPlan plan = LowPrecisionPlan(Device::Gpu(0), kMany, value);
    if (value < 0) {
      for (auto& variable : plan.table.variables) {
        variable->initializer->kind = fb::InitializerKind::Normal;
        variable->initializer->a = 0, variable->initializer->b = 0.02, variable->initializer->seed = 7;
      }
    }
    FakeGpus gpus;
    Session session = *gpus.MakeSession(plan);
    ExpectRounded(session);
    ASSERT_TRUE(session.WriteVariable("w", Filled(kMany, 0.7f)).ok());
    EXPECT_THAT(session.ReadVariable("w")->Span<float>()->back(), 0.7f);
    ExpectRounded(session);
    ASSERT_TRUE(session.ResetVariables().ok());
    ExpectRounded(session);
  }
}

// A GPU gets only its own rows, not the whole input.
TEST_F(SessionReplicasTest, UploadsAreHalves) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0), Device::Gpu(1)});
  constexpr int64_t kMany = 10000;
  TestFunction f(plan, "f");
  f.Input("x", DType::kF32, {2, kMany});
  for (uint32_t d : {0u, 1u}) {
    const uint32_t part = f.Buffer(fb::Space::Input, 0, d * kMany * 4, DType::kF32, {kMany}, d);
    const uint32_t sum = f.Arena(DType::kF32, {kMany}, d);
    AddSum(f, plan, part, part, sum);
    f.Output(d == 0 ? "first" : "second", sum);
  }
  FakeGpus gpus;
  Session session = *gpus.MakeSession(plan);
  std::vector<float> values(2 * kMany, 1);
  std::fill(values.begin() + kMany, values.end(), 2.0f);
  const HostTensor x = *HostTensor::FromVector<float>({2, kMany}, values);
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(*(*out)["first"].Span<float>(), Each(2.0f));
  EXPECT_THAT(*(*out)["second"].Span<float>(), Each(4.0f));
  for (int gpu : {0, 1}) EXPECT_EQ(gpus[gpu].traffic().uploaded, kMany * 4);
}

}  // namespace
}  // namespace sinter
