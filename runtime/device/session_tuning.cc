#include "sinter/runtime/device/session_tuning.h"

#include <stdlib.h>

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/environment.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

absl::StatusOr<TuningMode> ModeOfEnvironment() {
  const std::string text = Environment("SINTER_GPU_TUNE");
  if (text.empty()) return TuningMode::kSavedEngines;
  if (text == "1") return TuningMode::kSameBits;
  if (text == "0") return TuningMode::kFirstChoice;
  if (text == "2") return TuningMode::kAnyBits;
  return absl::InvalidArgumentError(absl::StrCat(
      "SINTER_GPU_TUNE is \"", text,
      "\": write 0 to take the libraries' first choices of algorithms, 1 to measure those that give their "
      "bits, or 2 to measure all, whose bits may differ from load to load unless a tuning file keeps the "
      "choice; unset, it is 1, and engines of convolutions are measured where the file keeps them"));
}

absl::StatusOr<bool> SaveOfEnvironment() {
  const std::string text = Environment("SINTER_GPU_TUNE_SAVE");
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  return absl::InvalidArgumentError(
      absl::StrCat("SINTER_GPU_TUNE_SAVE is \"", text,
                   "\": write 1 to add what is measured to the tuning file, or 0 not to"));
}

}  // namespace

std::string TuningPath(const TuningOptions& options, std::string_view plan_path) {
  if (!options.file.empty()) return options.file;
  if (std::string named = Environment("SINTER_GPU_TUNING_FILE"); !named.empty()) return named;
  return plan_path.empty() ? "" : absl::StrCat(std::string(plan_path), ".tuning");
}

SessionTuning::SessionTuning(TuningOptions options, std::string_view plan_path)
    : options_(std::move(options)) {
  is_file_named_ = !TuningPath(options_, "").empty();
  report_.file = TuningPath(options_, plan_path);
}

absl::StatusOr<TuningMode> SessionTuning::Mode() const {
  SINTER_ASSIGN_OR_RETURN(const TuningMode mode, WholeMode());
  return mode == TuningMode::kSavedEngines ? TuningMode::kSameBits : mode;
}

absl::StatusOr<TuningMode> SessionTuning::WholeMode() const {
  SINTER_RETURN_IF_ERROR(SaveOfEnvironment().status());
  if (options_.mode.has_value()) return *options_.mode;
  return ModeOfEnvironment();
}

bool SessionTuning::Saves() const { return options_.save || SaveOfEnvironment().value_or(false); }

absl::StatusOr<std::string> SessionTuning::WhyNoEngines() {
  SINTER_ASSIGN_OR_RETURN(const TuningMode mode, WholeMode());
  switch (mode) {
    case TuningMode::kFirstChoice:
      return "tuning is off";
    case TuningMode::kSameBits:
      return "another engine may give other bits";
    case TuningMode::kAnyBits:
      return "";
    case TuningMode::kSavedEngines:
      break;
  }
  if (!Saves()) return "engines are measured where a file keeps the choice, as by `sinter tune`";
  if (!is_read_) Read();
  if (report_.file.empty() || is_broken_) return "there is no file to keep the choice of an engine";
  return "";
}

const TunedAlgorithm* SessionTuning::Find(const TuningKey& key, TuningMode mode) {
  if (mode == TuningMode::kFirstChoice || options_.again) return nullptr;
  if (!is_read_) Read();
  const auto found = stored_.find(key);
  if (found == stored_.end() || (mode == TuningMode::kAnyBits && !found->second.any_bits)) return nullptr;
  return &found->second;
}

void SessionTuning::Read() {
  is_read_ = true;
  if (report_.file.empty()) return;
  absl::StatusOr<TuningTable> table = LoadTuning(report_.file);
  if (table.ok()) {
    stored_ = *std::move(table);
    return;
  }
  // A missing file is normal if it is the default one or is about to be written.
  if (absl::IsNotFound(table.status()) && (!is_file_named_ || Saves())) return;
  is_broken_ = !absl::IsNotFound(table.status());
  Warn(absl::Status(table.status().code(),
                    absl::StrCat("matmuls are measured as if there were no tuning file: ",
                                 std::string(table.status().message()))));
}

void SessionTuning::Add(TuningChoice choice, const TunedAlgorithm* tuned) {
  if (!added_.insert(choice.key).second) return;
  if (tuned != nullptr) measured_[choice.key] = *tuned;
  report_.choices.push_back(std::move(choice));
}

void SessionTuning::Warn(const absl::Status& status) {
  report_.status.Update(status);
  std::cerr << "sinter: " << std::string(status.message()) << std::endl;
}

void SessionTuning::Finish() {
  if (measured_.empty() || !Saves()) return;
  if (report_.file.empty()) {
    return Warn(
        absl::FailedPreconditionError("what was measured is not saved: the plan is in no file that a tuning "
                                      "file could stand beside; name one "
                                      "in TuningOptions::file or SINTER_GPU_TUNING_FILE"));
  }
  // Read has already reported the broken file.
  if (is_broken_) return;
  const absl::Status status = SaveTuning(report_.file, measured_);
  if (status.ok()) return;
  Warn(absl::Status(status.code(),
                    absl::StrCat("what was measured is not saved: ", std::string(status.message()))));
}

}  // namespace sinter
