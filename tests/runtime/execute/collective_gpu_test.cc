// Sessions with collectives on the GPUs of this machine, in one process and in one process per GPU. Checks
// the results, the overlap with other steps, and the behaviour when a rank ends.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cpu/combine.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/cuda/gpu_session.h"
#include "sinter/tests/runtime/training_plans.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Kind = fb::CollectiveKind;
using Clock = std::chrono::steady_clock;

std::vector<Device> Gpus(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Device::Gpu(i));
  return devices;
}

class CollectiveGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const int count = NumCudaDevices(); count < 2) {
      GTEST_SKIP() << "two GPUs are needed, and there are " << count;
    }
    count_ = std::min(NumCudaDevices(), 4);
  }

  // Returns the seconds per run of a function: the best average of several passes.
  static double SecondsOf(Session& session, const std::string& name, const std::vector<Argument>& arguments) {
    constexpr int kRuns = 20;
    double best = 1e9;
    for (int pass = 0; pass < 4; ++pass) {
      EXPECT_TRUE(session.Synchronize().ok());
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < kRuns; ++i) EXPECT_TRUE(session.Run(name, arguments).ok());
      EXPECT_TRUE(session.Synchronize().ok());
      // Skips the first pass, which holds the first run and the capture.
      if (pass > 0)
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / kRuns);
    }
    return best;
  }

  int count_ = 0;
};

TEST_F(CollectiveGpuTest, EveryKindGivesWhatCpusGive) {
  for (const Kind kind : fb::EnumValuesCollectiveKind()) {
    for (const fb::ReduceOp combine : fb::EnumValuesReduceOp()) {
      const CollectiveTraits& traits = TraitsOf(kind);
      if (!traits.combines && combine != fb::ReduceOp::Sum) continue;
      // Few variants, because each session takes a second to connect.
      for (int variant = 0; variant < (combine == fb::ReduceOp::Sum ? 4 : 1); ++variant) {
        CollectiveCase c{.kind = kind, .combine = combine, .device_kind = DeviceKind::kGpu};
        c.members = kind == Kind::SendRecv ? 2 : static_cast<uint32_t>(count_);
        c.is_in_place = (variant & 1) != 0 && traits.may_be_in_place;
        c.is_reversed = (variant & 2) != 0;
        if (kind == Kind::RingShift) c.root = 1;
        c.is_flat = traits.has_list && variant >= 2;
        c.sizes = traits.has_list ? std::vector<int64_t>{500, 30, 7} : std::vector<int64_t>{12 * c.members};
        if (kind == Kind::AllGather || kind == Kind::ReduceScatter) {
          c.sizes.clear();
          for (uint32_t i = 0; i < c.members; ++i) c.sizes.push_back(variant < 2 ? 16 : 16 * (1 + i % 2));
        }
        absl::StatusOr<Session> session = MakeGpuSession(CollectivePlan(c), {.poison = true});
        ASSERT_TRUE(session.ok()) << c.Name() << ": " << session.status();
        for (const uint32_t seed : {1u, 2u, 3u}) ExpectCollective(*session, c, seed);
        ASSERT_FALSE(HasFailure()) << c.Name();
      }
    }
  }
}

// How GPUs exchange depends on the bytes, and on whether all parts are multiples of 16 bytes.
TEST_F(CollectiveGpuTest, PartsOfEverySizeAndAlignment) {
  for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      for (const int64_t size : {1 << 10, 200'000, 3 << 19}) {
        for (const int64_t more : {0, 1}) {
          CollectiveCase c{.kind = kind, .dtype = dtype, .device_kind = DeviceKind::kGpu};
          c.members = static_cast<uint32_t>(count_);
          c.sizes.assign(c.members, size);
          c.sizes.front() += more;
          absl::StatusOr<Session> session = MakeGpuSession(CollectivePlan(c), {.poison = true});
          ASSERT_TRUE(session.ok()) << c.Name() << ": " << session.status();
          for (const uint32_t seed : {1u, 2u}) ExpectCollective(*session, c, seed);
          ASSERT_FALSE(HasFailure()) << c.Name() << ", parts of " << size << " + " << more;
        }
      }
    }
  }
}

TEST_F(CollectiveGpuTest, Trains) {
  for (const int count : {2, count_}) {
    for (const bool with_copy : {false, true}) {
      absl::StatusOr<Session> session = MakeGpuSession(TrainingPlan(Gpus(count), 1 << 14, with_copy));
      ASSERT_TRUE(session.ok()) << session.status();
      ExpectTraining(*session, count, 1 << 14, 100);
      Profile profile;
      ExpectTraining(*session, count, 1 << 14, 3, &profile);
      ExpectTraining(*session, count, 1 << 14, 30);
    }
  }
}

// Opens several sessions in turn, each with another that uses another order of the GPUs.
TEST_F(CollectiveGpuTest, ConnectsAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<Session> session = MakeGpuSession(TrainingPlan(Gpus(2), 1000, false));
    absl::StatusOr<Session> other =
        MakeGpuSession(TrainingPlan({Device::Gpu(1), Device::Gpu(0)}, 1000, false));
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(other.ok()) << other.status();
    ExpectTraining(*session, 2, 1000, 5);
    ExpectTraining(*other, 2, 1000, 5);
    ExpectTraining(*session, 2, 1000, 5);
  }
}

// Returns a plan with functions "exchange", "compute" and "both": an all-reduce of 256 MB, sums of 64 MB, or
// both. The sums do not depend on the all-reduce.
TestPlan OverlapPlan(int count) {
  constexpr int64_t kExchanged = 64 << 20, kComputed = 16 << 20;
  constexpr int kSums = 40;
  TestPlan plan;
  plan.UseDevices(Gpus(count));
  for (const bool exchanges : {true, false}) {
    for (const bool computes : {true, false}) {
      if (!exchanges && !computes) continue;
      TestFunction f(plan, exchanges && computes ? "both" : exchanges ? "exchange" : "compute");
      std::vector<uint32_t> a, b;
      for (int d = 0; d < count; ++d) {
        a.push_back(f.Arena(DType::kF32, {kExchanged}, static_cast<uint32_t>(d)));
        b.push_back(f.Arena(DType::kF32, {kComputed}, static_cast<uint32_t>(d)));
      }
      if (exchanges) AddAllReduce(f, 0, fb::ReduceOp::Sum, kExchanged, a, a);
      for (int i = 0; computes && i < kSums; ++i) {
        for (const uint32_t buffer : b) {
          f.GpuKernel("add_f32", {buffer, buffer}, {buffer}, static_cast<uint32_t>(kComputed / 256), 256);
        }
      }
    }
  }
  return plan;
}

TEST_F(CollectiveGpuTest, ExchangesBesideWhatDoesNotNeedThem) {
  absl::StatusOr<Session> session = MakeGpuSession(OverlapPlan(count_));
  ASSERT_TRUE(session.ok()) << session.status();
  const double exchange = SecondsOf(*session, "exchange", {}), compute = SecondsOf(*session, "compute", {});
  const double both = SecondsOf(*session, "both", {});
  std::cout << "exchange " << exchange * 1e3 << " ms, compute " << compute * 1e3 << " ms, both " << both * 1e3
            << " ms" << std::endl;
  EXPECT_LT(both, 0.9 * (exchange + compute));
}

// A world of two processes, joined by a socket.
class SocketWorld : public World {
 public:
  SocketWorld(int rank, int socket) : rank_(rank), socket_(socket) {}

  int rank() const override { return rank_; }
  int size() const override { return 2; }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override {
    for (const Transfer& transfer : transfers) {
      if (transfer.is_send && write(socket_, transfer.data, transfer.bytes) != Size(transfer.bytes))
        return Gone();
    }
    for (const Transfer& transfer : transfers) {
      // Skips empty messages: recv would wait for the next message.
      if (!transfer.is_send && transfer.bytes > 0 &&
          recv(socket_, transfer.data, transfer.bytes, MSG_WAITALL) != Size(transfer.bytes)) {
        return Gone();
      }
    }
    return absl::OkStatus();
  }
  absl::Status Check() override {
    pollfd one = {.fd = socket_, .events = POLLIN, .revents = 0};
    poll(&one, 1, 0);
    return (one.revents & (POLLHUP | POLLERR)) != 0 ? Gone() : absl::OkStatus();
  }
  void Abort(std::string_view) override { close(socket_); }

 private:
  static ssize_t Size(size_t bytes) { return static_cast<ssize_t>(bytes); }
  absl::Status Gone() const { return absl::UnavailableError(absl::StrCat("rank ", 1 - rank_, " has ended")); }

  int rank_, socket_;
};

constexpr int64_t kProcessSize = 1 << 16;

// One rank of two, started by RunRanks. Runs training steps, then ends as SINTER_TEST_ENDS says.
TEST(CollectiveProcessTest, DISABLED_Rank) {
  const char* const rank_text = std::getenv("SINTER_TEST_RANK");
  ASSERT_NE(rank_text, nullptr) << "run by TwoProcesses";
  const int rank = std::atoi(rank_text);
  const bool dies = std::string(std::getenv("SINTER_TEST_ENDS")) == "killed";
  SocketWorld world(rank, std::atoi(std::getenv("SINTER_TEST_SOCKET")));
  absl::StatusOr<Session> session =
      MakeGpuSession(TrainingPlan(Gpus(2), kProcessSize, false), {.world = &world});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string own = absl::StrCat("w", rank);
  float w = 1;
  for (int run = 0; run < 8; ++run) {
    const float x = static_cast<float>(run % 3);
    const HostTensor input = Filled(kProcessSize, x);
    ASSERT_TRUE(session->Run("f", {{"x", input}}).ok());
    w = w + (x + w) + 4 * x;
    if (run % 3 != 2) continue;
    ASSERT_THAT(*session->ReadVariable(own)->Span<float>(), Each(w)) << run;
  }
  if (!dies) return;
  ASSERT_TRUE(session->Synchronize().ok());
  if (rank == 1) raise(SIGKILL);
  const Clock::time_point start = Clock::now();
  const HostTensor input = Filled(kProcessSize, 1);
  absl::Status status = session->Run("f", {{"x", input}}).status();
  if (status.ok()) status = session->Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 has ended, and is missing in all_reduce, rank 0 of 2 (gpu:0, gpu:1)"));
  std::cout << "after " << std::chrono::duration<double>(Clock::now() - start).count() << " s: " << status
            << std::endl;
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 10);
}

// Starts both ranks, each with its own GPU. Returns the exit codes, or minus the signal that ended a rank.
std::vector<int> RunRanks(const std::string& ends) {
  int sockets[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      close(sockets[1 - rank]);
      setenv("SINTER_TEST_RANK", std::to_string(rank).c_str(), 1);
      setenv("SINTER_TEST_SOCKET", std::to_string(sockets[rank]).c_str(), 1);
      setenv("SINTER_TEST_ENDS", ends.c_str(), 1);
      setenv("CUDA_VISIBLE_DEVICES", std::to_string(rank).c_str(), 1);
      execl("/proc/self/exe", "rank", "--gtest_also_run_disabled_tests",
            "--gtest_filter=CollectiveProcessTest.DISABLED_Rank", nullptr);
      _exit(127);
    }
    ranks.push_back(pid);
  }
  for (const int socket : sockets) close(socket);
  std::vector<int> ended;
  for (const pid_t pid : ranks) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    ended.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  }
  return ended;
}

TEST_F(CollectiveGpuTest, TwoProcessesTrainTogether) {
  EXPECT_THAT(RunRanks("well"), ::testing::ElementsAre(0, 0));
}

TEST_F(CollectiveGpuTest, OneProcessEndsWithAnErrorWhenTheOtherIsKilled) {
  EXPECT_THAT(RunRanks("killed"), ::testing::ElementsAre(0, -SIGKILL));
}

// Needs only one GPU. Uploads of inputs overlap with the previous run's computation.
TEST(InputGpuTest, InputsLandBesideTheWork) {
  if (const absl::Status status = CudaAvailable(); !status.ok()) GTEST_SKIP() << status.message();
  constexpr int64_t kSize = 16 << 20;
  constexpr int kSums = 100;
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  plan.AddVariable("sum", DType::kF32, {kSize});
  for (const bool computes : {false, true}) {
    TestFunction f(plan, computes ? "both" : "inputs");
    const uint32_t x = f.Input("x", DType::kF32, {kSize}), sum = f.Variable(0);
    for (int i = 0; i < (computes ? kSums : 1); ++i) {
      f.GpuKernel("add_f32", {x, sum}, {sum}, static_cast<uint32_t>(kSize / 256), 256);
    }
  }
  absl::StatusOr<Session> session = MakeGpuSession(plan);
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor a = Filled(kSize, 1), b = Filled(kSize, 2);
  const auto seconds_of = [&](const std::string& name, bool waits) {
    double best = 1e9;
    for (int pass = 0; pass < 4; ++pass) {
      EXPECT_TRUE(session->Synchronize().ok());
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(session->Run(name, {{"x", i % 2 == 0 ? a : b}}).ok());
        EXPECT_TRUE(!waits || session->Synchronize().ok());
      }
      EXPECT_TRUE(session->Synchronize().ok());
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / 10);
    }
    return best;
  };
  const double inputs = seconds_of("inputs", true), in_turn = seconds_of("both", true),
               together = seconds_of("both", false);
  std::cout << "inputs " << inputs * 1e3 << " ms, a run that is waited for " << in_turn * 1e3
            << " ms, others " << together * 1e3 << " ms" << std::endl;
  EXPECT_LT(together, in_turn - 0.3 * std::min(inputs, in_turn - inputs));
  // Each run must see its own input: 1 and 2 in turn.
  ASSERT_TRUE(session->ResetVariables().ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(session->Run("inputs", {{"x", i % 2 == 0 ? a : b}}).ok());
  EXPECT_THAT(*session->ReadVariable("sum")->Span<float>(), Each(15.0f));
  ASSERT_TRUE(session->Run("both", {{"x", a}}).ok());
  ASSERT_TRUE(session->Run("both", {{"x", b}}).ok());
  EXPECT_THAT(*session->ReadVariable("sum")->Span<float>(), Each(15.0f + 3 * kSums));
}

}  // namespace
}  // namespace sinter
