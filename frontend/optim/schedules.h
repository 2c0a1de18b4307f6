// More schedules of learning rates, in the forms of rate_schedule.h: in the program and on the device.
//
//   optim::AdamW{.learning_rate = optim::WarmupStableDecay(3e-4, 1'000, 8'000, 1'000)}.Minimize(loss);
//   optim::Sgd{.learning_rate = optim::Warmup(optim::StepDecay(0.1, 0.1, 30), 5)}.Minimize(loss);
//   optim::RateSchedule rate = optim::JoinSchedules({first, second}, {100});      // second(0) at step 100.
//
// Steps count from 0. Bounds as in rate_schedule.h: rates and factors are at least 0, numbers of steps at
// least 1, except those of warm-ups. A schedule that is given one with an error has that error.
#ifndef SINTER_FRONTEND_OPTIM_SCHEDULES_H_
#define SINTER_FRONTEND_OPTIM_SCHEDULES_H_

#include <cstdint>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/optim/rate_schedule.h"

namespace sinter::optim {

// Half a cosine from `rate` to `final_rate` over `period` steps, again and again; each period has
// `multiplier` times the steps of the one before (Loshchilov and Hutter, "SGDR", arXiv 1608.03983).
RateSchedule CosineWithRestarts(double rate, int64_t period, double final_rate = 0, int64_t multiplier = 1,
                                Where where = Where::current());

// (rate - final_rate) * (1 - step / total_steps)^power + final_rate, then constant.
RateSchedule PolynomialDecay(double rate, int64_t total_steps, double power = 1, double final_rate = 0,
                             Where where = Where::current());

// rate * (1 + gamma * step)^-power.
RateSchedule InverseDecay(double rate, double gamma, double power = 1, Where where = Where::current());

// A linear warm-up over `warmup_steps` (at least 1) that ends at `rate`, then rate * sqrt(warmup_steps / n)
// at the n-th step, counted from 1.
RateSchedule InverseSqrtDecay(double rate, int64_t warmup_steps, Where where = Where::current());
// The same with the peak factor / sqrt(model_size * warmup_steps): Vaswani et al., "Attention Is All You
// Need" (arXiv 1706.03762), equation 3.
RateSchedule Noam(int64_t model_size, int64_t warmup_steps, double factor = 1,
                  Where where = Where::current());

// From `rate` / `first_divisor` up to `rate` in the part `rise` of the steps, then down to the first rate /
// `last_divisor`, each as half a cosine; then constant (Smith and Topin, "Super-Convergence", arXiv
// 1708.07120). As PyTorch's OneCycleLR, whose last step is total_steps - 1. At least 2 steps.
struct OneCycleOptions {
  double rise = 0.3;  // Above 0 and below 1.
  double first_divisor = 25, last_divisor = 1e4;
  bool linear = false;  // Straight lines in place of cosines.
};
RateSchedule OneCycle(double rate, int64_t total_steps, const OneCycleOptions& options = {},
                      Where where = Where::current());

// From `low` to `high` in straight lines and back, again and again (Smith, "Cyclical Learning Rates", arXiv
// 1506.01186).
struct CyclicOptions {
  int64_t down_steps = 0;  // 0: as many as up.
  bool halves = false;     // Each cycle rises half as far as the one before.
  double factor = 1;       // The rise is times factor^step.
};
RateSchedule Cyclic(double low, double high, int64_t up_steps, const CyclicOptions& options = {},
                    Where where = Where::current());

// A linear warm-up that ends at `rate`, then `rate`, then a straight line to `final_rate`, then constant (Hu
// et al., "MiniCPM", arXiv 2404.06395, with a linear decay). The numbers of steps follow each other.
RateSchedule WarmupStableDecay(double rate, int64_t warmup_steps, int64_t stable_steps, int64_t decay_steps,
                               double final_rate = 0, Where where = Where::current());

// A linear warm-up over `steps` in front of a schedule, which then begins with its step 0: the rate is
// after(0) * (step + 1) / steps, then after(step - steps).
RateSchedule Warmup(const RateSchedule& after, int64_t steps, Where where = Where::current());

// The first schedule until the first boundary, then the second, and so on; each begins with its step 0 at its
// boundary. There is one boundary less than schedules, and they ascend from above 0.
RateSchedule JoinSchedules(const std::vector<RateSchedule>& schedules, const std::vector<int64_t>& boundaries,
                           Where where = Where::current());

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_SCHEDULES_H_
