// Learning-rate schedules: functions of the step.
// An optimiser evaluates a schedule on its device, from its own count of updates. Or the program evaluates it
// and passes the rate to a run as a scalar input, so changing the schedule needs no recompilation. A schedule
// made from invalid numbers reports them, with the line, in status(), and returns NaN at every step; an
// optimiser that is given it reports them too.
//
//   auto rate = optim::WarmupCosine(6e-4, /*warmup_steps=*/700, /*total_steps=*/10'000, /*final_rate=*/6e-5);
//   optim::Adam{.learning_rate = rate}.Minimize(loss);               // Either
//
//   SINTER_RETURN_IF_ERROR(rate.status());                           // or of an input:
//   session.Run("train", {{"x", x}, {"y", y}, {"lr", rate(step)}});
#ifndef SINTER_FRONTEND_OPTIM_RATE_SCHEDULE_H_
#define SINTER_FRONTEND_OPTIM_RATE_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sinter/frontend/graph/tensor.h"

namespace sinter::optim {

class RateSchedule {
 public:
  // Both forms of a schedule: one for the program, and one that builds the same in a graph. The latter takes
  // the step and returns the rate as f64[].
  using OnHost = std::function<double(int64_t step)>;
  using OnDevice = std::function<Tensor(const Tensor& step)>;
  RateSchedule(OnHost on_host, OnDevice on_device);
  // Wraps any function from the step to the rate. Only the program can evaluate it.
  template <typename F>
    requires(std::is_invocable_r_v<float, F&, int64_t> && !std::is_same_v<F, RateSchedule>)
  RateSchedule(F rate) : RateSchedule(OnHost(std::move(rate)), nullptr) {}
  // A schedule with invalid arguments.
  explicit RateSchedule(absl::Status status);

  // Returns the learning rate of step 0, 1, 2, ...
  float operator()(int64_t step) const { return static_cast<float>(forms_->on_host(step)); }
  // The same in full precision, for schedules that are made of it.
  double OnHostAt(int64_t step) const { return forms_->on_host(step); }
  const absl::Status& status() const { return status_; }

  // True if an optimiser can evaluate it.
  bool is_on_device() const { return forms_->on_device != nullptr; }
  // The learning rate at a step of type f64[], as f64[]. Needs is_on_device().
  Tensor At(const Tensor& step) const { return forms_->on_device(step); }
  // The same for copies of one schedule.
  const void* identity() const { return forms_.get(); }

 private:
  struct Forms {
    OnHost on_host;
    OnDevice on_device;
  };
  std::shared_ptr<const Forms> forms_;
  absl::Status status_;
};

// Bounds of the arguments below: rates and factors are at least 0; numbers of steps are at least 1, except
// `warmup_steps`, which may be 0.
RateSchedule ConstantRate(double rate, Where where = Where::current());
// rate * factor^floor(step / every).
RateSchedule StepDecay(double rate, double factor, int64_t every, Where where = Where::current());
// rate * factor^step.
RateSchedule ExponentialDecay(double rate, double factor, Where where = Where::current());
// The rate of the last boundary at or below the step. The first boundary must be (0, rate); boundaries
// ascend.
RateSchedule PiecewiseRate(std::vector<std::pair<int64_t, double>> boundaries,
                           Where where = Where::current());
// A straight line from `rate` to `final_rate` over `total_steps`, then constant.
RateSchedule LinearDecay(double rate, int64_t total_steps, double final_rate = 0,
                         Where where = Where::current());
// Loshchilov and Hutter, "SGDR" (arXiv 1608.03983), equation 5 without restarts: half a cosine from `rate` to
// `final_rate`, after a linear warm-up over `warmup_steps` that ends at `rate`. Constant after `total_steps`.
RateSchedule WarmupCosine(double rate, int64_t warmup_steps, int64_t total_steps, double final_rate = 0,
                          Where where = Where::current());

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_RATE_SCHEDULE_H_
