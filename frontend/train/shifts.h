// Extensions that change an input of the update, such as a learning rate, while training goes on.
//
//   train::Updater updater(stream, "train", {.inputs = {{"lr", 0.1}}});
//   ...
//   trainer.Extend(train::ExponentialShift("lr", 0.5), {.trigger = train::Every(10, train::kEpoch)});
//   trainer.Extend(train::ObserveInput("lr"));                                 // Logs it as "lr".
//
// The input must be a number in UpdaterOptions::inputs (else the errors of Trainer::SetInput). A change needs
// no compilation. A rate that depends on the step alone is better a schedule
// (frontend/optim/rate_schedule.h), in UpdaterOptions::inputs or in the optimiser.
#ifndef SINTER_FRONTEND_TRAIN_SHIFTS_H_
#define SINTER_FRONTEND_TRAIN_SHIFTS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "sinter/frontend/train/extension.h"

namespace sinter::train {

// Sets the input to value(n), where n counts the runs of this extension from 1, at each run.
class Shift : public Extension {
 public:
  // The value also depends on the first one, that of UpdaterOptions::inputs.
  using Value = std::function<double(double first, int64_t n)>;
  Shift(std::string input, Value value) : input_(std::move(input)), value_(std::move(value)) {}

  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  void Save(State& state) const override;
  absl::Status Load(const State& state) override;
  std::string name() const override { return "Shift"; }

 private:
  std::string input_;
  Value value_;
  std::optional<double> first_;
  int64_t count_ = 0;
};

// first * rate^n, which goes no further than `target`. The rate is above 0.
Shift ExponentialShift(std::string input, double rate, std::optional<double> target = std::nullopt);
// From `from` until the run `begin` of this extension in a straight line to `to` at the run `end`, then
// constant.
Shift LinearShift(std::string input, double from, double to, int64_t begin, int64_t end);

// Multiplies the input by `factor` when a value has not become better for `patience` runs in a row: the mean
// of `key` since the run before. "Reduce on plateau". The input stays at least `least`.
struct PlateauShiftOptions {
  std::string key = "validation/main/loss";
  Better better = Better::kAuto;  // As EarlyStoppingOptions::better.
  double factor = 0.1;
  int64_t patience = 10;
  double least = 0;
};
class PlateauShift : public Extension {
 public:
  PlateauShift(std::string input, PlateauShiftOptions options = {})
      : input_(std::move(input)), options_(std::move(options)) {}

  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  void Save(State& state) const override;
  absl::Status Load(const State& state) override;
  std::string name() const override { return "PlateauShift"; }
  Trigger trigger() const override { return Every(1, kEpoch); }

 private:
  std::string input_;
  PlateauShiftOptions options_;
  std::optional<double> best_;
  int64_t worse_ = 0;
};

// Observes an input under its own name.
class ObserveInput : public Extension {
 public:
  explicit ObserveInput(std::string input) : input_(std::move(input)) {}
  absl::Status Run(Trainer& trainer) override;
  std::string name() const override { return "ObserveInput"; }
  int priority() const override { return kWriter; }

 private:
  std::string input_;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_SHIFTS_H_
