#include "sinter/frontend/train/shifts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {

absl::Status Shift::Start(Trainer& trainer) {
  SINTER_ASSIGN_OR_RETURN(const double now, trainer.Input(input_));
  if (!first_) first_ = now;
  if (!value_) return absl::InvalidArgumentError("the function of the value is empty");
  return trainer.SetInput(input_, count_ == 0 ? now : value_(*first_, count_));
}

absl::Status Shift::Run(Trainer& trainer) { return trainer.SetInput(input_, value_(*first_, ++count_)); }

void Shift::Save(State& state) const {
  state.SetInteger("count", count_);
  if (first_) state.SetNumber("first", *first_);
}

absl::Status Shift::Load(const State& state) {
  SINTER_ASSIGN_OR_RETURN(count_, state.Integer("count"));
  if (state.Has("first")) {
    SINTER_ASSIGN_OR_RETURN(first_, state.Number("first"));
  }
  return absl::OkStatus();
}

Shift ExponentialShift(std::string input, double rate, std::optional<double> target) {
  return Shift(std::move(input), [=](double first, int64_t n) {
    const double value = first * std::pow(rate, static_cast<double>(n));
    if (!target) return value;
    return rate < 1 ? std::max(value, *target) : std::min(value, *target);
  });
}

Shift LinearShift(std::string input, double from, double to, int64_t begin, int64_t end) {
  return Shift(std::move(input), [=](double, int64_t n) {
    const auto span = static_cast<double>(std::max<int64_t>(end - begin, 1));
    const double done = std::clamp(static_cast<double>(n - begin) / span, 0.0, 1.0);
    return done == 1 ? to : from + (to - from) * done;
  });
}

absl::Status PlateauShift::Start(Trainer& trainer) {
  if (options_.patience < 1 || !(options_.factor > 0) || !(options_.factor < 1))
    return absl::InvalidArgumentError(
        absl::StrCat("needs a patience of at least 1 and a factor between 0 and 1, got ", options_.patience,
                     " and ", options_.factor));
  if (options_.better == Better::kAuto)
    options_.better = options_.key.find("accuracy") == std::string::npos ? Better::kMin : Better::kMax;
  SINTER_ASSIGN_OR_RETURN(const double now, trainer.Input(input_));
  return trainer.SetInput(input_, now);
}

absl::Status PlateauShift::Run(Trainer& trainer) {
  SINTER_ASSIGN_OR_RETURN(const Values seen, trainer.observation());
  const auto found = seen.find(options_.key);
  if (found == seen.end())
    return absl::InvalidArgumentError(
        absl::StrCat("nothing was observed of \"", options_.key,
                     "\" since the last run; run it as often as that is observed"));
  const double value = found->second;
  const bool is_better = !best_ || (options_.better == Better::kMax ? value > *best_ : value < *best_);
  if (is_better) best_ = value;
  worse_ = is_better ? 0 : worse_ + 1;
  if (worse_ < options_.patience) return absl::OkStatus();
  worse_ = 0;
  SINTER_ASSIGN_OR_RETURN(const double now, trainer.Input(input_));
  return trainer.SetInput(input_, std::max(options_.least, now * options_.factor));
}

void PlateauShift::Save(State& state) const {
  state.SetInteger("worse", worse_);
  if (best_) state.SetNumber("best", *best_);
}

absl::Status PlateauShift::Load(const State& state) {
  SINTER_ASSIGN_OR_RETURN(worse_, state.Integer("worse"));
  if (state.Has("best")) {
    SINTER_ASSIGN_OR_RETURN(best_, state.Number("best"));
  }
  return absl::OkStatus();
}

absl::Status ObserveInput::Run(Trainer& trainer) {
  SINTER_ASSIGN_OR_RETURN(const double value, trainer.Input(input_));
  trainer.Observe(input_, value);
  return absl::OkStatus();
}

}  // namespace sinter::train
