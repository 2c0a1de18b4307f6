// Learning-rate schedules: plain functions of the step, evaluated by the program and passed to a run as a
// scalar input, so that changing the rate never recompiles. One that was made from numbers which make no sense says so,
// with the line, in status(), and its rate is NaN at every step.
//
//   auto rate = optim::WarmupCosine(6e-4, /*warmup_steps=*/700, /*total_steps=*/10'000, /*final_rate=*/6e-5);
//   SINTER_RETURN_IF_ERROR(rate.status());
//   session.Run("train", {{"x", x}, {"y", y}, {"lr", rate(step)}});
#ifndef SINTER_FRONTEND_OPTIM_SCHEDULE_H_
#define SINTER_FRONTEND_OPTIM_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sinter/frontend/graph/tensor.h"

namespace sinter::optim {

class Schedule {
 public:
  // Any function from the step to the rate.
  template <typename F>
    requires(std::is_invocable_r_v<float, F&, int64_t> && !std::is_same_v<F, Schedule>)
  Schedule(F rate) : rate_(std::move(rate)) {}
  // One that was made wrongly.
  explicit Schedule(absl::Status status);

  // The learning rate of step 0, 1, 2, ...
  float operator()(int64_t step) const { return rate_(step); }
  const absl::Status& status() const { return status_; }

 private:
  std::function<float(int64_t step)> rate_;
  absl::Status status_;
};

// Rates and factors are at least 0, numbers of steps at least 1, but for `warmup_steps`, which may be 0.
Schedule ConstantRate(double rate, Where where = Where::current());
// rate * factor^floor(step / every).
Schedule StepDecay(double rate, double factor, int64_t every, Where where = Where::current());
// rate * factor^step.
Schedule ExponentialDecay(double rate, double factor, Where where = Where::current());
// The rate of the last boundary at or below the step; (0, rate) must come first, boundaries ascend.
Schedule PiecewiseRate(std::vector<std::pair<int64_t, double>> boundaries, Where where = Where::current());
// From `rate` to `final_rate` in a straight line over `total_steps`, then constant.
Schedule LinearDecay(double rate, int64_t total_steps, double final_rate = 0, Where where = Where::current());
// Loshchilov and Hutter, "SGDR" (arXiv 1608.03983), equation 5 without restarts: half a cosine from `rate` to
// `final_rate`, after a linear warm-up over `warmup_steps` that ends at `rate`; constant after `total_steps`.
Schedule WarmupCosine(double rate, int64_t warmup_steps, int64_t total_steps, double final_rate = 0,
                      Where where = Where::current());

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_SCHEDULE_H_
