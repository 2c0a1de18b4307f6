#include "sinter/frontend/optim/rate_schedule.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <string>

#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/schedule_check.h"

// The results of the C library's functions depend on the CPU; those of these functions do not.
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter::optim {

namespace {

RateSchedule Decaying(std::string name, double rate, double factor, int64_t every, Where where) {
  return ScheduleCheck(std::move(name), where)
      .Number("a rate", rate)
      .Number("a factor", factor)
      .Steps("a number of steps", every)
      .Else({[=](int64_t step) { return rate * sn_pow_f64(factor, static_cast<double>(step / every)); },
             [=](const Tensor& step) {
               const Tensor periods = Floor(step / static_cast<double>(every));
               return Pow(factor, periods) * rate;
             }});
}

// The part of `steps` that is done, from 0 to 1.
double Done(double step, double steps) { return std::min(1.0, step / steps); }
Tensor Done(const Tensor& step, double steps) { return Minimum(step / steps, 1.0); }

}  // namespace

RateSchedule::RateSchedule(OnHost on_host, OnDevice on_device)
    : forms_(std::make_shared<const Forms>(Forms{std::move(on_host), std::move(on_device)})) {}

RateSchedule::RateSchedule(absl::Status status)
    : RateSchedule([](int64_t) { return std::numeric_limits<double>::quiet_NaN(); }, nullptr) {
  status_ = std::move(status);
}

RateSchedule ConstantRate(double rate, Where where) {
  return ScheduleCheck("ConstantRate", where)
      .Number("a rate", rate)
      .Else({[=](int64_t) { return rate; }, [=](const Tensor& step) { return step * 0.0 + rate; }});
}

RateSchedule StepDecay(double rate, double factor, int64_t every, Where where) {
  return Decaying("StepDecay", rate, factor, every, where);
}

RateSchedule ExponentialDecay(double rate, double factor, Where where) {
  return Decaying("ExponentialDecay", rate, factor, 1, where);
}

RateSchedule PiecewiseRate(std::vector<std::pair<int64_t, double>> boundaries, Where where) {
  ScheduleCheck check("PiecewiseRate", where);
  check.That(!boundaries.empty() && boundaries[0].first == 0, "needs a first boundary of 0")
      .That(std::ranges::adjacent_find(boundaries, std::ranges::greater_equal(),
                                       &std::pair<int64_t, double>::first) == boundaries.end(),
            "needs boundaries that ascend");
  for (const auto& [from, rate] : boundaries) check.Number("a rate", rate);
  return check.Else({[boundaries](int64_t step) {
                       double rate = boundaries.front().second;
                       for (const auto& [from, value] : boundaries) {
                         if (from <= step) rate = value;
                       }
                       return rate;
                     },
                     [boundaries](const Tensor& step) {
                       Tensor rate = step * 0.0 + boundaries.front().second;
                       for (const auto& [from, value] : boundaries) {
                         rate = Select(step >= static_cast<double>(from), value, rate);
                       }
                       return rate;
                     }});
}

RateSchedule LinearDecay(double rate, int64_t total_steps, double final_rate, Where where) {
  const auto at = [=](const auto& step) {
    return Done(step, static_cast<double>(total_steps)) * (final_rate - rate) + rate;
  };
  return ScheduleCheck("LinearDecay", where)
      .Number("a rate", rate)
      .Steps("a number of steps", total_steps)
      .Number("a final rate", final_rate)
      .Else({[=](int64_t step) { return at(static_cast<double>(step)); }, at});
}

RateSchedule WarmupCosine(double rate, int64_t warmup_steps, int64_t total_steps, double final_rate,
                          Where where) {
  const auto warmup = static_cast<double>(warmup_steps);
  const auto span = static_cast<double>(std::max<int64_t>(total_steps - warmup_steps, 1));
  const auto on_host = [=](int64_t count) {
    const auto step = static_cast<double>(count);
    if (step < warmup) return rate * (step + 1) / warmup;
    const double cosine = 0.5 * (1 + sn_cos_f64(std::numbers::pi * Done(step - warmup, span)));
    return final_rate + (rate - final_rate) * cosine;
  };
  const auto on_device = [=](const Tensor& step) -> Tensor {
    const Tensor cosine = (Cos(Done(step - warmup, span) * std::numbers::pi) + 1.0) * 0.5;
    const Tensor after = cosine * (rate - final_rate) + final_rate;
    if (warmup_steps == 0) return after;
    return Select(step < warmup, (step + 1.0) * rate / warmup, after);
  };
  return ScheduleCheck("WarmupCosine", where)
      .Number("a rate", rate)
      .Steps("a warm-up", warmup_steps, 0)
      .Steps("a number of steps", total_steps)
      .Number("a final rate", final_rate)
      .Else({on_host, on_device});
}

}  // namespace sinter::optim
