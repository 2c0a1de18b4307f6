#include "sinter/frontend/optim/schedule.h"

#include <algorithm>
#include <numbers>

// The C library's functions depend on the CPU; these do not.
#include "sinter/kernels/cpu/vector_math.h"

namespace sinter::optim {

Schedule ConstantRate(double rate) {
  return [=](int64_t) { return static_cast<float>(rate); };
}

Schedule StepDecay(double rate, double factor, int64_t every) {
  return [=](int64_t step) {
    const int64_t decays = step / std::max<int64_t>(every, 1);
    return static_cast<float>(rate * sn_pow_f64(factor, static_cast<double>(decays)));
  };
}

Schedule ExponentialDecay(double rate, double factor) { return StepDecay(rate, factor, 1); }

Schedule PiecewiseRate(std::vector<std::pair<int64_t, double>> boundaries) {
  return [boundaries = std::move(boundaries)](int64_t step) {
    double rate = boundaries.empty() ? 0.0 : boundaries.front().second;
    for (const auto& [from, value] : boundaries) {
      if (from <= step) rate = value;
    }
    return static_cast<float>(rate);
  };
}

Schedule LinearDecay(double rate, int64_t total_steps, double final_rate) {
  return [=](int64_t step) {
    double done =
        std::min(1.0, static_cast<double>(step) / static_cast<double>(std::max<int64_t>(total_steps, 1)));
    return static_cast<float>(rate + (final_rate - rate) * done);
  };
}

Schedule WarmupCosine(double rate, int64_t warmup_steps, int64_t total_steps, double final_rate) {
  return [=](int64_t step) {
    if (step < warmup_steps) {
      return static_cast<float>(rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps));
    }
    double span = static_cast<double>(std::max<int64_t>(total_steps - warmup_steps, 1));
    double done = std::min(1.0, static_cast<double>(step - warmup_steps) / span);
    double cosine = 0.5 * (1 + sn_cos_f64(std::numbers::pi * done));
    return static_cast<float>(final_rate + (rate - final_rate) * cosine);
  };
}

}  // namespace sinter::optim
