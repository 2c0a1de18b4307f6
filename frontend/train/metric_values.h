// Reads the metrics of a session's function (frontend/train/metrics.h).
//
//   SINTER_ASSIGN_OR_RETURN(sn::MetricValues seen, sn::ReadMetrics(session, "test"));
//   std::cout << seen.numbers["accuracy"] << "\n";
//   SINTER_ASSIGN_OR_RETURN(auto counts, seen.tables.at("confusion").Span<double>());
//
// The plan may come from a file: the names of its variables say what to compute.
#ifndef SINTER_FRONTEND_TRAIN_METRIC_VALUES_H_
#define SINTER_FRONTEND_TRAIN_METRIC_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/session/session.h"

namespace sinter {

inline constexpr std::string_view kMetricPrefix = "metric/";

namespace train {

// Numbers by name, such as "main/loss".
using Values = std::map<std::string, double>;

}  // namespace train

struct MetricValues {
  train::Values numbers;
  std::map<std::string, HostTensor> tables;  // Tables of metrics::Confusion.
};

// Returns the values of the function's metrics since the last reading, and empties them. Takes one transfer
// for each metric, after the work enqueued so far. NotFound: there is no such function, or it has no metrics.
// InvalidArgument: a variable's name or type is not that of a metric of this version. OutOfRange: an exact
// metric, which this also empties, had no room for all of its examples.
absl::StatusOr<MetricValues> ReadMetrics(Session& session, std::string_view function);

// A metric's sums, which can be added to those of other runs.
class MetricTotal {
 public:
  // `kind` is the last part of the variable's name. InvalidArgument: there is no such kind, or it has another
  // shape. OutOfRange: it had no room for all of its examples.
  static absl::StatusOr<MetricTotal> Of(std::string kind, std::vector<int64_t> shape,
                                        std::vector<double> sums);
  // The total of one number that counts once.
  static MetricTotal OfNumber(double value);

  // Adds the sums of a total that fits.
  void Add(const MetricTotal& other);
  // True if the other one is of the same kind, and of the same shape unless it has examples (ExactAuc).
  bool Fits(const MetricTotal& other) const;
  bool is_number() const { return kind_ != "confusion"; }
  // The value; NaN if nothing counted. Needs is_number().
  double Value() const;
  absl::StatusOr<HostTensor> Table() const;

  const std::string& kind() const { return kind_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<double>& sums() const { return sums_; }

  // One line of text that keeps every bit, and back. Parse returns InvalidArgument for any other text.
  std::string ToText() const;
  static absl::StatusOr<MetricTotal> Parse(std::string_view text);

 private:
  MetricTotal() = default;

  std::string kind_;
  std::vector<int64_t> shape_;
  std::vector<double> sums_;
};

using MetricTotals = std::map<std::string, MetricTotal>;

// Adds each of `from`, under prefix and name, to `to`.
void AddTotals(const MetricTotals& from, const std::string& prefix, MetricTotals& to);
// The values of all totals that are numbers.
train::Values ValuesOf(const MetricTotals& totals);

// Returns the sums that ReadMetrics computes its values from, by name, and empties the metrics. Without
// metrics the result is empty. Other errors as ReadMetrics.
absl::StatusOr<MetricTotals> TakeTotals(Session& session, std::string_view function);

}  // namespace sinter

#endif  // SINTER_FRONTEND_TRAIN_METRIC_VALUES_H_
