// Triggers, asked after each update of a training of 4 updates an epoch.
#include "sinter/frontend/train/trigger.h"

#include <map>

#include "sinter/tests/status_checks.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kPerEpoch = 4;

Progress After(int64_t iteration, double seconds = 0) {
  return {.iteration = iteration,
          .epoch = static_cast<double>(iteration) / kPerEpoch,
          .previous_iteration = iteration - 1,
          .previous_epoch = static_cast<double>(iteration - 1) / kPerEpoch,
          .elapsed_time = seconds};
}

absl::StatusOr<Values> Nothing() { return Values(); }

// The updates from `first` to `last` after which it fires.
std::vector<int64_t> Fires(const Trigger& trigger, int64_t first, int64_t last) {
  std::vector<int64_t> fired;
  for (int64_t i = first; i <= last; ++i) {
    const absl::StatusOr<bool> fires = trigger.rule().Fires(After(i), Nothing);
    EXPECT_TRUE(fires.ok()) << fires.status();
    if (fires.ok() && *fires) fired.push_back(i);
  }
  return fired;
}

TEST(TriggerTest, EveryCountsPeriods) {
  EXPECT_THAT(Fires(Every(3, kIteration), 1, 10), ElementsAre(3, 6, 9));
  EXPECT_THAT(Fires(Every(1, kEpoch), 1, 12), ElementsAre(4, 8, 12));
  EXPECT_THAT(Fires(Every(0.5, kEpoch), 1, 8), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(Fires(Every(0.3, kEpoch), 1, 4), ElementsAre(2, 3, 4));
  // A resumed training asks first after update 6.
  EXPECT_THAT(Fires(Every(3, kIteration), 7, 10), ElementsAre(9));
}

TEST(TriggerTest, AtFiresWhenAPointIsReached) {
  EXPECT_THAT(Fires(At({2, 5}, kIteration), 1, 10), ElementsAre(2, 5));
  EXPECT_THAT(Fires(At({0.3, 1}, kEpoch), 1, 10), ElementsAre(2, 4));
}

TEST(TriggerTest, OnceAndLimits) {
  EXPECT_THAT(Fires(Once(), 1, 5), ElementsAre(1));
  EXPECT_THAT(Fires(Epochs(1.5), 1, 8), ElementsAre(6, 7, 8));
  EXPECT_THAT(Fires(Iterations(4), 1, 5), ElementsAre(4, 5));
  EXPECT_EQ(Epochs(2).rule().Length()->count, 2);
  EXPECT_EQ(EarlyStopping().rule().Length()->count, 100);
  EXPECT_FALSE(Once().rule().Length().has_value());
  const Trigger odd = [](const Progress& now) { return now.iteration % 2 == 1; };
  EXPECT_THAT(Fires(odd, 1, 5), ElementsAre(1, 3, 5));
}

TEST(TriggerTest, OnceIsRemembered) {
  for (const bool on_resume : {false, true}) {
    const Trigger before = Once(on_resume), after = Once(on_resume);
    Fires(before, 1, 2);
    State state;
    before.rule().Save(state);
    ASSERT_OK(after.rule().Load(state));
    EXPECT_EQ(Fires(after, 3, 4).size(), on_resume ? 1u : 0u);
  }
}

TEST(TriggerTest, EveryTimeCountsSeconds) {
  const Trigger trigger = EveryTime(10);
  const auto fires = [&](double seconds) { return *trigger.rule().Fires(After(1, seconds), Nothing); };
  EXPECT_FALSE(fires(9));
  EXPECT_TRUE(fires(10.5));
  EXPECT_FALSE(fires(19));
  EXPECT_TRUE(fires(45));  // Several periods count once.
  EXPECT_FALSE(fires(49));
  State state;
  trigger.rule().Save(state);
  EXPECT_EQ(*state.Number("next"), 50);
}

// Asks at the end of each epoch with these values of "loss".
std::vector<int64_t> FiresWith(const Trigger& trigger, const std::vector<double>& losses) {
  std::vector<int64_t> fired;
  for (size_t epoch = 0; epoch < losses.size(); ++epoch) {
    const auto take = [&]() -> absl::StatusOr<Values> { return Values{{"loss", losses[epoch]}}; };
    for (int64_t i = 1; i <= kPerEpoch; ++i) {
      if (*trigger.rule().Fires(After(static_cast<int64_t>(epoch) * kPerEpoch + i), take))
        fired.push_back(static_cast<int64_t>(epoch) + 1);
    }
  }
  return fired;
}

TEST(TriggerTest, OnBestComparesMeans) {
  EXPECT_THAT(FiresWith(OnBest("loss", kMin), {3, 4, 2, 2, NAN, 1}), ElementsAre(1, 3, 6));
  EXPECT_THAT(FiresWith(OnBest("loss", kMax), {3, 4, 2, 4, 5}), ElementsAre(1, 2, 5));
  EXPECT_THAT(FiresWith(OnBest("loss", Better::kAuto, Every(2, kEpoch)), {3, 4, 2, 2}), ElementsAre(2, 4));
}

TEST(TriggerTest, ACopyHasAStateOfItsOwn) {
  const Trigger first = OnBest("loss", kMin);
  FiresWith(first, {1});
  const Trigger second = first;
  EXPECT_THAT(FiresWith(second, {2, 0.5}), ElementsAre(2));
  EXPECT_THAT(FiresWith(first, {0.7}), ElementsAre(1));
}

TEST(TriggerTest, EarlyStoppingHasPatience) {
  const Trigger stop = EarlyStopping({.key = "loss", .patience = 2, .at_latest = Epochs(7)});
  EXPECT_THAT(FiresWith(stop, {3, 2, 2.5, 1, 1, 1.5, 0.5}), ElementsAre(6, 7));
  const Trigger before = EarlyStopping({.key = "loss", .patience = 2}), after = before;
  FiresWith(before, {1, 2});
  State state;
  before.rule().Save(state);
  ASSERT_OK(after.rule().Load(state));
  EXPECT_THAT(FiresWith(after, {3}), ElementsAre(1));
}

TEST(TriggerTest, MistakesAreErrors) {
  const auto error = [](const Trigger& trigger) {
    return trigger.rule().Fires(After(4), [] { return absl::StatusOr<Values>(Values{{"main/loss", 1.0}}); });
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_ERROR(error(Every(0, kEpoch)), code, "needs a period above 0");
  EXPECT_ERROR(error(Every(0.5, kIteration)), code, "at least 1 iteration; got 0.5");
  EXPECT_ERROR(error(At({}, kEpoch)), code, "needs at least one point");
  EXPECT_ERROR(error(EveryTime(-1)), code, "more than 0 seconds, got -1");
  EXPECT_ERROR(error(Epochs(0)), code, "more than 0 epochs, got 0");
  EXPECT_ERROR(error(Iterations(0)), code, "at least 1, got 0");
  EXPECT_ERROR(error(EarlyStopping({.patience = 0})), code, "a patience of at least 1, got 0");
  EXPECT_ERROR(error(OnBest("validation/main/loss", kMin)), code,
               "a trigger checks \"validation/main/loss\", of which nothing was observed since its last "
               "check; there is main/loss");
}

TEST(StateTest, KeepsTextsAndNumbers) {
  State state, part;
  part.SetNumber("x", 0.1);
  part.SetInteger("n", -(int64_t{1} << 62));
  part.SetText("t", "a/b c");
  state.SetPart("ab", part);
  state.SetNumber("abc/x", 2);
  EXPECT_EQ(state.Part("ab").entries(), part.entries());
  EXPECT_EQ(*state.Number("ab/x"), 0.1);
  EXPECT_EQ(*state.Integer("ab/n"), -(int64_t{1} << 62));
  EXPECT_ERROR(state.Number("y"), absl::StatusCode::kInvalidArgument, "the saved state has no \"y\"");
  EXPECT_ERROR(state.Integer("ab/t"), absl::StatusCode::kInvalidArgument,
               "has \"a/b c\" for \"ab/t\", which is no number");
}

}  // namespace
}  // namespace sinter::train
