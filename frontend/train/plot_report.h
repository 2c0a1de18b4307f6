// PlotReport: curves of what the LogReport logs, as an SVG file.
//
//   trainer.Extend(train::PlotReport({"main/loss", "validation/main/loss"}, {.file = "loss.svg"}));
#ifndef SINTER_FRONTEND_TRAIN_PLOT_REPORT_H_
#define SINTER_FRONTEND_TRAIN_PLOT_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sinter/frontend/train/extension.h"
#include "sinter/frontend/train/metric_values.h"

namespace sinter::train {

struct PlotReportOptions {
  std::string file = "plot.svg";
  std::string x = "epoch";  // Key of the horizontal axis: "epoch", "iteration" or "elapsed_time".
};

// Returns an SVG document with a curve for each key: lines between the entries that have it, in both axes
// from the least to the largest value. Numbers that are not finite are left out.
std::string PlotSvg(const std::vector<Values>& entries, const std::vector<std::string>& keys,
                    const std::string& x);

// Draws the curves whenever the trainer's first LogReport has a new entry. FailedPrecondition: there is none.
class PlotReport : public Extension {
 public:
  explicit PlotReport(std::vector<std::string> keys, PlotReportOptions options = {})
      : keys_(std::move(keys)), options_(std::move(options)) {}

  absl::Status Start(Trainer& trainer) override;
  absl::Status Run(Trainer& trainer) override;
  std::string name() const override { return "PlotReport"; }
  int priority() const override { return kReader - 10; }

 private:
  std::vector<std::string> keys_;
  PlotReportOptions options_;
  size_t drawn_ = 0;
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_PLOT_REPORT_H_
