// Several sessions on one GPU: results do not depend on the other sessions or on the thread that runs them.
// And the times of exchanges beside other steps.
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sinter/tests/runtime/cuda/driver_plans.h"
#include "sinter/tests/runtime/training_plans.h"

namespace sinter {
namespace {

constexpr uint32_t kRuns = 60;

// Returns the bits of z after one run.
absl::StatusOr<std::string> RunOnce(Session& session, uint32_t seed) {
  SINTER_ASSIGN_OR_RETURN(const Outputs out, session.Run("f", {{"x", DriverInput(seed)}}));
  SINTER_ASSIGN_OR_RETURN(const HostTensor* const z, out.Get("z"));
  return BytesOf(*z);
}

// Returns the bits of `kRuns` runs, and then of the variable that they change.
absl::StatusOr<std::vector<std::string>> RunAll(Session& session, uint32_t first_seed) {
  std::vector<std::string> results;
  for (uint32_t run = 0; run < kRuns; ++run) {
    SINTER_ASSIGN_OR_RETURN(results.emplace_back(), RunOnce(session, first_seed + run));
  }
  SINTER_ASSIGN_OR_RETURN(const HostTensor sum, session.ReadVariable("sum"));
  results.push_back(BytesOf(sum));
  return results;
}

class SharedGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint32_t i = 0; i < 2; ++i) {
      absl::StatusOr<Session> session = MakeDriverSession(TwoBranchesPlan());
      ASSERT_TRUE(session.ok()) << session.status();
      absl::StatusOr<std::vector<std::string>> results = RunAll(*session, SeedOf(i));
      ASSERT_TRUE(results.ok()) << results.status();
      alone_.push_back(*std::move(results));
    }
  }
  static uint32_t SeedOf(uint32_t session) { return 1000 * session; }

  std::vector<std::vector<std::string>> alone_;  // The results of each session alone.
};

TEST_F(SharedGpuTest, TwoSessionsInTurn) {
  std::vector<Session> sessions;
  for (int i = 0; i < 2; ++i) sessions.push_back(*MakeDriverSession(TwoBranchesPlan()));
  for (uint32_t run = 0; run < kRuns; ++run) {
    for (uint32_t i = 0; i < 2; ++i) {
      const absl::StatusOr<std::string> z = RunOnce(sessions[i], SeedOf(i) + run);
      ASSERT_TRUE(z.ok()) << z.status();
      ASSERT_TRUE(*z == alone_[i][run]) << "session " << i << ", run " << run;
    }
  }
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(BytesOf(*sessions[i].ReadVariable("sum")) == alone_[i].back()) << i;
  }
}

// Two threads create, run, capture and destroy sessions concurrently.
TEST_F(SharedGpuTest, TwoThreads) {
  for (int round = 0; round < 3; ++round) {
    std::vector<absl::StatusOr<std::vector<std::string>>> results(2, absl::InternalError("nothing was run"));
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 2; ++i) {
      threads.emplace_back([i, &result = results[i]] {
        absl::StatusOr<Session> session = MakeDriverSession(TwoBranchesPlan());
        if (session.ok()) {
          result = RunAll(*session, SeedOf(i));
        } else {
          result = session.status();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(results[i].ok()) << results[i].status();
      EXPECT_TRUE(*results[i] == alone_[i]) << "session " << i << ", round " << round;
    }
  }
}

// With Profile::exchanges_beside the times are those of an ordinary run: b = x + x runs during the reduction
// of a. Otherwise nothing runs during an exchange.
TEST(ProfiledExchangeTest, RunsBesideOtherSteps) {
  if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
  constexpr int64_t kSize = 256;
  absl::StatusOr<Session> session =
      MakeDriverSession(TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, kSize, /*with_copy=*/false));
  ASSERT_TRUE(session.ok()) << session.status();
  BoundFunction f = *session->Bind("f");
  const HostTensor x = Filled(kSize, 0.25f);
  ASSERT_TRUE(f.SetInput("x", x).ok());
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(f.Run().ok());
  for (const bool beside : {false, true, false}) {
    Profile profile;
    profile.exchanges_beside = beside;
    for (int run = 0; run < 2; ++run) {
      const absl::Status status = f.Run(&profile);
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(profile.runs, 2);
    int overlaps = 0;
    for (const StepTimes& exchange : profile.steps) {
      if (exchange.kind != "all_reduce") continue;
      EXPECT_GT(exchange.seconds_min, 0);
      for (const StepTimes& step : profile.steps) {
        if (step.kind == "all_reduce" || step.device != exchange.device) continue;
        overlaps += step.begin_seconds < exchange.begin_seconds + exchange.seconds_min &&
                    exchange.begin_seconds < step.begin_seconds + step.seconds_min;
      }
    }
    if (UsesSoftwareGpu() || !beside) {
      EXPECT_EQ(overlaps > 0, beside) << overlaps;
    }
  }
}

}  // namespace
}  // namespace sinter
