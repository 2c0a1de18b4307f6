// Variables of which ranks hold parts: initial values, reads and writes, in one process and in several.
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cut_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

constexpr MeshShape kCutMeshes[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1}, {3, 2}, {1, 4}};

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

class CutVariablesTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "16", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }

  // The initial values of the variables on one device.
  static std::vector<std::string> WholeValues() {
    const absl::StatusOr<Session> session = CutPlan({1, 1}, Device::Cpu()).MakeSession({.threads = 1});
    EXPECT_TRUE(session.ok()) << session.status();
    EXPECT_FALSE(session->variables()[0].is_cut);
    return BytesOfVariables(*session);
  }
  // Calls f(session) in each process, for each number of processes that divides the ranks.
  static void InProcesses(const MeshShape& mesh, const std::function<void(Session&, World*)>& f) {
    for (const int processes : {1, 2, 3, 4, 6}) {
      if (mesh.ranks() % static_cast<uint32_t>(processes) != 0) continue;
      SCOPED_TRACE(absl::StrCat(mesh.a, " x ", mesh.b, " in ", processes));
      RunInWorld(processes, [&](World& world) {
        absl::StatusOr<Session> session =
            CutPlan(mesh, Device::Cpu()).MakeSession({.threads = 1, .world = &world, .poison = true});
        ASSERT_TRUE(session.ok()) << session.status();
        f(*session, &world);
      });
    }
  }
};

TEST_F(CutVariablesTest, InitialValuesAreThoseOfTheWhole) {
  const std::vector<std::string> whole = WholeValues();
  for (const MeshShape& mesh : kCutMeshes) {
    InProcesses(mesh, [&](Session& session, World*) { EXPECT_EQ(BytesOfVariables(session), whole); });
  }
}

TEST_F(CutVariablesTest, InitialValuesOnGpus) {
  const std::vector<std::string> whole = WholeValues();
  for (const MeshShape& mesh : kCutMeshes) {
    FakeGpus gpus;
    absl::StatusOr<Session> session = gpus.MakeSession(CutPlan(mesh, Device::Gpu()), {.threads = 2});
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(BytesOfVariables(*session), whole);
    ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*session, 5));
    const std::string rows = BytesOfTensor(*session->ReadVariable("rows"));
    ASSERT_TRUE(session->ResetVariables().ok());
    EXPECT_EQ(BytesOfVariables(*session), whole);
    EXPECT_NE(rows, whole[0]);
  }
}

// Each rank keeps its part alone.
TEST_F(CutVariablesTest, PartsTakeTheirShareOfMemory) {
  const absl::StatusOr<Session> session = CutPlan({3, 2}, Device::Cpu()).MakeSession({.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->memory(Device::Cpu(3)).variables,
            80 + 40 + 72 + 8 * 72 * 4 + 4 * 12 * 8 + 6 * 6 * 4 + 4 + 32 + 20 + 8 + 24 + 96);
  const VariableInfo& heads = session->variables()[2];
  EXPECT_EQ(heads.name, "heads");
  EXPECT_TRUE(heads.is_cut);
  EXPECT_EQ(heads.bytes, 2 * heads.part_bytes);
}

TEST_F(CutVariablesTest, PartsAreReadAlone) {
  for (const MeshShape& mesh : kCutMeshes) {
    InProcesses(mesh, [&](Session& session, World* world) {
      for (const std::string& name : CutPlanVariables()) {
        if (name.starts_with("sum")) continue;
        const HostTensor whole = *session.ReadVariable(name);
        const absl::StatusOr<std::vector<VariablePart>> parts = session.ReadParts(name);
        ASSERT_TRUE(parts.ok()) << parts.status();
        for (const VariablePart& part : *parts) {
          EXPECT_EQ(part.rank / (static_cast<int64_t>(mesh.ranks()) / world->size()), world->rank());
          HostTensor expected = *HostTensor::Empty(part.value.dtype(), part.value.shape());
          TakePart(part.box, 0, part.box.num_elements(), whole.data(), SizeOf(whole.dtype()),
                   expected.mutable_data());
          EXPECT_EQ(BytesOfTensor(part.value), BytesOfTensor(expected)) << name;
        }
      }
    });
  }
}

// Heads 3 to 5 of 12 heads of q, k and v: the middle of each third of the columns.
TEST_F(CutVariablesTest, PackedHeadsAreCutByHead) {
  const absl::StatusOr<Session> session = CutPlan({1, 4}, Device::Cpu()).MakeSession({.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor whole = *session->ReadVariable("heads");
  const std::vector<VariablePart> parts = *session->ReadParts("heads");
  ASSERT_EQ(parts.size(), 4u);
  const HostTensor& part = parts[1].value;
  ASSERT_THAT(part.shape(), ::testing::ElementsAre(8, 36));
  const auto all = *whole.Span<float>(), own = *part.Span<float>();
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 36; ++column) {
      EXPECT_EQ(own[row * 36 + column], all[row * 144 + column / 12 * 48 + 12 + column % 12]);
    }
  }
}

TEST_F(CutVariablesTest, WritesGiveEachRankItsPart) {
  for (const MeshShape& mesh : kCutMeshes) {
    InProcesses(mesh, [&](Session& session, World*) {
      ASSERT_NO_FATAL_FAILURE(WriteCountedValues(session, 3));
      std::vector<float> values;
      for (int i = 0; i < 120; ++i) values.push_back(1.0f / static_cast<float>(3 + i));
      ASSERT_TRUE(session.WriteVariable("rows", *HostTensor::FromVector<float>({12, 10}, values)).ok());
      ASSERT_TRUE(session.Run("double", {}).ok());
      const HostTensor rows = *session.ReadVariable("rows");
      for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ((*rows.Span<float>())[i], 2 * values[i]);
      // A part's narrow copy has the rounded values that were written.
      const absl::StatusOr<Outputs> out = session.Run("narrow", {});
      ASSERT_TRUE(out.ok()) << out.status();
      const auto narrow = *(*out)["all"].Span<BFloat16>();
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(narrow[i].bits, BFloat16::FromFloat(values[i]).bits) << i;
      }
      EXPECT_THAT(MessageOf(session.WriteVariable("rows", Filled(20, 1))), HasSubstr("is f32[12,10], and "));
    });
  }
}

// Runs "collect" with rows that tell the ranks apart. Returns what `sum` and `sums` gain.
std::vector<std::vector<float>> Collect(Session& session, const MeshShape& mesh) {
  const int64_t a = mesh.a, b = mesh.b, width = 12 / b;
  std::vector<float> t, u;
  for (int i = 0; i < a * 6; ++i) t.push_back(static_cast<float>(i * i + 1));
  for (int i = 0; i < a * 48; ++i) u.push_back(static_cast<float>(i * i % 1009 + 1));
  EXPECT_TRUE(session
                  .Run("collect", {{"t", *HostTensor::FromVector<float>({a, 6}, t)},
                                   {"u", *HostTensor::FromVector<float>({a * b, 48 / b}, u)}})
                  .ok());
  std::vector<float> sum(6), sums(48);
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t k = 0; k < 6; ++k) sum[static_cast<size_t>(k)] += t[static_cast<size_t>(i * 6 + k)];
    for (int64_t k = 0; k < 48; ++k) {
      const int64_t row = k / 12, column = k % 12, rank = i * b + column / width;
      sums[static_cast<size_t>(k)] += u[static_cast<size_t>(rank * 48 / b + row * width + column % width)];
    }
  }
  return {sum, sums};
}

void ExpectSums(const Session& session, const std::vector<std::vector<float>>& gained, float times) {
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<HostTensor> read = session.ReadVariable(i == 0 ? "sum" : "sums");
    ASSERT_TRUE(read.ok()) << read.status();
    const auto values = *read->Span<float>();
    ASSERT_EQ(values.size(), gained[static_cast<size_t>(i)].size());
    for (size_t k = 0; k < values.size(); ++k) {
      EXPECT_EQ(values[k], times * gained[static_cast<size_t>(i)][k]) << i << ", " << k;
    }
  }
}

// Each rank adds to its own term, and the program sees the sum: also in files, and after it has written one.
TEST_F(CutVariablesTest, SumsAreOfTheTermsOfAllRanks) {
  const ScratchFolder folder;
  for (const MeshShape& mesh : kCutMeshes) {
    InProcesses(mesh, [&](Session& session, World* world) {
      const std::string path = folder.File(absl::StrCat(mesh.a, "x", mesh.b, "in", world->size()));
      for (const VariableInfo& info : session.variables()) {
        EXPECT_EQ(info.is_sum, mesh.a > 1 && info.name.starts_with("sum")) << info.name;
      }
      const std::vector<std::vector<float>> gained = Collect(session, mesh);
      ASSERT_NO_FATAL_FAILURE(ExpectSums(session, gained, 1));
      ASSERT_TRUE(SaveCheckpoint(session, path).ok());
      Collect(session, mesh);
      ASSERT_NO_FATAL_FAILURE(ExpectSums(session, gained, 2));
      const HostTensor sum = *session.ReadVariable("sum"), sums = *session.ReadVariable("sums");
      ASSERT_TRUE(LoadCheckpoint(session, path).ok());
      ASSERT_NO_FATAL_FAILURE(ExpectSums(session, gained, 1));
      ASSERT_TRUE(session.WriteVariable("sum", sum).ok());
      ASSERT_TRUE(session.WriteVariable("sums", sums).ok());
      Collect(session, mesh);
      ASSERT_NO_FATAL_FAILURE(ExpectSums(session, gained, 3));
      ASSERT_TRUE(session.ResetVariables().ok());
      ASSERT_NO_FATAL_FAILURE(ExpectSums(session, gained, 0));
      // One device reads the file.
      absl::StatusOr<Session> one = CutPlan({1, 1}, Device::Cpu()).MakeSession({.threads = 1});
      ASSERT_TRUE(one.ok() && LoadCheckpoint(*one, path).ok());
      ASSERT_NO_FATAL_FAILURE(ExpectSums(*one, gained, 1));
    });
  }
}

// A process has the terms of its ranks alone.
TEST_F(CutVariablesTest, TermsAreReadAlone) {
  const absl::StatusOr<Session> session = CutPlan({2, 2}, Device::Cpu()).MakeSession({.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<VariablePart> sum = *session->ReadParts("sum"), sums = *session->ReadParts("sums");
  ASSERT_EQ(sum.size(), 2u);
  EXPECT_EQ(sum[1].rank, 2u);
  EXPECT_THAT(sum[1].value.shape(), ::testing::ElementsAre(6));
  ASSERT_EQ(sums.size(), 4u);
  EXPECT_EQ(sums[3].box, sums[1].box);
}

TEST_F(CutVariablesTest, SumsOnGpus) {
  const MeshShape mesh = {3, 2};
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(CutPlan(mesh, Device::Gpu()), {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<std::vector<float>> gained = Collect(*session, mesh);
  ASSERT_NO_FATAL_FAILURE(ExpectSums(*session, gained, 1));
  ASSERT_TRUE(session->WriteVariable("sum", *session->ReadVariable("sum")).ok());
  Collect(*session, mesh);
  ASSERT_NO_FATAL_FAILURE(ExpectSums(*session, gained, 2));
}

TEST_F(CutVariablesTest, SessionsShareParts) {
  absl::StatusOr<Session> first = CutPlan({2, 2}, Device::Cpu()).MakeSession({.threads = 1});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*first, 9));
  const absl::StatusOr<Session> second = first->Share({.threads = 1});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(BytesOfVariables(*second), BytesOfVariables(*first));
  EXPECT_EQ(second->memory().variables, 0);
}

// A process that reads alone gets an error, and the others one at their next call.
TEST_F(CutVariablesTest, ReadsAreCallsOfAllProcesses) {
  const TestPlan plan = CutPlan({2, 1}, Device::Cpu());
  const auto errors = [&](const std::function<absl::Status(Session&, int)>& call) {
    std::vector<std::string> messages(2);
    RunInWorld(
        2,
        [&](World& world) {
          absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world});
          ASSERT_TRUE(session.ok()) << session.status();
          messages[static_cast<size_t>(world.rank())] = MessageOf(call(*session, world.rank()));
        },
        std::chrono::milliseconds(300));
    return messages;
  };
  const std::vector<std::string> alone = errors([](Session& session, int rank) {
    return rank == 0 ? session.ReadVariable("rows").status() : absl::OkStatus();
  });
  EXPECT_THAT(alone[0], HasSubstr("agreeing on a call of all ranks"));
  const std::vector<std::string> other = errors(
      [](Session& session, int rank) { return session.ReadVariable(rank == 0 ? "rows" : "both").status(); });
  EXPECT_EQ(
      other[0],
      "rank 1 is at reading variable \"both\", and rank 0 at reading variable \"rows\": all ranks make the "
      "same calls in the same order");
  EXPECT_THAT(other[1], HasSubstr("rank 0 is at reading variable \"rows\""));
  // The parts alone need nobody, nor do variables that are whole.
  const std::vector<std::string> parts = errors([](Session& session, int rank) {
    if (rank == 1) return absl::OkStatus();
    const absl::Status status = session.ReadParts("rows").status();
    return status.ok() ? session.ReadVariable("whole").status() : status;
  });
  EXPECT_EQ(parts[0], "");
}

// The others do not wait for a process whose device fails.
TEST_F(CutVariablesTest, AProcessWhoseDeviceFailsTellsTheOthers) {
  TestPlan plan;  // Has no exchanges: fake GPUs of two processes have none.
  plan.UseDevices({Device::Gpu()});
  plan.UseMesh({{"data", 2}});
  AddCutVariable(plan, "rows", DType::kF32, {12, 10}, {6, 10}, {{12, 6, 0, {6}}, {10, 10}},
                 fb::InitializerKind::Normal);
  plan.table.variables[plan.AddVariable("sum", DType::kF32, {4})]->sum_axes = {0};
  const ScratchFolder folder;
  const std::string path = folder.File("w");
  RunInWorld(2, [&](World& world) {
    FakeGpus gpus;
    absl::StatusOr<Session> session = gpus.MakeSession(plan, {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(SaveCheckpoint(*session, path).ok());
    if (world.rank() == 1) gpus[0].Break(absl::InternalError("the bus is gone"));
    const std::string read = MessageOf(session->ReadVariable("rows").status()),
                      summed = MessageOf(session->ReadVariable("sum").status()),
                      saved = MessageOf(SaveCheckpoint(*session, path));
    EXPECT_EQ(read, world.rank() == 1 ? "the bus is gone"
                                      : "rank 1 fails at reading variable \"rows\": the bus is gone");
    EXPECT_EQ(summed, world.rank() == 1 ? "the bus is gone"
                                        : "rank 1 fails at reading variable \"sum\": the bus is gone");
    EXPECT_EQ(saved, summed);
  });
  EXPECT_THAT(folder.List(), ::testing::ElementsAre("w"));
}

TEST_F(CutVariablesTest, AProcessThatCannotReadTellsTheOthers) {
  TestPlan plan = CutPlan({2, 1}, Device::Cpu());
  TestFunction f(plan, "exchange");
  const uint32_t sum = f.Arena(DType::kF32, {5}), whole = f.Variable(8);
  const uint32_t rows = f.Buffer(fb::Space::Variable, 0, 0, DType::kF32, {60});
  AddSum(f, plan, rows, rows, rows);
  f.ExchangeOver({0}, {}, {whole}, {sum});
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(session->Run("exchange", {}).ok());
    ASSERT_TRUE(session->ReadVariable("rows").ok());
    if (world.rank() == 1) return world.Abort("it has had enough");
    EXPECT_FALSE(session->Run("exchange", {}).ok());
    EXPECT_THAT(MessageOf(session->ReadVariable("rows").status()),
                HasSubstr("a run of \"exchange\" failed midway, and variable \"rows\" may hold a part"));
  });
}

}  // namespace
}  // namespace sinter
