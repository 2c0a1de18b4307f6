// ProgressBar: a line on a terminal with the part of the training that is done, its rate and the time left.
//
//   trainer.Extend(train::ProgressBar());
//   // [==========>             ]  43.2 %  epoch 8.64 of 20  iteration 5184  812 updates/s  8 s left
//
// If 1 % of the time or more went into waiting for batches, it adds that part: "35 % input wait".
// The length is that of the trainer's stop trigger: Epochs, Iterations, or the latest end of EarlyStopping.
// Without one the line has no bar. It reads no observations, so it waits for nothing. If the output is no
// terminal (a log file, CI), it prints nothing.
#ifndef SINTER_FRONTEND_TRAIN_PROGRESS_BAR_H_
#define SINTER_FRONTEND_TRAIN_PROGRESS_BAR_H_

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "sinter/frontend/train/extension.h"

namespace sinter::train {

struct ProgressBarOptions {
  std::FILE* out = nullptr;                        // Null: the standard output.
  std::chrono::milliseconds interval{100};         // The least time between two drawings.
  std::optional<bool> is_terminal = std::nullopt;  // True if `out` is one. Default: asks the system.
};

// Returns the line's text. `rate` is in updates a second, 0 if it is not known.
std::string ProgressText(const Progress& now, const std::optional<TrainingLength>& length,
                         int64_t updates_per_epoch, double rate);

// After every update.
class ProgressBar : public Extension {
 public:
  explicit ProgressBar(ProgressBarOptions options = {}) : options_(options) {}

  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  absl::Status Finish(Trainer& trainer) override;
  std::string name() const override { return "ProgressBar"; }
  int priority() const override { return kReader - 20; }

 private:
  using Clock = std::chrono::steady_clock;
  bool Draws(const Trainer& trainer) const;

  ProgressBarOptions options_;
  int64_t first_iteration_ = 0;
  Clock::time_point start_, drawn_;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_PROGRESS_BAR_H_
