#include "sinter/frontend/optim/rate_schedule.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"

// The results of the C library's functions depend on the CPU; those of these functions do not.
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter::optim {

namespace {

// Checks the numbers of one schedule and keeps the first error.
class Check {
 public:
  Check(std::string name, Where where) : name_(std::move(name)), where_(where) {}

  Check& Number(std::string_view what, double value) {
    if (wrong_.empty()) wrong_ = OutOfBounds(what, value, {.low = 0});
    return *this;
  }
  Check& Steps(std::string_view what, int64_t steps, int64_t least = 1) {
    return That(steps >= least,
                absl::StrCat("needs ", std::string(what), " of at least ", least, ", got ", steps));
  }
  Check& That(bool holds, std::string_view else_wrong) {
    if (wrong_.empty() && !holds) wrong_ = else_wrong;
    return *this;
  }
  // Returns the schedule, or a schedule with the error.
  RateSchedule Else(RateSchedule schedule) const {
    if (wrong_.empty()) return schedule;
    return RateSchedule(absl::InvalidArgumentError(
        absl::StrCat(where_.file_name(), ":", where_.line(), ": ", name_, " ", wrong_)));
  }

 private:
  std::string name_;
  Where where_;
  std::string wrong_;
};

RateSchedule Decaying(std::string name, double rate, double factor, int64_t every, Where where) {
  return Check(std::move(name), where)
      .Number("a rate", rate)
      .Number("a factor", factor)
      .Steps("a number of steps", every)
      .Else([=](int64_t step) {
        return static_cast<float>(rate * sn_pow_f64(factor, static_cast<double>(step / every)));
      });
}

}  // namespace

RateSchedule::RateSchedule(absl::Status status)
    : rate_([](int64_t) { return std::numeric_limits<float>::quiet_NaN(); }), status_(std::move(status)) {}

RateSchedule ConstantRate(double rate, Where where) {
  return Check("ConstantRate", where).Number("a rate", rate).Else([=](int64_t) {
    return static_cast<float>(rate);
  });
}

RateSchedule StepDecay(double rate, double factor, int64_t every, Where where) {
  return Decaying("StepDecay", rate, factor, every, where);
}

RateSchedule ExponentialDecay(double rate, double factor, Where where) {
  return Decaying("ExponentialDecay", rate, factor, 1, where);
}

RateSchedule PiecewiseRate(std::vector<std::pair<int64_t, double>> boundaries, Where where) {
  Check check("PiecewiseRate", where);
  check.That(!boundaries.empty() && boundaries[0].first == 0, "needs a first boundary of 0")
      .That(std::ranges::adjacent_find(boundaries, std::ranges::greater_equal(),
                                       &std::pair<int64_t, double>::first) == boundaries.end(),
            "needs boundaries that ascend");
  for (const auto& [from, rate] : boundaries) check.Number("a rate", rate);
  return check.Else([boundaries = std::move(boundaries)](int64_t step) {
    double rate = boundaries.front().second;
    for (const auto& [from, value] : boundaries) {
      if (from <= step) rate = value;
    }
    return static_cast<float>(rate);
  });
}

RateSchedule LinearDecay(double rate, int64_t total_steps, double final_rate, Where where) {
  return Check("LinearDecay", where)
      .Number("a rate", rate)
      .Steps("a number of steps", total_steps)
      .Number("a final rate", final_rate)
      .Else([=](int64_t step) {
        double done = std::min(1.0, static_cast<double>(step) / static_cast<double>(total_steps));
        return static_cast<float>(rate + (final_rate - rate) * done);
      });
}

RateSchedule WarmupCosine(double rate, int64_t warmup_steps, int64_t total_steps, double final_rate,
                          Where where) {
  return Check("WarmupCosine", where)
      .Number("a rate", rate)
      .Steps("a warm-up", warmup_steps, 0)
      .Steps("a number of steps", total_steps)
      .Number("a final rate", final_rate)
      .Else([=](int64_t step) {
        if (step < warmup_steps) {
          return static_cast<float>(rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps));
        }
        double span = static_cast<double>(std::max<int64_t>(total_steps - warmup_steps, 1));
        double done = std::min(1.0, static_cast<double>(step - warmup_steps) / span);
        double cosine = 0.5 * (1 + sn_cos_f64(std::numbers::pi * done));
        return static_cast<float>(final_rate + (rate - final_rate) * cosine);
      });
}

}  // namespace sinter::optim
