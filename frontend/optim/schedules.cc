#include "sinter/frontend/optim/schedules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/schedule_check.h"

// The results of the C library's functions depend on the CPU; those of these functions do not.
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter::optim {
namespace {

// The functions that a formula below needs, for the host's double and the device's tensor.
double RoundDown(double x) { return std::floor(x); }
Tensor RoundDown(const Tensor& x) { return Floor(x); }
double AtMost(double x, double most) { return std::min(x, most); }
Tensor AtMost(const Tensor& x, double most) { return Minimum(x, most); }
double AtLeast(double x, double least) { return std::max(x, least); }
Tensor AtLeast(const Tensor& x, double least) { return Maximum(x, least); }
double CosineOf(double x) { return sn_cos_f64(x); }
Tensor CosineOf(const Tensor& x) { return Cos(x); }
double Power(double x, double y) { return sn_pow_f64(x, y); }
Tensor Power(const Tensor& x, double y) { return Pow(x, y); }
Tensor Power(double x, const Tensor& y) { return Pow(x, y); }
double Choose(bool condition, double yes, double no) { return condition ? yes : no; }
Tensor Choose(const Tensor& condition, const Operand& yes, const Operand& no) {
  return Select(condition, yes, no);
}

// Returns both forms of a formula of the step.
template <typename F>
RateSchedule BothForms(F formula) {
  return RateSchedule([=](int64_t step) { return formula(static_cast<double>(step)); },
                      [=](const Tensor& step) -> Tensor { return formula(step); });
}

// Half a cosine from `from` to `to` while `done` goes from 0 to 1.
template <typename T>
T HalfCosine(const T& done, double from, double to) {
  return (CosineOf(done * std::numbers::pi) + 1.0) * ((from - to) / 2) + to;
}

template <typename T>
T Between(const T& done, double from, double to, bool linear) {
  if (linear) return done * (to - from) + from;
  return HalfCosine(done, from, to);
}

// The first error of the schedules; OK if there is none.
absl::Status ErrorOf(const std::vector<RateSchedule>& schedules) {
  for (const RateSchedule& schedule : schedules) {
    if (!schedule.status().ok()) return schedule.status();
  }
  return absl::OkStatus();
}

}  // namespace

RateSchedule CosineWithRestarts(double rate, int64_t period, double final_rate, int64_t multiplier,
                                Where where) {
  // The first steps of the periods, and their lengths. The last one is never left.
  std::vector<std::pair<double, double>> periods;
  constexpr double kNever = 1e15;
  double first = 0, length = static_cast<double>(std::max<int64_t>(period, 1));
  while (multiplier > 1 && first < kNever) {
    periods.emplace_back(first, length);
    first += length;
    length *= static_cast<double>(multiplier);
  }
  const auto at = [=]<typename T>(const T& step) -> T {
    if (multiplier == 1) {
      const T part = step / static_cast<double>(period);
      return HalfCosine<T>(part - RoundDown(part), rate, final_rate);
    }
    T done = step / periods[0].second;
    for (size_t i = 1; i < periods.size(); ++i)
      done = Choose(step >= periods[i].first, (step - periods[i].first) / periods[i].second, done);
    return HalfCosine<T>(done, rate, final_rate);
  };
  return ScheduleCheck("CosineWithRestarts", where)
      .Number("a rate", rate)
      .Steps("a period", period)
      .Number("a final rate", final_rate)
      .Steps("a multiplier", multiplier)
      .Else(BothForms(at));
}

RateSchedule PolynomialDecay(double rate, int64_t total_steps, double power, double final_rate, Where where) {
  const auto at = [=]<typename T>(const T& step) -> T {
    const T left = AtMost(step / static_cast<double>(total_steps), 1.0) * -1.0 + 1.0;
    return Power(left, power) * (rate - final_rate) + final_rate;
  };
  return ScheduleCheck("PolynomialDecay", where)
      .Number("a rate", rate)
      .Steps("a number of steps", total_steps)
      .That(power > 0, "needs a power above 0")
      .Number("a power", power)
      .Number("a final rate", final_rate)
      .Else(BothForms(at));
}

RateSchedule InverseDecay(double rate, double gamma, double power, Where where) {
  const auto at = [=]<typename T>(const T& step) -> T { return Power(step * gamma + 1.0, -power) * rate; };
  return ScheduleCheck("InverseDecay", where)
      .Number("a rate", rate)
      .Number("a gamma", gamma)
      .Number("a power", power)
      .Else(BothForms(at));
}

RateSchedule InverseSqrtDecay(double rate, int64_t warmup_steps, Where where) {
  const auto warmup = static_cast<double>(warmup_steps);
  const auto at = [=]<typename T>(const T& step) -> T {
    const T number = step + 1.0;
    // After the warm-up the quotient is at least 1.
    return Choose(number < warmup, number * (rate / warmup),
                  Power(AtLeast(number / warmup, 1.0), -0.5) * rate);
  };
  return ScheduleCheck("InverseSqrtDecay", where)
      .Number("a rate", rate)
      .Steps("a warm-up", warmup_steps)
      .Else(BothForms(at));
}

RateSchedule Noam(int64_t model_size, int64_t warmup_steps, double factor, Where where) {
  const ScheduleCheck check = ScheduleCheck("Noam", where)
                                  .Steps("a model size", model_size)
                                  .Steps("a warm-up", warmup_steps)
                                  .Number("a factor", factor);
  const double peak = factor / std::sqrt(static_cast<double>(std::max<int64_t>(model_size, 1)) *
                                         static_cast<double>(std::max<int64_t>(warmup_steps, 1)));
  return check.Else(InverseSqrtDecay(peak, warmup_steps, where));
}

RateSchedule OneCycle(double rate, int64_t total_steps, const OneCycleOptions& options, Where where) {
  const double top = options.rise * static_cast<double>(total_steps) - 1;
  const double last = static_cast<double>(total_steps) - 1;
  const double first_rate = rate / options.first_divisor, last_rate = first_rate / options.last_divisor;
  const bool linear = options.linear;
  const auto at = [=]<typename T>(const T& step) -> T {
    const T up = Between<T>(AtMost(step / std::max(top, 1e-9), 1.0), first_rate, rate, linear);
    const T down =
        Between<T>(AtMost(AtLeast((step - top) / (last - top), 0.0), 1.0), rate, last_rate, linear);
    return Choose(step <= top, up, down);
  };
  return ScheduleCheck("OneCycle", where)
      .Number("a rate", rate)
      .Steps("a number of steps", total_steps, 2)
      .That(options.rise > 0 && options.rise < 1, "needs a rise above 0 and below 1")
      .That(options.first_divisor > 0 && options.last_divisor > 0, "needs divisors above 0")
      .Else(BothForms(at));
}

RateSchedule Cyclic(double low, double high, int64_t up_steps, const CyclicOptions& options, Where where) {
  const auto up = static_cast<double>(up_steps);
  const double down = options.down_steps == 0 ? up : static_cast<double>(options.down_steps);
  const auto at = [=, halves = options.halves, factor = options.factor]<typename T>(const T& step) -> T {
    const T cycle = RoundDown(step / (up + down));
    const T place = step - cycle * (up + down);
    T scale = Choose(place <= up, place / up, (place - (up + down)) / -down);
    if (halves) scale = scale * Power(0.5, cycle);
    if (factor != 1) scale = scale * Power(factor, step);
    return scale * (high - low) + low;
  };
  return ScheduleCheck("Cyclic", where)
      .Number("a low rate", low)
      .Number("a high rate", high)
      .Steps("a number of steps", up_steps)
      .Steps("a number of steps down", options.down_steps, 0)
      .Number("a factor", options.factor)
      .Else(BothForms(at));
}

RateSchedule WarmupStableDecay(double rate, int64_t warmup_steps, int64_t stable_steps, int64_t decay_steps,
                               double final_rate, Where where) {
  const auto warmup = static_cast<double>(warmup_steps);
  const double stable = warmup + static_cast<double>(stable_steps);
  const auto at = [=]<typename T>(const T& step) -> T {
    const T done = AtMost(AtLeast((step - stable) / static_cast<double>(decay_steps), 0.0), 1.0);
    const T after = done * (final_rate - rate) + rate;
    if (warmup_steps == 0) return after;
    return Choose(step < warmup, (step + 1.0) * (rate / warmup), after);
  };
  return ScheduleCheck("WarmupStableDecay", where)
      .Number("a rate", rate)
      .Steps("a warm-up", warmup_steps, 0)
      .Steps("a stable time", stable_steps, 0)
      .Steps("a decay", decay_steps)
      .Number("a final rate", final_rate)
      .Else(BothForms(at));
}

RateSchedule Warmup(const RateSchedule& after, int64_t steps, Where where) {
  if (!after.status().ok()) return after;
  const auto on_host = [=](int64_t step) -> double {
    if (step >= steps) return after.OnHostAt(step - steps);
    return after.OnHostAt(0) * static_cast<double>(step + 1) / static_cast<double>(steps);
  };
  const auto on_device = [=](const Tensor& step) -> Tensor {
    const auto count = static_cast<double>(steps);
    if (steps == 0) return after.At(step);
    const Tensor rise = after.At(step * 0.0) * (step + 1.0) / count;
    return Select(step < count, rise, after.At(Maximum(step - count, 0.0)));
  };
  return ScheduleCheck("Warmup", where)
      .Steps("a number of steps", steps, 0)
      .Else(RateSchedule(on_host, after.is_on_device() ? RateSchedule::OnDevice(on_device) : nullptr));
}

RateSchedule JoinSchedules(const std::vector<RateSchedule>& schedules, const std::vector<int64_t>& boundaries,
                           Where where) {
  const absl::Status error = ErrorOf(schedules);
  if (!error.ok()) return RateSchedule(error);
  std::vector<int64_t> starts = {0};
  starts.insert(starts.end(), boundaries.begin(), boundaries.end());
  const auto on_host = [=](int64_t step) -> double {
    size_t i = 0;
    while (i + 1 < starts.size() && starts[i + 1] <= step) ++i;
    return schedules[i].OnHostAt(step - starts[i]);
  };
  const auto on_device = [=](const Tensor& step) -> Tensor {
    Tensor rate = schedules[0].At(step);
    for (size_t i = 1; i < starts.size(); ++i) {
      const auto start = static_cast<double>(starts[i]);
      rate = Select(step >= start, schedules[i].At(Maximum(step - start, 0.0)), rate);
    }
    return rate;
  };
  const bool is_on_device = std::ranges::all_of(schedules, &RateSchedule::is_on_device);
  return ScheduleCheck("JoinSchedules", where)
      .That(!schedules.empty() && schedules.size() == starts.size(),
            "needs at least one schedule, and one boundary less than schedules")
      .That(std::ranges::adjacent_find(starts, std::ranges::greater_equal()) == starts.end(),
            "needs boundaries that ascend from above 0")
      .Else(RateSchedule(on_host, is_on_device ? RateSchedule::OnDevice(on_device) : nullptr));
}

}  // namespace sinter::optim
