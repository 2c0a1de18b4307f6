// Small extensions of the training loop: FailOnNonNumber and ParameterStatistics.
//
//   trainer.Extend(train::FailOnNonNumber());
//   trainer.Extend(train::ParameterStatistics({.percentiles = {5, 50, 95}}));
#ifndef SINTER_FRONTEND_TRAIN_EXTENSIONS_H_
#define SINTER_FRONTEND_TRAIN_EXTENSIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sinter/frontend/train/extension.h"

namespace sinter::train {

// Ends the training with OutOfRange if an observed mean or a trainable variable is not finite, and names all
// that are not. Each check copies the trainable variables to main memory and waits for the device: every
// epoch by default.
class FailOnNonNumber : public Extension {
 public:
  absl::Status Run(Trainer& trainer) override;
  std::string name() const override { return "FailOnNonNumber"; }
  Trigger trigger() const override { return Every(1, kEpoch); }
};

struct ParameterStatisticsOptions {
  std::vector<double> percentiles = {};  // From 0 to 100, interpolated as NumPy's.
  std::string prefix = {};               // Before each key.
};

// Observes "<variable>/mean", "/std" (of the whole), "/min", "/max", "/zeros" (their number) and
// "/percentile/50" of each trainable variable of floats. Copies the variables to main memory: every epoch by
// default.
class ParameterStatistics : public Extension {
 public:
  explicit ParameterStatistics(ParameterStatisticsOptions options = {}) : options_(std::move(options)) {}
  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  std::string name() const override { return "ParameterStatistics"; }
  int priority() const override { return kWriter; }
  Trigger trigger() const override { return Every(1, kEpoch); }

 private:
  ParameterStatisticsOptions options_;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_EXTENSIONS_H_
