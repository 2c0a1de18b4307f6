#include "sinter/frontend/train/metric_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/number_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/buckets.h"

namespace sinter {
namespace {

double Ratio(double x, double y) { return y == 0 ? 0 : x / y; }

// A class's counts in a confusion matrix.
struct ClassCounts {
  double hits = 0, labels = 0, predictions = 0;
};

double Score(const std::string& what, const ClassCounts& counts) {
  if (what == "precision") return Ratio(counts.hits, counts.predictions);
  if (what == "recall") return Ratio(counts.hits, counts.labels);
  return Ratio(2 * counts.hits, counts.labels + counts.predictions);
}

// Precision, recall or F1 from f64[classes, classes], by label and prediction.
double ClassScore(const std::string& kind, int64_t classes, const std::vector<double>& sums) {
  const size_t mark = kind.rfind('_');
  const std::string what = kind.substr(0, mark), average = kind.substr(mark + 1);
  std::vector<ClassCounts> each(classes);
  for (int64_t label = 0; label < classes; ++label) {
    for (int64_t guess = 0; guess < classes; ++guess) {
      const double count = sums[label * classes + guess];
      each[label].labels += count;
      each[guess].predictions += count;
      if (label == guess) each[label].hits += count;
    }
  }
  if (std::ranges::all_of(sums, [](double sum) { return sum == 0; }))
    return std::numeric_limits<double>::quiet_NaN();
  if (average == "binary") return Score(what, each[1]);
  double sum = 0, weight = 0;
  for (const ClassCounts& counts : each) {
    const double share = average == "weighted" ? counts.labels : counts.labels + counts.predictions > 0;
    sum += share * Score(what, counts);
    weight += share;
  }
  return Ratio(sum, weight);
}

// The area under the ROC curve of histograms of negative and positive examples.
double Area(int64_t bins, const std::vector<double>& sums) {
  double pairs_won = 0, negatives = 0, positives = 0;
  for (int64_t bin = 0; bin < bins; ++bin) {
    const double negative = sums[bin], positive = sums[bins + bin];
    pairs_won += positive * (negatives + negative / 2);
    negatives += negative;
    positives += positive;
  }
  return pairs_won / (negatives * positives);
}

// The number of columns of an exact area's table: of those in use, or of all that runs have added.
int64_t ColumnsOf(const std::vector<int64_t>& shape, const std::vector<double>& table) {
  return static_cast<int64_t>(table[shape[1] - 1]);
}

// Returns f64[3, n + 1] for the first n columns of one with more room.
std::vector<double> Trimmed(const std::vector<int64_t>& shape, const std::vector<double>& table, int64_t n) {
  std::vector<double> trimmed;
  for (int64_t row = 0; row < 3; ++row) {
    const auto begin = table.begin() + row * shape[1];
    trimmed.insert(trimmed.end(), begin, begin + n);
    trimmed.push_back(row == 0 ? static_cast<double>(n) : 0);
  }
  return trimmed;
}

// The area under the ROC curve of scores and their weights as negative and positive examples, f64[3, n + 1].
double ExactArea(int64_t n, const std::vector<double>& table) {
  struct Example {
    double score, negative, positive;
  };
  std::vector<Example> examples;
  for (int64_t i = 0; i < n; ++i) {
    const Example example = {table[i], table[n + 1 + i], table[2 * (n + 1) + i]};
    if (example.negative == 0 && example.positive == 0) continue;
    if (std::isnan(example.score)) return std::numeric_limits<double>::quiet_NaN();
    examples.push_back(example);
  }
  std::ranges::sort(examples, {}, &Example::score);
  double pairs_won = 0, negatives = 0, positives = 0;
  for (size_t i = 0; i < examples.size();) {
    double negative = 0, positive = 0;
    for (const double score = examples[i].score; i < examples.size() && examples[i].score == score; ++i) {
      negative += examples[i].negative;
      positive += examples[i].positive;
    }
    pairs_won += positive * (negatives + negative / 2);
    negatives += negative;
    positives += positive;
  }
  return pairs_won / (negatives * positives);
}

bool IsClassScore(const std::string& kind) {
  for (const char* what : {"precision", "recall", "f1"}) {
    for (const char* average : {"macro", "weighted", "binary"}) {
      if (kind == absl::StrCat(what, "_", average)) return true;
    }
  }
  return false;
}

// A variable of a metric: "metric/<function>/<name>/<kind>".
struct Found {
  const VariableInfo* variable;
  std::string name, kind;
};

absl::StatusOr<std::vector<Found>> MetricsOf(const Session& session, std::string_view function) {
  SINTER_RETURN_IF_ERROR(FunctionOrBucket(session.plan(), function).status());
  const std::string prefix = absl::StrCat(std::string(kMetricPrefix), std::string(function), "/");
  std::vector<Found> found;
  for (const VariableInfo& variable : session.variables()) {
    if (!variable.name.starts_with(prefix)) continue;
    const std::string rest = variable.name.substr(prefix.size());
    const size_t mark = rest.find('/');
    // Other numbers of parts are of another function, whose name has a '/'.
    if (mark == std::string::npos || rest.find('/', mark + 1) != std::string::npos) continue;
    found.push_back({&variable, rest.substr(0, mark), rest.substr(mark + 1)});
  }
  return found;
}

absl::StatusOr<MetricTotal> ReadTotal(const Session& session, const Found& found) {
  if (found.variable->dtype != DType::kF64)
    return absl::InvalidArgumentError(absl::StrCat("variable \"", found.variable->name, "\" is ",
                                                   found.variable->TypeString(), "; a metric is of f64"));
  SINTER_ASSIGN_OR_RETURN(HostTensor table, session.ReadVariable(found.variable->name));
  SINTER_ASSIGN_OR_RETURN(auto sums, table.Span<double>());
  return MetricTotal::Of(found.kind, found.variable->shape, {sums.begin(), sums.end()});
}

}  // namespace

absl::StatusOr<MetricTotal> MetricTotal::Of(std::string kind, std::vector<int64_t> shape,
                                            std::vector<double> sums) {
  const bool is_pair = kind == "mean" || kind == "perplexity";
  const bool is_square = kind == "confusion" || IsClassScore(kind);
  const bool is_exact = kind == "exact_auc";
  if (!is_pair && !is_square && !is_exact && kind != "auc")
    return absl::InvalidArgumentError(
        absl::StrCat("there is no metric of the kind \"", kind, "\" in this version of Sinter"));
  const bool fits = is_pair     ? shape == std::vector<int64_t>{2}
                    : is_square ? shape.size() == 2 && shape[0] == shape[1] && shape[0] >= 1
                    : is_exact  ? shape.size() == 2 && shape[0] == 3 && shape[1] >= 1
                                : shape.size() == 2 && shape[0] == 2;
  int64_t size = 1;
  for (int64_t dim : shape) size *= dim;
  if (!fits || size != static_cast<int64_t>(sums.size()) || (kind.ends_with("binary") && shape[0] != 2))
    return absl::InvalidArgumentError(absl::StrCat("a metric of the kind \"", kind, "\" has no sums of ",
                                                   ShapeToString(DType::kF64, shape)));
  if (is_exact) {
    const int64_t columns = ColumnsOf(shape, sums);
    if (columns >= shape[1])
      return absl::OutOfRangeError(
          absl::StrCat("metrics::ExactAuc has room for ", shape[1] - 1,
                       " examples, and the runs since the last reading had ", columns,
                       ", padding included; set its .examples higher, or read the metrics more often"));
    sums = Trimmed(shape, sums, columns);
    shape[1] = columns + 1;
  }
  MetricTotal total;
  total.kind_ = std::move(kind);
  total.shape_ = std::move(shape);
  total.sums_ = std::move(sums);
  return total;
}

MetricTotal MetricTotal::OfNumber(double value) {
  MetricTotal total;
  total.kind_ = "mean";
  total.shape_ = {2};
  total.sums_ = {value, 1};
  return total;
}

bool MetricTotal::Fits(const MetricTotal& other) const {
  return kind_ == other.kind_ && (kind_ == "exact_auc" || shape_ == other.shape_);
}

void MetricTotal::Add(const MetricTotal& other) {
  if (kind_ == "exact_auc") {
    const int64_t mine = shape_[1] - 1, others = other.shape_[1] - 1, all = mine + others;
    std::vector<double> sums;
    for (int64_t row = 0; row < 3; ++row) {
      const auto here = sums_.cbegin() + row * (mine + 1), there = other.sums_.cbegin() + row * (others + 1);
      sums.insert(sums.end(), here, here + mine);
      sums.insert(sums.end(), there, there + others);
      sums.push_back(row == 0 ? static_cast<double>(all) : 0);
    }
    shape_[1] = all + 1;
    sums_ = std::move(sums);
    return;
  }
  for (size_t i = 0; i < std::min(sums_.size(), other.sums_.size()); ++i) sums_[i] += other.sums_[i];
}

double MetricTotal::Value() const {
  if (kind_ == "mean") return sums_[0] / sums_[1];
  if (kind_ == "perplexity") return std::exp(sums_[0] / sums_[1]);
  if (kind_ == "auc") return Area(shape_[1], sums_);
  if (kind_ == "exact_auc") return ExactArea(shape_[1] - 1, sums_);
  return ClassScore(kind_, shape_[0], sums_);
}

absl::StatusOr<HostTensor> MetricTotal::Table() const { return HostTensor::FromVector(shape_, sums_); }

std::string MetricTotal::ToText() const {
  std::string text = kind_;
  for (int64_t dim : shape_) absl::StrAppend(&text, " ", dim);
  absl::StrAppend(&text, " :");
  for (double sum : sums_) absl::StrAppend(&text, " ", ExactText(sum));
  return text;
}

absl::StatusOr<MetricTotal> MetricTotal::Parse(std::string_view text) {
  const std::vector<std::string> words = SplitWords(text);
  std::vector<int64_t> shape;
  std::vector<double> sums;
  size_t at = 1;
  bool is_good = !words.empty();
  for (; is_good && at < words.size() && words[at] != ":"; ++at) {
    double size = 0;
    is_good = ParseNumber(words[at], size) && size >= 0 && size < 1e9;
    shape.push_back(static_cast<int64_t>(size));
  }
  for (++at; is_good && at < words.size(); ++at) is_good = ParseNumber(words[at], sums.emplace_back());
  if (!is_good)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text.substr(0, 60)), "\" is no metric's sums"));
  return Of(words[0], std::move(shape), std::move(sums));
}

void AddTotals(const MetricTotals& from, const std::string& prefix, MetricTotals& to) {
  for (const auto& [name, total] : from) {
    auto [place, is_new] = to.try_emplace(prefix + name, total);
    if (is_new) continue;
    if (place->second.Fits(total))
      place->second.Add(total);
    else
      place->second = total;
  }
}

train::Values ValuesOf(const MetricTotals& totals) {
  train::Values values;
  for (const auto& [name, total] : totals) {
    if (total.is_number()) values[name] = total.Value();
  }
  return values;
}

absl::StatusOr<MetricTotals> TakeTotals(Session& session, std::string_view function) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<Found> metrics, MetricsOf(session, function));
  MetricTotals totals;
  absl::Status lost;
  for (const Found& metric : metrics) {
    absl::StatusOr<MetricTotal> total = ReadTotal(session, metric);
    if (absl::IsOutOfRange(total.status())) {
      lost = absl::OutOfRangeError(absl::StrCat("metric \"", metric.name, "\" of function \"",
                                                std::string(function), "\": ", total.status().message()));
      continue;
    }
    SINTER_RETURN_IF_ERROR(total.status());
    totals.emplace(metric.name, *std::move(total));
  }
  for (const Found& metric : metrics) {
    SINTER_ASSIGN_OR_RETURN(HostTensor zeros, HostTensor::Zeros(DType::kF64, metric.variable->shape));
    SINTER_RETURN_IF_ERROR(session.WriteVariable(metric.variable->name, zeros));
  }
  SINTER_RETURN_IF_ERROR(lost);
  return totals;
}

absl::StatusOr<MetricValues> ReadMetrics(Session& session, std::string_view function) {
  SINTER_ASSIGN_OR_RETURN(const MetricTotals totals, TakeTotals(session, function));
  if (totals.empty())
    return absl::NotFoundError(absl::StrCat("function \"", std::string(function),
                                            "\" has no metrics; add them where it is built: "
                                            "Metric(b, \"loss\", metrics::Mean(losses))"));
  MetricValues values{.numbers = ValuesOf(totals), .tables = {}};
  for (const auto& [name, total] : totals) {
    if (total.is_number()) continue;
    SINTER_ASSIGN_OR_RETURN(HostTensor table, total.Table());
    values.tables.emplace(name, std::move(table));
  }
  return values;
}

}  // namespace sinter
