// Sessions of plans with a mesh: all ranks in one process, and some ranks in each of several.
#include "sinter/runtime/world/rank_program.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/initializer.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cut_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MeshMessage(const absl::Status& status) { return std::string(status.message()); }

class RankProgramTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "16", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
};

TEST_F(RankProgramTest, SumsOverEachAxisAndBoth) {
  for (const MeshShape shape : {MeshShape{2, 3}, MeshShape{3, 2}, MeshShape{1, 4}, MeshShape{1, 1}}) {
    for (const int threads : {1, 3}) {
      absl::StatusOr<Session> session =
          MeshPlan(shape, Device::Cpu()).MakeSession({.threads = threads, .poison = true});
      ASSERT_TRUE(session.ok()) << session.status();
      ExpectMesh(*session, shape, /*runs=*/3, 0, shape.ranks());
    }
  }
}

TEST_F(RankProgramTest, SumsOnGpus) {
  const MeshShape shape = {2, 3};
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(MeshPlan(shape, Device::Gpu()), {.poison = true});
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectMesh(*session, shape, /*runs=*/4, 0, shape.ranks());
  EXPECT_EQ(session->memory(Device::Gpu(5)).constant_copies, 6 * 8);
}

// Blocks of three ranks cut the groups of 3 x 2 in two. Each process then has groups of one exchange in
// another order of its own ranks.
TEST_F(RankProgramTest, SumsInSeveralProcesses) {
  for (const MeshShape shape : {MeshShape{2, 3}, MeshShape{3, 2}}) {
    for (const int processes : {1, 2, 3, 6}) {
      for (const bool has_rows : {false, true}) {
        SCOPED_TRACE(absl::StrCat(shape.a, " x ", shape.b, " in ", processes));
        const TestPlan plan = MeshPlan(shape, Device::Cpu());
        RunInWorld(processes, [&](World& world) {
          absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world, .poison = true});
          ASSERT_TRUE(session.ok()) << session.status();
          const int64_t rows = has_rows ? shape.ranks() / processes : shape.ranks();
          ExpectMesh(*session, shape, /*runs=*/3, has_rows ? world.rank() * rows : 0, rows);
        });
      }
    }
  }
}

// Five rows over `data`: three and two. Ranks of unequal sizes run functions of their own.
TestPlan UnevenPlan() {
  TestPlan plan;
  plan.UseMesh({{"data", 2}, {"tensor", 2}});
  for (uint32_t data = 0; data < 2; ++data) {
    TestFunction f(plan, "f");
    f.RunsOn({{data, data + 1}, {0, 2}});
    const int64_t rows = data == 0 ? 3 : 2;
    const uint32_t x = f.Input("x", DType::kF32, {5, 4});
    if (data == 0) f.Arena(DType::kF32, {100});  // The functions may place their values differently.
    const uint32_t own = f.RowsOf(x, data * 48, {rows * 4}, {0, 0}), sum = f.Arena(DType::kF32, {rows * 4}),
                   whole = f.Arena(DType::kF32, {20});
    f.ExchangeOver({1}, {}, {own}, {sum});
    fb::CollectiveStepT gather = StepOfKind(fb::CollectiveKind::AllGather);
    gather.parts = {12, 8};
    f.ExchangeOver({0}, gather, {sum}, {whole});
    f.Output("y", whole);
  }
  return plan;
}

TEST_F(RankProgramTest, RanksOfUnequalSizes) {
  std::vector<float> x, doubled;
  for (int i = 0; i < 20; ++i) x.push_back(static_cast<float>(i)), doubled.push_back(2 * x.back());
  for (const int processes : {1, 2, 4}) {
    RunInWorld(processes, [&](World& world) {
      absl::StatusOr<Session> session = UnevenPlan().MakeSession({.threads = 1, .world = &world});
      ASSERT_TRUE(session.ok()) << session.status();
      for (int run = 0; run < 2; ++run) {
        absl::StatusOr<Outputs> out = session->Run("f", {{"x", *HostTensor::FromVector<float>({5, 4}, x)}});
        ASSERT_TRUE(out.ok()) << out.status();
        EXPECT_THAT(*(*out)["y"].Span<float>(), ::testing::ElementsAreArray(doubled));
      }
    });
  }
}

// A cell of two devices: the second one doubles its rank's number, and both add theirs.
TEST_F(RankProgramTest, RanksOfTwoDevices) {
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
  plan.UseMesh({{"data", 3}});
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {12}), own = f.RowsOf(x, 0, {4}, {16});
  const uint32_t here = f.Arena(DType::kF32, {4}, 0), there = f.Arena(DType::kF32, {4}, 1);
  const uint32_t twice = f.Arena(DType::kF32, {4}, 1), sum = f.Arena(DType::kF32, {4}, 1);
  f.Copy(own, here);
  f.Copy(here, there);
  AddSum(f, plan, there, there, twice);
  for (uint32_t rank : {0u, 1u}) {
    fb::CollectiveStepT step;
    step.dtype = fb::DType::F32, step.channel = 40, step.group = {0, 1}, step.rank = rank,
    step.elements = {4};
    const uint32_t operand = rank == 0 ? here : twice;
    f.CollectiveLayout(step, {operand}, {operand});
  }
  f.ExchangeOver({0}, {}, {twice}, {sum});
  f.Output("sum", sum);
  f.Output("here", here);
  for (const int processes : {1, 3}) {
    RunInWorld(processes, [&](World& world) {
      absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world, .poison = true});
      ASSERT_TRUE(session.ok()) << session.status();
      const std::vector<float> ones(12, 1);
      absl::StatusOr<Outputs> out = session->Run("f", {{"x", *HostTensor::FromVector<float>({12}, ones)}});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_THAT(*(*out)["here"].Span<float>(), Each(3.0f));
      EXPECT_THAT(*(*out)["sum"].Span<float>(), Each(9.0f));
    });
  }
}

// Variables -------------------------------------------------------------------------------------------------

TEST_F(RankProgramTest, EveryRankHasAVariableAndTheProgramSeesOne) {
  const MeshShape shape = {2, 3};
  TestPlan table = MeshPlan(shape, Device::Cpu());
  table.AddVariable("w@bf16", DType::kBf16, {kMeshRow}, 1);
  table.table.variables[1]->replica_of = 1;
  {
    TestFunction f(table, "narrow");  // The sum of the ranks' narrow copies.
    const uint32_t sum = f.Arena(DType::kBf16, {kMeshRow});
    f.ExchangeOver({0, 1}, {}, {f.Variable(1)}, {sum});
    f.Output("sum", sum);
  }
  absl::StatusOr<Plan> plan = table.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->Variables().size(), 1u);
  absl::StatusOr<Session> session = Session::Create(plan->Share(), {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_EQ(session->variables().size(), 1u);
  EXPECT_EQ(session->variables()[0].name, "w");
  EXPECT_EQ(session->memory().variables, 6 * (4 * kMeshRow + 2 * kMeshRow));
  ASSERT_TRUE(session->WriteVariable("w", Filled(kMeshRow, 5)).ok());
  absl::StatusOr<Outputs> out = session->Run("narrow", {});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)["sum"].Span<BFloat16>()->front().bits, BFloat16::FromFloat(30).bits);
  ExpectMesh(*session, shape, /*runs=*/1, 0, shape.ranks(), /*w=*/5);
  const ScratchFolder folder;
  const std::string path = folder.File("w.safetensors");
  ASSERT_TRUE(SaveCheckpoint(*session, path).ok());
  ASSERT_TRUE(session->ResetVariables().ok());
  ExpectMesh(*session, shape, /*runs=*/1, 0, shape.ranks(), /*w=*/1);
  ASSERT_TRUE(LoadCheckpoint(*session, path).ok());
  const float first = (*session->ReadVariable("w")->Span<float>())[0];
  EXPECT_EQ(first, 5 + 10.0f * 15);
}

TEST_F(RankProgramTest, SessionsShareVariablesAndRankValues) {
  const MeshShape shape = {2, 2};
  TestPlan plan = MeshPlan(shape, Device::Cpu());
  TestFunction f(plan, "read");
  const uint32_t sum = f.Arena(DType::kF32, {kMeshRow}), number = f.Arena(DType::kI64, {1}),
                 numbers = f.Arena(DType::kI64, {4});
  f.ExchangeOver({0, 1}, {}, {f.Variable(0)}, {sum});
  f.Copy(f.RankValue(0), number);
  f.ExchangeOver({0, 1}, StepOfKind(fb::CollectiveKind::AllGather), {number}, {numbers});
  f.Output("sum", sum);
  f.Output("numbers", numbers);
  absl::StatusOr<Session> first = plan.MakeSession({.threads = 1});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->WriteVariable("w", Filled(kMeshRow, 3)).ok());
  absl::StatusOr<Session> second = first->Share({.threads = 1});
  ASSERT_TRUE(second.ok()) << second.status();
  absl::StatusOr<Outputs> out = second->Run("read", {});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(*(*out)["sum"].Span<float>(), Each(12.0f));
  EXPECT_THAT(*(*out)["numbers"].Span<int64_t>(), ElementsAre(100, 101, 110, 111));
  EXPECT_THAT(MeshMessage(second->Run("f", {{"x", MeshRows(0, 4)}}).status()),
              HasSubstr("function \"f\" writes variable \"w\", which 2 sessions share"));
}

// The second process gives up in its second run: the variable of the first may be half-written.
TEST_F(RankProgramTest, AFailedRunLeavesVariablesInDoubt) {
  const MeshShape shape = {2, 2};
  TestPlan plan = MeshPlan(shape, Device::Cpu());
  TestFunction f(plan, "train");
  const uint32_t sum = f.Arena(DType::kF32, {kMeshRow});
  AddSum(f, plan, f.Variable(0), f.Variable(0), f.Variable(0));
  f.ExchangeOver({0, 1}, {}, {f.Variable(0)}, {sum});
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(session->Run("train", {}).ok());
    if (world.rank() == 1) return world.Abort("it has had enough");
    EXPECT_THAT(MeshMessage(session->Run("train", {}).status()), HasSubstr("rank 1 has given up"));
    EXPECT_THAT(MeshMessage(session->ReadVariable("w").status()),
                HasSubstr("a run of \"train\" failed midway, and variable \"w\" may hold a part"));
  });
}

// Errors, infos ---------------------------------------------------------------------------------------------

TEST_F(RankProgramTest, ProcessesMustShareTheRanks) {
  const TestPlan plan = MeshPlan({2, 3}, Device::Cpu());
  const auto error_of = [&](int processes) {
    std::string error;
    RunInWorld(processes, [&](World& world) {
      const absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world});
      EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
      if (world.rank() == 0) error = MeshMessage(session.status());
    });
    return error;
  };
  EXPECT_EQ(error_of(4),
            "the plan has 6 ranks (a 2 x b 3), which 4 processes cannot share evenly: start 3 or 6");
  EXPECT_EQ(error_of(5),
            "the plan has 6 ranks (a 2 x b 3), which 5 processes cannot share evenly: start 3 or 6");
  EXPECT_EQ(error_of(7), "the plan has 6 ranks (a 2 x b 3), which 7 processes cannot share evenly: start 6");
}

TEST_F(RankProgramTest, TheMachineMustHaveTheDevices) {
  setenv("SINTER_CPU_DEVICES", "4", 1);
  const absl::StatusOr<Session> session = MeshPlan({2, 3}, Device::Cpu()).MakeSession({.threads = 1});
  EXPECT_THAT(MeshMessage(session.status()),
              HasSubstr("cpu:5 does not exist: there is cpu:0 to cpu:3; set SINTER_CPU_DEVICES=6 "));
  EXPECT_THAT(MeshMessage(MeshPlan({128, 8}, Device::Cpu()).MakeSession().status()),
              HasSubstr("the plan has 1024 ranks (a 128 x b 8), of which this process would run 1024 on 1024 "
                        "devices: a process has at most 256, so start 4 processes"));
}

TEST_F(RankProgramTest, ThePlanListsDevicesAxesAndFunctions) {
  TestPlan table = UnevenPlan();
  table.table.mesh->devices.clear();
  for (const int32_t index : {0, 7, 5, 3})
    table.table.mesh->devices.push_back(MakeDeviceName(Device::Cpu(index)));
  absl::StatusOr<Plan> plan = table.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->table().version(), 5u);
  EXPECT_THAT(plan->Devices(), ElementsAre(Device::Cpu(0), Device::Cpu(7), Device::Cpu(5), Device::Cpu(3)));
  ASSERT_EQ(plan->Mesh().size(), 2u);
  EXPECT_EQ(plan->Mesh()[1].name, "tensor");
  EXPECT_EQ(plan->Mesh()[1].size, 2);
  ASSERT_EQ(plan->Functions().size(), 1u);
  const FunctionInfo info = plan->Functions()[0];
  EXPECT_EQ(info.steps, 2);
  EXPECT_EQ(info.device_arena_bytes.size(), 4u);
  EXPECT_EQ(info.device_arena_bytes[0], info.device_arena_bytes[1]);
  EXPECT_GT(info.device_arena_bytes[0], info.device_arena_bytes[2] + 300);
  absl::StatusOr<Session> session = Session::Create(*std::move(plan), {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_GT(session->memory(Device::Cpu(7)).arena, 400);
  EXPECT_EQ(session->memory(Device::Cpu(1)).arena, 0);
}

// One process of many. The others say nothing, and agree to everything.
class LonelyWorld : public World {
 public:
  LonelyWorld(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  absl::Status Exchange(std::span<const Transfer>, const Operation&) override {
    return absl::UnavailableError("nobody is there");
  }
  absl::Status AllGather(std::span<const std::byte> own, std::span<std::byte> all,
                         const Operation&) override {
    for (size_t at = 0; at < all.size(); at += own.size())
      std::memcpy(all.data() + at, own.data(), own.size());
    return absl::OkStatus();
  }
  void Abort(std::string_view) override {}

 private:
  const int rank_, size_;
};

// The program of one rank is as large as that rank's part, plus a few numbers of each other.
TEST_F(RankProgramTest, OneRankOfManyLoadsQuickly) {
  const auto bytes_of = [](const MeshShape& shape, int rank) {
    const absl::StatusOr<Plan> plan = MeshPlan(shape, Device::Cpu()).Make();
    LonelyWorld world(rank, static_cast<int>(shape.ranks()));
    const auto begin = std::chrono::steady_clock::now();
    absl::StatusOr<Session> session = Session::Create(plan->Share(), {.threads = 1, .world = &world});
    EXPECT_TRUE(session.ok()) << session.status();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    const absl::StatusOr<RankProgram> program = RankProgram::Of(plan->table(), &world);
    const fb::Function& function = *program->table().functions()->Get(0);
    EXPECT_EQ(function.steps()->size(), plan->table().functions()->Get(0)->steps()->size());
    EXPECT_EQ(program->rank_values().size(), 1u);
    return 100 + 10 * (rank / static_cast<int64_t>(shape.b)) + rank % static_cast<int64_t>(shape.b) ==
           program->rank_values()[0];
  };
  EXPECT_TRUE(bytes_of({4, 4}, 7));
  EXPECT_TRUE(bytes_of({128, 8}, 517));
}

// One of 1024 ranks of a variable of 64 GiB: nobody has memory for the whole.
TEST_F(RankProgramTest, OneRankOfManyMakesItsPartAlone) {
  constexpr int64_t kRows = 4096, kColumns = int64_t{1} << 22, kRanks = 1024, kPart = kColumns / kRanks;
  TestPlan table;
  table.UseMesh({{"data", 2}, {"tensor", kRanks / 2}});
  AddCutVariable(table, "w", DType::kF32, {kRows, kColumns}, {kRows, kPart},
                 {{kRows, kRows}, {kColumns, kPart, 0, {kColumns / 2, kPart}}}, fb::InitializerKind::Normal);
  LonelyWorld world(/*rank=*/517, kRanks);
  const absl::StatusOr<Session> session = table.MakeSession({.threads = 1, .world = &world});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->memory().variables, kRows * kPart * 4);
  const absl::StatusOr<std::vector<VariablePart>> parts = session->ReadParts("w");
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ((*parts)[0].rank, 517);
  const InitialValues values = {.kind = InitialValues::Kind::kNormal, .a = 0, .b = 1, .seed = 7};
  for (const int64_t row : {int64_t{0}, int64_t{1}, kRows - 1}) {
    std::vector<float> expected(kPart);
    ASSERT_TRUE(FillInitialElements(values, DType::kF32, row * kColumns + 517 * kPart, kPart, expected.data(),
                                    ThreadPool(1))
                    .ok());
    const auto own = (*(*parts)[0].value.Span<float>()).subspan(static_cast<size_t>(row * kPart), kPart);
    EXPECT_TRUE(std::ranges::equal(own, expected)) << "row " << row;
  }
}

}  // namespace
}  // namespace sinter
