// Learning-rate schedules: plain functions of the step, evaluated by the program and passed to a run as a
// scalar input, so that changing the rate never recompiles.
//
//   auto rate = optim::WarmupCosine(6e-4, /*warmup_steps=*/700, /*total_steps=*/10'000, /*final_rate=*/6e-5);
//   session.Run("train", {{"x", x}, {"y", y}, {"lr", rate(step)}});
#ifndef SINTER_FRONTEND_OPTIM_SCHEDULE_H_
#define SINTER_FRONTEND_OPTIM_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace sinter::optim {

// The learning rate of step 0, 1, 2, ...
using Schedule = std::function<float(int64_t step)>;

Schedule ConstantRate(double rate);
// rate * factor^floor(step / every).
Schedule StepDecay(double rate, double factor, int64_t every);
// rate * factor^step.
Schedule ExponentialDecay(double rate, double factor);
// The rate of the last boundary at or below the step; (0, rate) must come first, boundaries ascend.
Schedule PiecewiseRate(std::vector<std::pair<int64_t, double>> boundaries);
// From `rate` to `final_rate` in a straight line over `total_steps`, then constant.
Schedule LinearDecay(double rate, int64_t total_steps, double final_rate = 0);
// Loshchilov and Hutter, "SGDR" (arXiv 1608.03983), equation 5 without restarts: half a cosine from `rate` to
// `final_rate`, after a linear warm-up over `warmup_steps` that ends at `rate`; constant after `total_steps`.
Schedule WarmupCosine(double rate, int64_t warmup_steps, int64_t total_steps, double final_rate = 0);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_SCHEDULE_H_
