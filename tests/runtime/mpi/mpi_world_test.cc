// Tests of the MPI world. mpirun starts them, and every rank runs them in the same order.
#include "sinter/runtime/mpi/mpi_world.h"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/mpi/launch.h"
#include "sinter/runtime/mpi/process_identity.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/cut_plans.h"

namespace sinter {
namespace {

using Kind = fb::CollectiveKind;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::unique_ptr<MpiWorld> the_world;
MpiWorldOptions the_options;

// Runs the case in the world and checks the outputs of this rank.
void ExpectEverywhere(const CollectiveCase& c, bool is_wild) {
  absl::StatusOr<Session> session = CollectivePlan(c).MakeSession({.threads = 1, .world = the_world.get()});
  ASSERT_TRUE(session.ok()) << c.Name() << ": " << session.status();
  for (const uint32_t seed : {1u, 2u}) ExpectCollective(*session, c, seed, is_wild, /*has_all=*/false);
}

std::vector<int64_t> SizesFor(Kind kind, uint32_t members, int64_t scale) {
  if (TraitsOf(kind).has_list) return {3 * scale, 0, 40 * scale};
  if (TraitsOf(kind).parts == CollectiveTraits::Parts::kNone) return {5 * scale * members};
  std::vector<int64_t> parts;
  for (uint32_t rank = 0; rank < members; ++rank) parts.push_back(rank == 1 ? 0 : 7 * scale + rank);
  return parts;
}

// An implementation of OpenCL may bring a second LLVM into the process.
TEST(MpiWorldTest, MpiDoesNotLoadOpenCl) {
  const char* const components = std::getenv("HWLOC_COMPONENTS");
  ASSERT_NE(components, nullptr);
  EXPECT_STREQ(components, "-opencl");
}

TEST(MpiWorldTest, EveryKindOfCollective) {
  const uint32_t ranks = static_cast<uint32_t>(the_world->size());
  for (const uint32_t members : {ranks, 2 * ranks}) {
    for (const Kind kind : fb::EnumValuesCollectiveKind()) {
      if (kind == Kind::SendRecv) continue;
      for (const DType dtype : {DType::kF32, DType::kBf16, DType::kI8}) {
        const bool is_rooted = kind == Kind::Reduce || kind == Kind::Broadcast || kind == Kind::RingShift;
        ExpectEverywhere({.kind = kind,
                          .combine = dtype == DType::kI8 ? fb::ReduceOp::Max : fb::ReduceOp::Mean,
                          .dtype = dtype,
                          .members = members,
                          .sizes = SizesFor(kind, members, 50),
                          .root = is_rooted ? members - 1 : 0,
                          .is_in_place = TraitsOf(kind).may_be_in_place && dtype == DType::kF32,
                          .is_reversed = dtype == DType::kBf16},
                         /*is_wild=*/true);
      }
    }
  }
}

TEST(MpiWorldTest, SendAndReceive) {
  if (the_world->size() != 2) GTEST_SKIP() << "between two processes";
  ExpectEverywhere({.kind = Kind::SendRecv, .members = 2, .sizes = {5000}}, true);
}

TEST(MpiWorldTest, LargeSums) {
  const uint32_t members = static_cast<uint32_t>(the_world->size());
  ExpectEverywhere({.members = members, .sizes = {3, 700001}, .is_in_place = true, .is_flat = true}, true);
}

TEST(MpiWorldTest, NothingBreaksAWorldThatIsWhole) {
  EXPECT_TRUE(the_world->Check().ok());
  EXPECT_TRUE(the_world->Exchange({}, {"nothing", 0}).ok());
  EXPECT_EQ(MpiWorld::Create().status(),
            absl::FailedPreconditionError("there is a world of MPI already: use it, or destroy it first"));
  EXPECT_THAT(std::string(MpiWorld::Create({.silence = std::chrono::milliseconds(999)}).status().message()),
              HasSubstr("a rank that was silent for 999 ms may only have been slow: give "
                        "MpiWorldOptions::silence at least 1000"));
  EXPECT_THAT(std::string(MpiWorld::Create({.patience = std::chrono::milliseconds(20)}).status().message()),
              HasSubstr("a rank that waits for 20 ms may only be faster than the others: give "
                        "MpiWorldOptions::patience at least 1000"));
  setenv("SINTER_EXCHANGE_PATIENCE", "soon", 1);
  EXPECT_THAT(std::string(MpiWorld::Create().status().message()),
              HasSubstr("SINTER_EXCHANGE_PATIENCE is \"soon\": write the seconds"));
  unsetenv("SINTER_EXCHANGE_PATIENCE");
  EXPECT_THAT(std::string(MpiWorld::Create({.piece_bytes = 0}).status().message()),
              HasSubstr("MPI cannot send pieces of 0 bytes: MpiWorldOptions::piece_bytes is 1 to 2^30"));
}

// A folder that all ranks see, made by rank 0 and removed by its `ScratchFolder`.
std::string SharedPath(const ScratchFolder& folder, const std::string& name) {
  std::vector<char> own(256), all(own.size() * static_cast<size_t>(the_world->size()));
  folder.File(name).copy(own.data(), own.size() - 1);
  EXPECT_TRUE(the_world
                  ->AllGather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)),
                              {.name = "sharing a path", .tag = 9})
                  .ok());
  return all.data();
}

// The parts are those of four ranks in one, two or four processes.
TEST(MpiWorldTest, CutVariablesAreReadSavedAndLoaded) {
  absl::StatusOr<Session> one = CutPlan({1, 1}, Device::Cpu()).MakeSession({.threads = 1});
  ASSERT_TRUE(one.ok()) << one.status();
  const std::vector<std::string> initial = BytesOfVariables(*one);
  const ScratchFolder folder;
  for (const MeshShape& mesh : {MeshShape{2, 2}, MeshShape{1, 4}, MeshShape{4, 1}}) {
    absl::StatusOr<Session> session =
        CutPlan(mesh, Device::Cpu()).MakeSession({.threads = 1, .world = the_world.get()});
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(BytesOfVariables(*session), initial);
    WriteCountedValues(*session, 4);
    const std::vector<std::string> written = BytesOfVariables(*session);
    EXPECT_NE(written, initial);
    const std::string path = SharedPath(folder, "w.safetensors");
    absl::Status saved = SaveCheckpoint(*session, path);
    ASSERT_TRUE(saved.ok()) << saved;
    ASSERT_TRUE(session->ResetVariables().ok());
    ASSERT_TRUE(LoadCheckpoint(*session, path).ok());
    EXPECT_EQ(BytesOfVariables(*session), written);
    // One device reads the file of four.
    ASSERT_TRUE(LoadCheckpoint(*one, path).ok());
    EXPECT_EQ(BytesOfVariables(*one), written);
    EXPECT_EQ(SharedPath(folder, ""), SharedPath(folder, ""));  // No rank is still reading.
  }
}

TEST(MpiWorldTest, OthersPlansAreRefused) {
  if (the_world->size() == 1) GTEST_SKIP() << "alone";
  TestPlan plan = CollectivePlan({.members = static_cast<uint32_t>(the_world->size())});
  if (the_world->rank() == 1) plan.table.producer = "another";
  const absl::Status status = plan.MakeSession({.threads = 1, .world = the_world.get()}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 has another plan than rank 0"));
}

// Machines cloned while they run have the same name, but their processes are different.
TEST(MpiWorldTest, ProcessesOfAClonedMachineAreNotSeen) {
  const ProcessIdentity own = ProcessIdentity::Own();
  EXPECT_TRUE(own.CanBeSeenBy(own));
  EXPECT_FALSE(own.HasEnded());
  ProcessIdentity there = own;
  there.started += 1;
  EXPECT_FALSE(there.CanBeSeenBy(own));
  there = own;
  there.pid = (1 << 22) + 1;  // More than the largest possible pid.
  EXPECT_FALSE(there.CanBeSeenBy(own));
  EXPECT_TRUE(there.HasEnded());
}

// The variables of a task of srun, of a shell of salloc, and of ranks of mpirun within them.
TEST(MpiWorldTest, TheWorldHasTheRanksThatWereStarted) {
  using Variables = std::map<std::string, std::string>;
  const auto error_of = [](const Variables& variables, int size) {
    const auto get = [&](const char* name) {
      return variables.contains(name) ? variables.at(name) : std::string();
    };
    return std::string(Launch::From(get).CheckSize(size).message());
  };
  const Variables shell = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(error_of({}, 1), "");
  EXPECT_EQ(error_of(shell, 1), "") << "a program without ranks in a shell of salloc";
  Variables script = shell;
  script["SLURM_PROCID"] = "0";
  EXPECT_EQ(error_of(script, 1), "") << "or in a script of sbatch";
  Variables task = script;
  task["SLURM_STEP_ID"] = "3", task["SLURM_STEP_NUM_TASKS"] = "4";
  EXPECT_EQ(error_of(task, 4), "");
  EXPECT_EQ(
      error_of(task, 1),
      "srun started a step of 4 tasks, and MPI's world has 1 rank, so the tasks would not find each other: "
      "start them by `srun --mpi=pmix`, or by `mpirun` in a shell of `salloc`; `srun --mpi=list` prints "
      "what this Slurm has");
  Variables old_task = task;
  old_task.erase("SLURM_STEP_NUM_TASKS");
  EXPECT_THAT(error_of(old_task, 1), HasSubstr("srun started a step of 4 tasks"));
  Variables part = task;
  part["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(error_of(part, 2), "") << "a step of fewer tasks than its job";
  // mpirun starts its daemons by srun, one on each other machine.
  Variables mpirun = task;
  mpirun["OMPI_COMM_WORLD_SIZE"] = "8";
  EXPECT_EQ(error_of(mpirun, 8), "");
  mpirun = shell;
  mpirun["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_EQ(error_of(mpirun, 2), "");
  EXPECT_THAT(error_of({{"PMI_SIZE", "4"}}, 1),
              HasSubstr("4 ranks were started (PMI_SIZE), and MPI's world has 1 rank: mpirun belongs to "
                        "another MPI library"));
  EXPECT_EQ(error_of({{"PMI_SIZE", "many"}}, 1), "");
}

// Open MPI binds one or two ranks to a core each by default.
TEST(MpiWorldTest, FewCoresAreNoted) {
  const auto note = [](const char* local_ranks, int cores, int of) {
    return Launch::From([&](const char* name) {
             return std::string(std::string_view(name) == "OMPI_COMM_WORLD_LOCAL_SIZE" ? local_ranks : "");
           })
        .CoreNote(cores, of);
  };
  EXPECT_EQ(note("2", 1, 32),
            "mpirun lets this process run on 1 of 32 cores, and starts 2 ranks here: `mpirun --bind-to none` "
            "lets it run on all");
  EXPECT_EQ(note("4", 8, 32), "") << "its share";
  EXPECT_EQ(note("2", 1, 2), "");
  EXPECT_EQ(note("3", 1, 4), "") << "a whole number of cores";
  EXPECT_EQ(note("8", 2, 4), "") << "more ranks than cores";
  EXPECT_EQ(note("", 1, 32), "") << "no mpirun";
}

// These tests run separately, because a broken world ends with MPI_Abort. ctest checks the printed text.
TEST(BrokenMpiWorldTest, DifferentSizes) {
  std::vector<std::byte> data(64);
  const bool sends = the_world->rank() == 1;
  const World::Transfer transfer = {1 - the_world->rank(), data.data(), sends ? 8u : 16u, sends};
  const absl::Status status = the_world->Exchange({&transfer, 1}, {"send_recv", 3});
  if (sends) return;
  EXPECT_EQ(status, absl::UnavailableError(
                        "rank 1 sends 8 bytes where rank 0 expects 16 (all ranks must run the same functions "
                        "in the same order) in send_recv"));
  EXPECT_EQ(the_world->Exchange({}, {"next", 0}), status);
  EXPECT_EQ(the_world->Check(), status);
  if (!HasFailure()) std::cout << "as expected: " + std::string(status.message()) + "\n" << std::flush;
}

TEST(BrokenMpiWorldTest, TooMuch) {
  std::vector<std::byte> data(64);
  const bool sends = the_world->rank() == 1;
  const World::Transfer transfer = {1 - the_world->rank(), data.data(), sends ? 16u : 8u, sends};
  const absl::Status status = the_world->Exchange({&transfer, 1}, {"send_recv", 3});
  if (sends) return;
  EXPECT_EQ(status, absl::UnavailableError(
                        "rank 1 sends 16 bytes where rank 0 expects 8 (all ranks must run the same functions "
                        "in the same order) in send_recv"));
  if (!HasFailure()) std::cout << "as expected: " + std::string(status.message()) + "\n" << std::flush;
}

// A rank fails in a run and continues, as a program that skips a bad batch does. The other ranks must not
// combine its next batch with their current one.
TEST(BrokenMpiWorldTest, FailedRun) {
  const CollectiveCase c = {.members = static_cast<uint32_t>(the_world->size()), .sizes = {4}};
  Session session = *CollectivePlan(c).MakeSession({.threads = 1, .world = the_world.get()});
  ExpectCollective(session, c, 1, false, /*has_all=*/false);
  const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, 2);
  const HostTensor wrong = *HostTensor::Zeros(DType::kF32, {3});
  BoundFunction f = *session.Bind("f");
  for (const auto& [name, tensor] : inputs) ASSERT_TRUE(f.SetInput(name, tensor).ok());
  if (the_world->rank() == 1) {
    EXPECT_TRUE(absl::IsInvalidArgument(session.Run("f", {{"x0_0", wrong}}).status()));
  }
  for (int run = 0; run < 3; ++run) {
    const absl::Status status = f.Run();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 1 has given up (cannot run \"f\": input \"x0_0\" is"));
    if (the_world->rank() == 0 && run == 2 && !HasFailure()) {
      std::cout << "as expected: " + std::string(status.message()) + "\n" << std::flush;
    }
  }
}

TEST(BrokenMpiWorldTest, OutOfStep) {
  float value = 1;
  const World::Transfer transfers[] = {{1 - the_world->rank(), &value, 4, true},
                                       {1 - the_world->rank(), &value, 4, false}};
  const absl::Status status =
      the_world->Exchange(transfers, {.name = "sum", .tag = 5, .session = 1, .run = 2 + the_world->rank()});
  EXPECT_THAT(
      std::string(status.message()),
      MatchesRegex("rank [01] is at run [23], sum, where rank [01] is at run [23] \\(all ranks must run the "
                   "same functions in the same order\\) in sum"));
  if (the_world->rank() == 0 && !HasFailure()) {
    std::cout << "as expected: " + std::string(status.message()) + "\n" << std::flush;
  }
}

// After the world is broken, SIGTERM ends a rank that continues, e.g. to save its state.
TEST(BrokenMpiWorldTest, Terminated) {
  if (the_world->rank() == 1) {
    the_world->Abort("no more data");
    // Stays alive: if this rank ended, mpirun would end the other rank.
    sleep(6);
    return;
  }
  std::byte data{};
  const World::Transfer transfer = {1, &data, 1, false};
  EXPECT_FALSE(the_world->Exchange({&transfer, 1}, {"send_recv", 3}).ok());
  std::cout << "as expected: rank 0 goes on\n" << std::flush;
  raise(SIGTERM);
  sleep(3);
  std::cout << "SIGTERM was swallowed\n" << std::flush;
}

TEST(BrokenMpiWorldTest, GivingUp) {
  if (the_world->rank() == 1) {
    the_world->Abort("no more data");
    EXPECT_EQ(the_world->Check(), absl::UnavailableError("rank 1 has given up (no more data)"));
    return;
  }
  std::byte data{};
  const World::Transfer transfer = {1, &data, 1, false};
  const absl::Status status = the_world->Exchange({&transfer, 1}, {"send_recv", 3});
  EXPECT_EQ(status, absl::UnavailableError("rank 1 has given up (no more data) in send_recv"));
  if (!HasFailure()) std::cout << "as expected: " + std::string(status.message()) + "\n" << std::flush;
}

}  // namespace
}  // namespace sinter

// A program that has begun MPI for a single thread.
int RunWithoutThreads() {
  MPI_Init(nullptr, nullptr);
  const absl::Status status = sinter::MpiWorld::Create().status();
  std::cout << "as expected: " << status.message() << "\n" << std::flush;
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string_view argument = argc > 1 ? argv[1] : "";
  constexpr std::string_view kPieces = "--piece_bytes=";
  if (argument == "--without_threads") return RunWithoutThreads();
  if (argument.starts_with(kPieces)) {
    sinter::the_options.piece_bytes = std::strtoull(argv[1] + kPieces.size(), nullptr, 10);
  }
  absl::StatusOr<std::unique_ptr<sinter::MpiWorld>> world = sinter::MpiWorld::Create(sinter::the_options);
  if (!world.ok()) {
    std::cerr << world.status() << "\n";
    return 1;
  }
  sinter::the_world = *std::move(world);
  const int result = RUN_ALL_TESTS();
  sinter::the_world.reset();
  if (result != 0) return result;
  const absl::Status again = sinter::MpiWorld::Create().status();
  if (again.message() ==
      "MPI has ended in this process, and begins only once: keep one world for the whole program") {
    return 0;
  }
  std::cerr << "a second world: " << again << "\n";
  return 1;
}
