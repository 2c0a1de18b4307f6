// Triggers: after which updates an extension runs, and when training ends.
//
//   trainer.Extend(train::Evaluator(test, "test"), {.trigger = train::Every(500, train::kIteration)});
//   trainer.Extend(train::Snapshot({.file = "best"}),
//                  {.trigger = train::OnBest("validation/main/accuracy", train::kMax)});
//   train::TrainerOptions{.stop = train::EarlyStopping({.key = "validation/main/loss", .patience = 5})};
//   train::Trigger late = [](const train::Progress& now) { return now.iteration > 1000; };
//
// The semantics are Chainer's: a trigger is asked after every update, in the extension's turn, so it sees
// what extensions of higher priority have observed. A copy of a trigger is another trigger with a state of
// its own, and the state of triggers is in snapshots. Invalid arguments are errors of Trainer::Run.
#ifndef SINTER_FRONTEND_TRAIN_TRIGGER_H_
#define SINTER_FRONTEND_TRAIN_TRIGGER_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/train/metric_values.h"
#include "sinter/frontend/train/state.h"

namespace sinter::train {

// How far training is. The numbers before the last update are 0 at first.
struct Progress {
  int64_t iteration = 0;  // Updates so far.
  double epoch = 0;       // Passes over the data so far, with the part of the current one: 1.5.
  int64_t previous_iteration = 0;
  double previous_epoch = 0;
  double elapsed_time = 0;  // Seconds of training, without the time between a snapshot and its resumption.
  double input_wait = 0;    // Seconds of these in which updates waited for their batches.
};

enum class Unit { kIteration, kEpoch };
inline constexpr Unit kIteration = Unit::kIteration, kEpoch = Unit::kEpoch;
enum class Better { kMax, kMin, kAuto };
inline constexpr Better kMax = Better::kMax, kMin = Better::kMin;

// Returns the means of the observations since the trigger last took them, and begins anew.
using TakeValues = std::function<absl::StatusOr<Values>()>;

struct TrainingLength {
  double count = 0;
  Unit unit = kEpoch;
};

// The behaviour of a trigger. A program that needs state in a trigger derives from it.
class TriggerRule {
 public:
  virtual ~TriggerRule() = default;
  virtual absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& take) = 0;
  virtual void Save(State& /*state*/) const {}
  virtual absl::Status Load(const State& /*state*/) { return absl::OkStatus(); }
  virtual std::unique_ptr<TriggerRule> Clone() const = 0;
  // The length of a training that this trigger ends, for a progress bar.
  virtual std::optional<TrainingLength> Length() const { return std::nullopt; }
};

class Trigger {
 public:
  explicit Trigger(std::unique_ptr<TriggerRule> rule) : rule_(std::move(rule)) {}
  // A condition without a state.
  template <typename F>
    requires(std::is_invocable_r_v<bool, F&, const Progress&> && !std::is_same_v<std::decay_t<F>, Trigger>)
  Trigger(F condition);
  Trigger(const Trigger& other) : rule_(other.rule_->Clone()) {}
  Trigger& operator=(const Trigger& other) {
    rule_ = other.rule_->Clone();
    return *this;
  }

  TriggerRule& rule() const { return *rule_; }

 private:
  std::unique_ptr<TriggerRule> rule_;
};

// Whenever another `period` is complete. A period in epochs may be a fraction: Every(0.25, kEpoch).
Trigger Every(double period, Unit unit);
// At these points alone, which may be fractions of epochs.
Trigger At(std::vector<double> points, Unit unit);
// After the first update of the training; `on_resume`: also after the first one of a resumed run.
Trigger Once(bool on_resume = false);
// Whenever this time of training has passed again.
Trigger EveryTime(double seconds);
// When the mean of `key` since the last check is better than ever. The first counts; NaN never does.
// InvalidArgument, with the keys that there are, if none was observed between two checks.
Trigger OnBest(std::string key, Better better, Trigger check = Every(1, kEpoch));
// From this point on: for TrainerOptions::stop.
Trigger Epochs(double count);
Trigger Iterations(int64_t count);

struct EarlyStoppingOptions {
  std::string key = "main/loss";
  int64_t patience = 3;
  Better better = Better::kAuto;  // kAuto: kMax for a key with "accuracy", else kMin.
  Trigger check = Every(1, kEpoch);
  Trigger at_latest = Epochs(100);
};
// When `patience` checks in a row have brought nothing better, and at_latest. Errors as OnBest.
Trigger EarlyStopping(EarlyStoppingOptions options = {});

namespace internal_trigger {

class Condition : public TriggerRule {
 public:
  explicit Condition(std::function<bool(const Progress&)> holds) : holds_(std::move(holds)) {}
  absl::StatusOr<bool> Fires(const Progress& now, const TakeValues& /*take*/) override { return holds_(now); }
  std::unique_ptr<TriggerRule> Clone() const override { return std::make_unique<Condition>(holds_); }

 private:
  std::function<bool(const Progress&)> holds_;
};

}  // namespace internal_trigger

template <typename F>
  requires(std::is_invocable_r_v<bool, F&, const Progress&> && !std::is_same_v<std::decay_t<F>, Trigger>)
Trigger::Trigger(F condition) : rule_(std::make_unique<internal_trigger::Condition>(std::move(condition))) {}

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_TRIGGER_H_
