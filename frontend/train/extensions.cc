#include "sinter/frontend/train/extensions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/number_text.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

template <typename T>
absl::StatusOr<std::vector<double>> Widened(const HostTensor& tensor) {
  SINTER_ASSIGN_OR_RETURN(const auto span, tensor.Span<T>());
  std::vector<double> values;
  values.reserve(span.size());
  for (const T& value : span) {
    if constexpr (std::is_arithmetic_v<T>)
      values.push_back(static_cast<double>(value));
    else
      values.push_back(static_cast<double>(value.ToFloat()));
  }
  return values;
}

// Returns the values of a variable of floats.
absl::StatusOr<std::vector<double>> FloatsOf(const Session& session, const VariableInfo& variable) {
  SINTER_ASSIGN_OR_RETURN(const HostTensor tensor, session.ReadVariable(variable.name));
  switch (variable.dtype) {
    case DType::kF64:
      return Widened<double>(tensor);
    case DType::kF32:
      return Widened<float>(tensor);
    case DType::kBf16:
      return Widened<BFloat16>(tensor);
    default:
      return Widened<Float16>(tensor);
  }
}

std::vector<VariableInfo> TrainableFloats(const Session& session) {
  std::vector<VariableInfo> found;
  for (const VariableInfo& variable : session.variables()) {
    if (variable.trainable && IsFloat(variable.dtype)) found.push_back(variable);
  }
  return found;
}

// The percentile of sorted values, linearly interpolated.
double Percentile(const std::vector<double>& sorted, double percentile) {
  const double place = percentile / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - std::floor(place));
}

}  // namespace

absl::Status FailOnNonNumber::Run(Trainer& trainer) {
  std::string wrong;
  SINTER_ASSIGN_OR_RETURN(const Values seen, trainer.observation());
  for (const auto& [key, value] : seen) {
    if (!std::isfinite(value))
      absl::StrAppend(&wrong, wrong.empty() ? "" : ", ", key, " is ", ExactText(value));
  }
  for (const VariableInfo& variable : TrainableFloats(trainer.session())) {
    SINTER_ASSIGN_OR_RETURN(const std::vector<double> values, FloatsOf(trainer.session(), variable));
    const auto count = std::ranges::count_if(values, [](double value) { return !std::isfinite(value); });
    if (count > 0)
      absl::StrAppend(&wrong, wrong.empty() ? "" : ", ", count, " of ", values.size(),
                      " elements of variable ", variable.name);
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("not finite after update ", trainer.progress().iteration, ": ", wrong));
}

absl::Status ParameterStatistics::Start(Trainer& trainer) {
  for (const double percentile : options_.percentiles) {
    if (!(percentile >= 0 && percentile <= 100))
      return absl::InvalidArgumentError(absl::StrCat("a percentile is from 0 to 100, not ", percentile));
  }
  return absl::OkStatus();
}

absl::Status ParameterStatistics::Run(Trainer& trainer) {
  for (const VariableInfo& variable : TrainableFloats(trainer.session())) {
    SINTER_ASSIGN_OR_RETURN(std::vector<double> values, FloatsOf(trainer.session(), variable));
    if (values.empty()) continue;
    std::ranges::sort(values);
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const std::string key = absl::StrCat(options_.prefix, variable.name, "/");
    trainer.Observe(key + "mean", mean);
    trainer.Observe(key + "std", std::sqrt(squares / count));
    trainer.Observe(key + "min", values.front());
    trainer.Observe(key + "max", values.back());
    trainer.Observe(key + "zeros", static_cast<double>(std::ranges::count(values, 0.0)));
    for (const double percentile : options_.percentiles)
      trainer.Observe(absl::StrCat(key, "percentile/", ExactText(percentile)),
                      Percentile(values, percentile));
  }
  return absl::OkStatus();
}

}  // namespace sinter::train
