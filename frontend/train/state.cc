#include "sinter/frontend/train/state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/number_text.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

absl::Status NoNumber(const std::string& key, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("the saved state has \"", text.substr(0, 60), "\" for \"", key, "\", which is no number"));
}

}  // namespace

void State::SetNumber(const std::string& key, double number) { entries_[key] = ExactText(number); }

void State::SetInteger(const std::string& key, int64_t number) { entries_[key] = absl::StrCat(number); }

void State::SetTotals(const std::string& key, const MetricTotals& totals) {
  for (const auto& [name, total] : totals) entries_[absl::StrCat(key, "/", name)] = total.ToText();
}

absl::StatusOr<std::string> State::Text(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  return absl::InvalidArgumentError(absl::StrCat("the saved state has no \"", key, "\""));
}

absl::StatusOr<double> State::Number(const std::string& key) const {
  SINTER_ASSIGN_OR_RETURN(const std::string text, Text(key));
  double number = 0;
  if (!ParseNumber(text, number)) return NoNumber(key, text);
  return number;
}

absl::StatusOr<int64_t> State::Integer(const std::string& key) const {
  SINTER_ASSIGN_OR_RETURN(const std::string text, Text(key));
  int64_t number = 0;
  if (!ParseNumber(text, number)) return NoNumber(key, text);
  return number;
}

absl::StatusOr<MetricTotals> State::Totals(const std::string& key) const {
  MetricTotals totals;
  const State part = Part(key);
  for (const auto& [name, text] : part.entries()) {
    SINTER_ASSIGN_OR_RETURN(MetricTotal total, MetricTotal::Parse(text));
    totals.emplace(name, std::move(total));
  }
  return totals;
}

void State::SetPart(const std::string& key, const State& part) {
  for (const auto& [name, text] : part.entries()) entries_[absl::StrCat(key, "/", name)] = text;
}

State State::Part(const std::string& key) const {
  State part;
  const std::string prefix = key + "/";
  for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at)
    part.entries_[at->first.substr(prefix.size())] = at->second;
  return part;
}

}  // namespace sinter::train
