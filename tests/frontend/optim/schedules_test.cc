// Schedules: the device's form against the program's, and both against the recurrences and formulas of
// PyTorch's torch.optim.lr_scheduler.
#include "sinter/frontend/optim/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter::optim {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  RateSchedule schedule;
};

std::vector<Case> Cases() {
  return {
      {"restarts", CosineWithRestarts(1.0, 5, 0.1)},
      {"longer restarts", CosineWithRestarts(1.0, 3, 0.1, 2)},
      {"polynomial", PolynomialDecay(1.0, 12, 2)},
      {"polynomial to", PolynomialDecay(1.0, 12, 0.5, 0.2)},
      {"inverse", InverseDecay(1.0, 0.3, 0.75)},
      {"root", InverseSqrtDecay(1.0, 4)},
      {"noam", Noam(64, 6, 2)},
      {"one cycle", OneCycle(1.0, 16)},
      {"linear cycle",
       OneCycle(1.0, 16, {.rise = 0.5, .first_divisor = 10, .last_divisor = 100, .linear = true})},
      {"cyclic", Cyclic(0.1, 1.0, 3, {.down_steps = 5})},
      {"halves", Cyclic(0.1, 1.0, 3, {.halves = true})},
      {"exponential cycles", Cyclic(0.1, 1.0, 3, {.factor = 0.9})},
      {"stable", WarmupStableDecay(1.0, 4, 6, 5, 0.1)},
      {"no warm-up", WarmupStableDecay(1.0, 0, 6, 5)},
      {"warm step", Warmup(StepDecay(1.0, 0.5, 4), 3)},
      {"joined",
       JoinSchedules({ConstantRate(0.5), LinearDecay(1.0, 4, 0.1), ExponentialDecay(0.3, 0.8)}, {5, 11})},
      {"warm joined", Warmup(JoinSchedules({ConstantRate(0.5), CosineWithRestarts(1.0, 4)}, {3}), 2)},
  };
}

using SchedulesTest = DeviceTest;

TEST_F(SchedulesTest, TheDeviceComputesWhatTheProgramDoes) {
  const std::vector<Case> cases = Cases();
  Graph graph("schedules");
  graph.Function("rates", Mode::kEval, [&](Builder& b) {
    const Tensor step = b.Input("step", F64, {});
    for (size_t i = 0; i < cases.size(); ++i) b.Output("r" + std::to_string(i), cases[i].schedule.At(step));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int64_t step = 0; step < 40; ++step) {
    absl::StatusOr<Outputs> out = session.Run("rates", {{"step", static_cast<double>(step)}});
    ASSERT_TRUE(out.ok()) << out.status();
    for (size_t i = 0; i < cases.size(); ++i) {
      EXPECT_NEAR(*out->Scalar("r" + std::to_string(i)), cases[i].schedule.OnHostAt(step), 1e-12)
          << cases[i].name << " at " << step;
    }
  }
}

// Compares a schedule with the rate at each step.
template <typename F>
void ExpectRates(const RateSchedule& schedule, int64_t steps, F rate) {
  ASSERT_TRUE(schedule.status().ok()) << schedule.status();
  for (int64_t step = 0; step < steps; ++step)
    EXPECT_NEAR(schedule.OnHostAt(step), rate(step), 1e-12) << step;
}

TEST(ScheduleFormulaTest, CosineAnnealingWarmRestarts) {
  for (const int64_t multiplier : {1, 2, 3}) {
    // T_cur and T_i of CosineAnnealingWarmRestarts.step().
    int64_t current = 0, period = 3;
    ExpectRates(CosineWithRestarts(0.7, 3, 0.05, multiplier), 60, [&](int64_t step) {
      if (step > 0 && ++current >= period) {
        current -= period;
        period *= multiplier;
      }
      return 0.05 + (0.7 - 0.05) *
                        (1 + std::cos(std::numbers::pi * static_cast<double>(current) /
                                      static_cast<double>(period))) /
                        2;
    });
  }
}

TEST(ScheduleFormulaTest, PolynomialLr) {
  double rate = 0.7;
  ExpectRates(PolynomialDecay(0.7, 10, 1.5), 15, [&](int64_t step) {
    if (step == 0) return rate;
    // PolynomialLR.get_lr(): the factor from one step to the next.
    const double now = static_cast<double>(std::min<int64_t>(step, 10));
    if (step <= 10) rate *= std::pow((1.0 - now / 10) / (1.0 - (now - 1) / 10), 1.5);
    return rate;
  });
}

TEST(ScheduleFormulaTest, NoamIsEquation3) {
  ExpectRates(Noam(512, 40, 2), 100, [](int64_t step) {
    const double n = static_cast<double>(step + 1);
    return 2 * std::pow(512.0, -0.5) * std::min(std::pow(n, -0.5), n * std::pow(40.0, -1.5));
  });
}

TEST(ScheduleFormulaTest, OneCycleLr) {
  for (const bool linear : {false, true}) {
    const OneCycleOptions options{.rise = 0.4, .first_divisor = 20, .last_divisor = 1000, .linear = linear};
    ExpectRates(OneCycle(0.6, 25, options), 25, [&](int64_t step) {
      const auto anneal = [&](double from, double to, double part) {
        if (linear) return (to - from) * part + from;
        return to + (from - to) / 2 * (std::cos(std::numbers::pi * part) + 1);
      };
      // OneCycleLR.get_lr() with its two phases, which end at 0.4 * 25 - 1 and 24.
      const double initial = 0.6 / 20, least = initial / 1000, now = static_cast<double>(step);
      return now <= 9 ? anneal(initial, 0.6, now / 9) : anneal(0.6, least, (now - 9) / (24 - 9));
    });
  }
  EXPECT_NEAR(OneCycle(0.6, 25)(1000), 0.6 / 25 / 1e4, 1e-9);
}

TEST(ScheduleFormulaTest, CyclicLr) {
  // CyclicLR.get_lr() with base_lr 0.1, max_lr 0.9, step_size_up 4, step_size_down 6.
  const auto rate = [](int64_t step, const std::function<double(double cycle)>& scale) {
    const double now = static_cast<double>(step), cycle = std::floor(1 + now / 10);
    const double x = 1 + now / 10 - cycle, ratio = 0.4;
    return 0.1 + 0.8 * (x <= ratio ? x / ratio : (x - 1) / (ratio - 1)) * scale(cycle);
  };
  ExpectRates(Cyclic(0.1, 0.9, 4, {.down_steps = 6}), 35,
              [&](int64_t step) { return rate(step, [](double) { return 1.0; }); });
  ExpectRates(Cyclic(0.1, 0.9, 4, {.down_steps = 6, .halves = true}), 35, [&](int64_t step) {
    return rate(step, [](double cycle) { return 1 / std::pow(2, cycle - 1); });
  });
  ExpectRates(Cyclic(0.1, 0.9, 4, {.down_steps = 6, .factor = 0.95}), 35, [&](int64_t step) {
    return rate(step, [&](double) { return std::pow(0.95, static_cast<double>(step)); });
  });
}

TEST(ScheduleFormulaTest, ChainerInverseShift) {
  ExpectRates(InverseDecay(0.5, 0.1, 0.75), 30,
              [](int64_t step) { return 0.5 * std::pow(1 + 0.1 * static_cast<double>(step), -0.75); });
}

TEST(ScheduleFormulaTest, WarmupStableDecayInThreeParts) {
  ExpectRates(WarmupStableDecay(0.8, 4, 3, 4, 0.2), 14, [](int64_t step) {
    const double rates[] = {0.2, 0.4, 0.6, 0.8, 0.8, 0.8, 0.8, 0.8, 0.65, 0.5, 0.35, 0.2, 0.2, 0.2};
    return rates[step];
  });
}

TEST(ScheduleFormulaTest, WarmupAndCosineAreWarmupCosine) {
  // Also as PyTorch chains them: SequentialLR(LinearLR, CosineAnnealingLR), milestone 5.
  const RateSchedule cosine = WarmupCosine(0.3, 0, 12, 0.01), whole = WarmupCosine(0.3, 5, 17, 0.01);
  const RateSchedule rise = [](int64_t step) {
    return static_cast<float>(0.3 * static_cast<double>(step + 1) / 5);
  };
  ExpectRates(Warmup(cosine, 5), 30, [&](int64_t step) { return whole.OnHostAt(step); });
  const RateSchedule joined = JoinSchedules({rise, cosine}, {5});
  EXPECT_FALSE(joined.is_on_device());
  for (int64_t step = 0; step < 30; ++step) EXPECT_NEAR(joined(step), whole(step), 1e-7) << step;
  EXPECT_TRUE(Warmup(cosine, 5).is_on_device());
  ExpectRates(Warmup(cosine, 0), 30, [&](int64_t step) { return cosine.OnHostAt(step); });
}

TEST(ScheduleErrorTest, NamesTheLineAndTheBound) {
  const RateSchedule good = ConstantRate(1);
  const std::vector<std::pair<RateSchedule, std::string>> cases = {
      {CosineWithRestarts(1, 0), "CosineWithRestarts needs a period of at least 1, got 0"},
      {CosineWithRestarts(1, 5, 0, 0), "CosineWithRestarts needs a multiplier of at least 1, got 0"},
      {CosineWithRestarts(1, 0, 0, 2), "a period of at least 1, got 0"},
      {PolynomialDecay(1, 10, 0), "PolynomialDecay needs a power above 0"},
      {InverseDecay(1, -1), "InverseDecay needs a gamma of at least 0, got -1"},
      {InverseSqrtDecay(1, 0), "InverseSqrtDecay needs a warm-up of at least 1, got 0"},
      {Noam(0, 5), "Noam needs a model size of at least 1, got 0"},
      {OneCycle(1, 1), "OneCycle needs a number of steps of at least 2, got 1"},
      {OneCycle(1, 10, {.rise = 1}), "OneCycle needs a rise above 0 and below 1"},
      {OneCycle(1, 10, {.last_divisor = 0}), "needs divisors above 0"},
      {Cyclic(0, INFINITY, 5), "Cyclic needs a high rate of at least 0, got inf"},
      {Cyclic(0, 1, 0), "Cyclic needs a number of steps of at least 1, got 0"},
      {WarmupStableDecay(1, 1, 1, 0), "WarmupStableDecay needs a decay of at least 1, got 0"},
      {Warmup(good, -1), "Warmup needs a number of steps of at least 0, got -1"},
      {Warmup(LinearDecay(1, 0), 5), "LinearDecay needs a number of steps"},
      {JoinSchedules({}, {}), "JoinSchedules needs at least one schedule"},
      {JoinSchedules({good, good}, {}), "one boundary less than schedules"},
      {JoinSchedules({good, good, good}, {4, 4}), "needs boundaries that ascend from above 0"},
      {JoinSchedules({good, good}, {0}), "needs boundaries that ascend from above 0"},
      {JoinSchedules({good, OneCycle(1, 1)}, {3}), "OneCycle needs a number of steps"},
  };
  for (const auto& [schedule, message] : cases) {
    EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(schedule.status().message()), HasSubstr(message));
    EXPECT_THAT(std::string(schedule.status().message()), HasSubstr("schedules_test.cc:"));
    EXPECT_TRUE(std::isnan(schedule(3)));
  }
}

}  // namespace
}  // namespace sinter::optim
