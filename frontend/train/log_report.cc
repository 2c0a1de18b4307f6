#include "sinter/frontend/train/log_report.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/frontend/train/number_text.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

std::string JsonNumber(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return ExactText(number);
}

std::string JsonText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string LogJson(const std::vector<Values>& entries) {
  std::string text = "[";
  for (size_t i = 0; i < entries.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "\n  {" : ",\n  {");
    bool is_first = true;
    for (const auto& [key, value] : entries[i]) {
      absl::StrAppend(&text, is_first ? "" : ", ", JsonText(key), ": ", JsonNumber(value));
      is_first = false;
    }
    absl::StrAppend(&text, "}");
  }
  return text + "\n]\n";
}

absl::Status LogReport::Start(Trainer& trainer) {
  if (!waited_) waited_ = trainer.progress().input_wait;
  return absl::OkStatus();
}

absl::Status LogReport::Run(Trainer& trainer) {
  SINTER_ASSIGN_OR_RETURN(Values entry, trainer.observation());
  entry["epoch"] = std::floor(trainer.progress().epoch);
  entry["iteration"] = static_cast<double>(trainer.progress().iteration);
  entry["elapsed_time"] = trainer.progress().elapsed_time;
  entry["input_wait"] = trainer.progress().input_wait - *waited_;
  waited_ = trainer.progress().input_wait;
  entries_.push_back(std::move(entry));
  if (options_.file.empty() || !trainer.is_first()) return absl::OkStatus();
  return WriteFileAtomically(trainer.OutFile(options_.file), LogJson(entries_));
}

void LogReport::Save(State& state) const {
  state.SetInteger("entries", static_cast<int64_t>(entries_.size()));
  if (waited_) state.SetNumber("waited", *waited_);
  for (size_t i = 0; i < entries_.size(); ++i) {
    for (const auto& [key, value] : entries_[i]) state.SetNumber(absl::StrCat("entry/", i, "/", key), value);
  }
}

absl::Status LogReport::Load(const State& state) {
  SINTER_ASSIGN_OR_RETURN(const int64_t count, state.Integer("entries"));
  if (state.Has("waited")) {
    SINTER_ASSIGN_OR_RETURN(waited_, state.Number("waited"));
  }
  entries_.clear();
  for (int64_t i = 0; i < count; ++i) {
    const State part = state.Part(absl::StrCat("entry/", i));
    if (part.empty()) return absl::InvalidArgumentError(absl::StrCat("entry ", i, " of the log is missing"));
    Values& entry = entries_.emplace_back();
    for (const auto& [key, text] : part.entries()) {
      SINTER_ASSIGN_OR_RETURN(entry[key], part.Number(key));
    }
  }
  return absl::OkStatus();
}

absl::Status PrintReport::Start(Trainer& trainer) {
  if (trainer.Find<LogReport>() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("it prints what a LogReport has logged; Extend(train::LogReport())");
}

void PrintReport::Print(const std::vector<std::string>& cells) const {
  std::FILE* const out = options_.out ? options_.out : stdout;
  // A progress bar may be on the line.
  if (isatty(fileno(out))) std::fputs("\r\033[K", out);
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = cells[i];
    if (i + 1 < cells.size()) cell.resize(std::max({cell.size(), keys_[i].size(), size_t{10}}) + 2, ' ');
    line += cell;
  }
  std::fprintf(out, "%s\n", line.c_str());
  std::fflush(out);
}

absl::Status PrintReport::Run(Trainer& trainer) {
  const std::vector<Values>& entries = trainer.Find<LogReport>()->entries();
  for (; printed_ < entries.size(); ++printed_) {
    if (!trainer.is_first()) continue;
    if (!std::exchange(has_header_, true)) Print(keys_);
    std::vector<std::string> cells;
    for (const std::string& key : keys_) {
      const auto found = entries[printed_].find(key);
      cells.push_back(found == entries[printed_].end() ? "" : absl::StrFormat("%g", found->second));
    }
    Print(cells);
  }
  return absl::OkStatus();
}

absl::Status PrintReport::Load(const State& state) {
  SINTER_ASSIGN_OR_RETURN(const int64_t printed, state.Integer("printed"));
  printed_ = static_cast<size_t>(std::max<int64_t>(printed, 0));
  return absl::OkStatus();
}

}  // namespace sinter::train
