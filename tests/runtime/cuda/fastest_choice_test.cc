#include "sinter/runtime/cuda/context/fastest_choice.h"

#include <vector>

#include "gtest/gtest.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Candidates with known times; counts the samples taken of each.
struct Runners {
  std::vector<double> seconds;
  std::vector<bool> same_bits = std::vector<bool>(seconds.size(), true);
  // Factors that multiply the samples in turn, repeated.
  std::vector<double> drift = {1};

  absl::StatusOr<Fastest> Choose() {
    asked = std::vector<int>(seconds.size());
    spent = 0;
    return ChooseFastest({.count = seconds.size(),
                          .same_bits = [this](size_t i) -> absl::StatusOr<bool> {
                            ++compared;
                            return same_bits[i];
                          },
                          .seconds = [this](size_t i, int launches) -> absl::StatusOr<double> {
                            ++asked[i];
                            const double factor = drift[samples++ % drift.size()];
                            if (seconds[i] < 0) return absl::UnimplementedError("it does not run");
                            spent += seconds[i] * launches;
                            return seconds[i] * factor;
                          }});
  }

  std::vector<int> asked = {};
  int compared = 0;
  size_t samples = 0;
  double spent = 0;
};

size_t Choose(const std::vector<double>& seconds, const std::vector<bool>& same_bits) {
  return Runners{.seconds = seconds, .same_bits = same_bits}.Choose()->index;
}

TEST(FastestChoiceTest, TakesTheFastestOfThoseThatGiveTheSameBits) {
  EXPECT_EQ(Choose({5e-4, 4e-4, 3e-4, 2e-4}, {true, true, true, true}), 3u);
  EXPECT_EQ(Choose({5e-4, 4e-4, 3e-4, 2e-4}, {true, true, false, false}), 1u);
  EXPECT_EQ(Choose({5e-4, 1e-4}, {true, false}), 0u);
  EXPECT_EQ(Choose({5e-4}, {true}), 0u);
}

TEST(FastestChoiceTest, SaysHowQuick) {
  const Fastest fastest = *Runners{.seconds = {5e-4, 6e-4, 4e-4}}.Choose();
  EXPECT_EQ(fastest.index, 2u);
  EXPECT_DOUBLE_EQ(fastest.first_seconds, 5e-4);
  EXPECT_DOUBLE_EQ(fastest.seconds, 4e-4);
  const Fastest first = *Runners{.seconds = {5e-4, 6e-4}}.Choose();
  EXPECT_EQ(first.index, 0u);
  EXPECT_DOUBLE_EQ(first.seconds, 5e-4);
}

TEST(FastestChoiceTest, TakesTheEarlierOfNearlyEqualOnes) {
  EXPECT_EQ(Choose({5e-4, 5e-4, 4.96e-4}, {true, true, true}), 0u);
  EXPECT_EQ(Choose({5e-4, 4e-4, 3.99e-4}, {true, true, true}), 1u);
  EXPECT_EQ(Choose({5e-4, 4e-4, 3.9e-4}, {true, true, true}), 2u);
}

// The choice is always within 1 % of the best time.
TEST(FastestChoiceTest, SmallGainsAddUp) {
  Runners runners = {.seconds = {1.000e-4, 0.994e-4, 0.988e-4, 0.982e-4}};
  const Fastest fastest = *runners.Choose();
  EXPECT_LE(runners.seconds[fastest.index], 0.982e-4 / 0.99);
}

TEST(FastestChoiceTest, AClockThatDriftsDecidesNothing) {
  // Some samples fall into moments when everything is slow.
  Runners runners = {.seconds = {1e-4, 0.9e-4, 0.95e-4}, .drift = {1, 1, 1.1, 1, 1, 1, 1, 1.05, 1}};
  EXPECT_EQ(runners.Choose()->index, 1u);
}

TEST(FastestChoiceTest, ComparesNoBitsOfThoseThatAreSlower) {
  Runners runners = {.seconds = {1e-4, 2e-4, 3e-4}};
  EXPECT_EQ(runners.Choose()->index, 0u);
  EXPECT_EQ(runners.compared, 0);
}

TEST(FastestChoiceTest, TakesABoundedTime) {
  // 32 candidates of 10 us, 0.3 ms or 4 ms; the last is the fastest. At 4 ms the time limit ends the search
  // early.
  for (const double each : {1e-5, 3e-4, 4e-3}) {
    Runners runners = {.seconds = std::vector<double>(32, each)};
    runners.seconds[4] = 0.8 * each;
    runners.seconds[31] = 0.7 * each;
    const Fastest fastest = *runners.Choose();
    EXPECT_EQ(fastest.index, each < 1e-3 ? 31u : 4u);
    EXPECT_LT(runners.spent, each < 1e-3 ? 1.2 * kTuningSeconds : 2 * kTuningSeconds) << each;
    EXPECT_EQ(runners.asked[kLeastCandidates] > 0, each < 1e-3);
  }
}

TEST(FastestChoiceTest, LeavesOutWhatDoesNotRun) {
  Runners runners = {.seconds = {5e-4, -1, 4e-4}};
  EXPECT_EQ(runners.Choose()->index, 2u);
  EXPECT_EQ(runners.asked[1], 1);
  EXPECT_TRUE(absl::IsUnimplemented(Runners{.seconds = {-1, 4e-4}}.Choose().status()));
}

TEST(FastestChoiceTest, PassesErrorsOn) {
  const auto seconds = [](size_t i, int) -> absl::StatusOr<double> { return i == 0 ? 2e-4 : 1e-4; };
  const absl::Status broken = absl::InternalError("broken");
  EXPECT_EQ(ChooseFastest({.count = 2,
                           .same_bits = [&](size_t) -> absl::StatusOr<bool> { return broken; },
                           .seconds = seconds})
                .status(),
            broken);
  EXPECT_EQ(ChooseFastest({.count = 2,
                           .same_bits = [](size_t) -> absl::StatusOr<bool> { return true; },
                           .seconds = [&](size_t, int) -> absl::StatusOr<double> { return broken; }})
                .status(),
            broken);
}

}  // namespace
}  // namespace sinter
