// LogReport: a JSON file of what was observed. PrintReport: a table of it.
//
//   trainer.Extend(train::LogReport()).Extend(train::PrintReport({"epoch", "main/loss", "elapsed_time"}));
//
// The file "log" in the trainer's folder is a list of objects as Chainer's: "epoch", "iteration",
// "elapsed_time" in seconds, and the mean of every observation since the object before. "input_wait" has the
// seconds since then in which updates waited for batches. If they are much of the time, the data is the
// bottleneck:
//
//   [
//     {"elapsed_time": 1.5, "epoch": 1, "input_wait": 0.02, "iteration": 600, "main/loss": 0.31}
//   ]
//
// A number that is not finite is NaN, Infinity or -Infinity, which Python's json reads. The file is replaced
// as a whole, so it can be read at any time.
#ifndef SINTER_FRONTEND_TRAIN_LOG_REPORT_H_
#define SINTER_FRONTEND_TRAIN_LOG_REPORT_H_

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/train/extension.h"
#include "sinter/frontend/train/metric_values.h"

namespace sinter::train {

// Returns the text of a log file.
std::string LogJson(const std::vector<Values>& entries);

struct LogReportOptions {
  std::string file = "log";            // Empty: no file.
  Trigger trigger = Every(1, kEpoch);  // When an object is added.
};

class LogReport : public Extension {
 public:
  explicit LogReport(LogReportOptions options = {}) : options_(std::move(options)) {}

  // Returns the objects so far; "epoch" counts whole epochs.
  const std::vector<Values>& entries() const { return entries_; }

  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  void Save(State& state) const override;
  absl::Status Load(const State& state) override;
  std::string name() const override { return "LogReport"; }
  Trigger trigger() const override { return options_.trigger; }

 private:
  LogReportOptions options_;
  std::vector<Values> entries_;
  std::optional<double> waited_;  // Progress::input_wait at the last object, or at the start.
};

struct PrintReportOptions {
  std::FILE* out = nullptr;  // Null: the standard output.
};

// Prints a row of these keys for each new entry of the trainer's first LogReport; a key that an entry lacks
// is blank. FailedPrecondition: there is no LogReport.
class PrintReport : public Extension {
 public:
  explicit PrintReport(std::vector<std::string> keys, PrintReportOptions options = {})
      : keys_(std::move(keys)), options_(options) {}

  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  void Save(State& state) const override { state.SetInteger("printed", static_cast<int64_t>(printed_)); }
  absl::Status Load(const State& state) override;
  std::string name() const override { return "PrintReport"; }
  int priority() const override { return kReader - 10; }

 private:
  void Print(const std::vector<std::string>& cells) const;

  std::vector<std::string> keys_;
  PrintReportOptions options_;
  size_t printed_ = 0;
  bool has_header_ = false;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_LOG_REPORT_H_
