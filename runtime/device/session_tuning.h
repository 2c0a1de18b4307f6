// Holds the tuning state of one session: its file, the lookups of the devices, and the report.
// runtime/device/tuning.h explains tuning.
//
//   SessionTuning tuning(options.tuning, plan.path());
//   SINTER_ASSIGN_OR_RETURN(const TuningMode mode, tuning.Mode());
//   if (const TunedAlgorithm* known = tuning.Find(key, mode); known != nullptr) ...
//   tuning.Add({.key = key, .source = ChoiceSource::kMeasured, ...}, &measured);
//   tuning.Finish();                                                                 // Saves if enabled.
//
// One thread at a time. A plan without matmuls or convolutions on a GPU reads and writes nothing.
#ifndef SINTER_RUNTIME_DEVICE_SESSION_TUNING_H_
#define SINTER_RUNTIME_DEVICE_SESSION_TUNING_H_

#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/tuning.h"
#include "sinter/runtime/device/tuning_file.h"

namespace sinter {

class SessionTuning {
 public:
  // `plan_path` is empty for a plan that was not loaded from a file.
  explicit SessionTuning(TuningOptions options = {}, std::string_view plan_path = "");

  // Returns the mode for matmuls: kSameBits in mode kSavedEngines. InvalidArgument if SINTER_GPU_TUNE or
  // SINTER_GPU_TUNE_SAVE is invalid.
  absl::StatusOr<TuningMode> Mode() const;
  // Returns "" if engines of convolutions are measured, else the reason why not. Engines differ in bits, so
  // mode kSavedEngines measures them only if the file can keep the choice. Errors as of Mode.
  absl::StatusOr<std::string> WhyNoEngines();
  bool again() const { return options_.again; }

  // Returns null if the file has no choice for `key` that `mode` accepts. kAnyBits rejects a choice that was
  // made among the algorithms with the same bits. kSameBits accepts a choice made among all: the writer of
  // the file wanted it.
  const TunedAlgorithm* Find(const TuningKey& key, TuningMode mode);
  bool Has(const TuningKey& key) const { return added_.contains(key); }
  // Ignores a key that was added before. `tuned` is the entry to save, or null.
  void Add(TuningChoice choice, const TunedAlgorithm* tuned = nullptr);
  // Prints the error and puts it into the report, which keeps the first one.
  void Warn(const absl::Status& status);

  void Finish();

  const TuningReport& report() const { return report_; }

 private:
  absl::StatusOr<TuningMode> WholeMode() const;
  void Read();
  bool Saves() const;

  TuningOptions options_;
  bool is_file_named_ = false;  // True if the file is not the default beside the plan.
  bool is_read_ = false, is_broken_ = false;
  TuningTable stored_, measured_;
  std::set<TuningKey> added_;
  TuningReport report_;
};

// Returns the path of a plan's tuning file, as TuningOptions::file explains; empty if there is none.
std::string TuningPath(const TuningOptions& options, std::string_view plan_path);

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_SESSION_TUNING_H_
