#include "sinter/frontend/train/trigger.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

double Now(const Progress& progress, Unit unit) {
  return unit == kEpoch ? progress.epoch : static_cast<double>(progress.iteration);
}
double Before(const Progress& progress, Unit unit) {
  return unit == kEpoch ? progress.previous_epoch : static_cast<double>(progress.previous_iteration);
}

// A trigger made from invalid arguments.
class Wrong : public TriggerRule {
 public:
  explicit Wrong(std::string message) : message_(std::move(message)) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) override {
    return absl::InvalidArgumentError(message_);
  }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<Wrong>(message_); }

 private:
  std::string message_;
};

Trigger WrongTrigger(std::string message) { return Trigger(std::make_unique<Wrong>(std::move(message))); }

// Fires after the first update of this process, or of the whole training.
class OnceRule : public TriggerRule {
 public:
  explicit OnceRule(bool on_resume) : on_resume_(on_resume) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) override {
    return !std::exchange(done_, true);
  }
  void Save(State& state) const override { state.SetInteger("done", done_ ? 1 : 0); }
  absl::Status Load(const State& state) override {
    SINTER_ASSIGN_OR_RETURN(const int64_t done, state.Integer("done"));
    done_ = done != 0 && !on_resume_;
    return absl::OkStatus();
  }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<OnceRule>(*this); }

 private:
  bool on_resume_, done_ = false;
};

// Fires from a point on.
class LimitRule : public TriggerRule {
 public:
  explicit LimitRule(TrainingLength length) : length_(length) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) override {
    return Now(now, length_.unit) >= length_.count;
  }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<LimitRule>(length_); }
  std::optional<TrainingLength> Length() const override { return length_; }

 private:
  TrainingLength length_;
};

class TimeRule : public TriggerRule {
 public:
  explicit TimeRule(double seconds) : seconds_(seconds), next_(seconds) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) override {
    if (now.elapsed_time < next_) return false;
    // A long update may pass several periods, which count once.
    next_ = (std::floor(now.elapsed_time / seconds_) + 1) * seconds_;
    return true;
  }
  void Save(State& state) const override { state.SetNumber("next", next_); }
  absl::Status Load(const State& state) override {
    SINTER_ASSIGN_OR_RETURN(next_, state.Number("next"));
    return absl::OkStatus();
  }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<TimeRule>(*this); }

 private:
  double seconds_, next_;
};

// The best value of a key so far.
class Best {
 public:
  Best(std::string key, Better better) : key_(std::move(key)), better_(better) {
    if (better_ == Better::kAuto)
      better_ = key_.find("accuracy") == std::string::npos ? Better::kMin : Better::kMax;
  }

  // True if the key's mean since the last check is better.
  absl::StatusOr<bool> Check(const TakeValues& take) {
    SINTER_ASSIGN_OR_RETURN(const Values values, take());
    const auto found = values.find(key_);
    if (found == values.end()) {
      std::string keys;
      for (const auto& [key, value] : values) absl::StrAppend(&keys, keys.empty() ? "" : ", ", key);
      return absl::InvalidArgumentError(absl::StrCat(
          "a trigger checks \"", key_, "\", of which nothing was observed since its last check; there is ",
          keys.empty() ? "nothing" : keys, "; check it as often as it is observed"));
    }
    const double value = found->second;
    if (std::isnan(value)) return false;
    if (best_ && !(better_ == Better::kMax ? value > *best_ : value < *best_)) return false;
    best_ = value;
    return true;
  }
  void Save(State& state) const {
    if (best_) state.SetNumber("best", *best_);
  }
  absl::Status Load(const State& state) {
    best_.reset();
    if (!state.Has("best")) return absl::OkStatus();
    SINTER_ASSIGN_OR_RETURN(best_, state.Number("best"));
    return absl::OkStatus();
  }

 private:
  std::string key_;
  Better better_;
  std::optional<double> best_;
};

class BestRule : public TriggerRule {
 public:
  BestRule(Best best, Trigger check) : best_(std::move(best)), check_(std::move(check)) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) override {
    SINTER_ASSIGN_OR_RETURN(const bool checks, check_.rule().Fires(now, take));
    if (!checks) return false;
    return best_.Check(take);
  }
  void Save(State& state) const override {
    best_.Save(state);
    State check;
    check_.rule().Save(check);
    state.SetPart("check", check);
  }
  absl::Status Load(const State& state) override {
    SINTER_RETURN_IF_ERROR(best_.Load(state));
    const State check = state.Part("check");
    return check.empty() ? absl::OkStatus() : check_.rule().Load(check);
  }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<BestRule>(*this); }

 private:
  Best best_;
  Trigger check_;
};

class StoppingRule : public TriggerRule {
 public:
  explicit StoppingRule(EarlyStoppingOptions options)
      : best_(options.key, options.better), options_(std::move(options)) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) override {
    SINTER_ASSIGN_OR_RETURN(const bool is_latest, options_.at_latest.rule().Fires(now, take));
    SINTER_ASSIGN_OR_RETURN(const bool checks, options_.check.rule().Fires(now, take));
    if (is_latest) return true;
    if (!checks) return false;
    SINTER_ASSIGN_OR_RETURN(const bool is_better, best_.Check(take));
    worse_ = is_better ? 0 : worse_ + 1;
    return worse_ >= options_.patience;
  }
  void Save(State& state) const override {
    best_.Save(state);
    state.SetInteger("worse", worse_);
  }
  absl::Status Load(const State& state) override {
    SINTER_ASSIGN_OR_RETURN(worse_, state.Integer("worse"));
    return best_.Load(state);
  }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<StoppingRule>(*this); }
  std::optional<TrainingLength> Length() const override { return options_.at_latest.rule().Length(); }

 private:
  Best best_;
  EarlyStoppingOptions options_;
  int64_t worse_ = 0;
};

}  // namespace

Trigger Every(double period, Unit unit) {
  if (!(period > 0) || (unit == kIteration && period < 1))
    return WrongTrigger(
        absl::StrCat("train::Every needs a period above 0, and of at least 1 iteration; got ", period));
  return [=](const Progress& now) {
    return std::floor(Before(now, unit) / period) != std::floor(Now(now, unit) / period);
  };
}

Trigger At(std::vector<double> points, Unit unit) {
  if (points.empty()) return WrongTrigger("train::At needs at least one point");
  return [=](const Progress& now) {
    return std::ranges::any_of(
        points, [&](double point) { return Before(now, unit) < point && point <= Now(now, unit); });
  };
}

Trigger Once(bool on_resume) { return Trigger(std::make_unique<OnceRule>(on_resume)); }

Trigger EveryTime(double seconds) {
  if (!(seconds > 0))
    return WrongTrigger(absl::StrCat("train::EveryTime needs more than 0 seconds, got ", seconds));
  return Trigger(std::make_unique<TimeRule>(seconds));
}

Trigger OnBest(std::string key, Better better, Trigger check) {
  return Trigger(std::make_unique<BestRule>(Best(std::move(key), better), std::move(check)));
}

Trigger Epochs(double count) {
  if (!(count > 0)) return WrongTrigger(absl::StrCat("train::Epochs needs more than 0 epochs, got ", count));
  return Trigger(std::make_unique<LimitRule>(TrainingLength{count, kEpoch}));
}

Trigger Iterations(int64_t count) {
  if (count < 1) return WrongTrigger(absl::StrCat("train::Iterations needs at least 1, got ", count));
  return Trigger(std::make_unique<LimitRule>(TrainingLength{static_cast<double>(count), kIteration}));
}

Trigger EarlyStopping(EarlyStoppingOptions options) {
  if (options.patience < 1)
    return WrongTrigger(
        absl::StrCat("train::EarlyStopping needs a patience of at least 1, got ", options.patience));
  return Trigger(std::make_unique<StoppingRule>(std::move(options)));
}

}  // namespace sinter::train
