// The tuning of one session (runtime/device/tuning.h): its file, what the devices look up in it while steps are made, and the report.
//
//   SessionTuning tuning(options.tuning, plan.path());
//   SINTER_ASSIGN_OR_RETURN(const TuningMode mode, tuning.Mode());
//   if (const TunedProduct* known = tuning.Find(key, mode); known != nullptr) ...          // Reads the file, once.
//   tuning.Add({.key = key, .source = ChoiceSource::kMeasured, ...}, &measured);
//   tuning.Finish();                                                                       // Saves, if asked to.
//
// One thread at a time. Nothing is read or written for a plan without products on a GPU.
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
  // `plan_path`: empty for a plan that is in no file.
  explicit SessionTuning(TuningOptions options = {}, std::string_view plan_path = "");

  // InvalidArgument: SINTER_GPU_TUNE or SINTER_GPU_TUNE_SAVE cannot be read.
  absl::StatusOr<TuningMode> Mode() const;
  bool again() const { return options_.again; }

  // Null: the file has no choice for this, or none that the mode takes. In kAnyBits a choice among those of the same bits does
  // not count; in kSameBits one among all does, since whoever wrote it into the file wanted it.
  const TunedProduct* Find(const ProductKey& key, TuningMode mode);
  bool Has(const ProductKey& key) const { return added_.contains(key); }
  // A product that was added before is left out. `tuned`: what to save, or null.
  void Add(ProductChoice choice, const TunedProduct* tuned = nullptr);
  // Into the report, where the first one stays, and to standard error.
  void Warn(const absl::Status& status);

  void Finish();

  const TuningReport& report() const { return report_; }

 private:
  void Read();

  TuningOptions options_;
  bool is_file_named_ = false;  // Not only what stands beside the plan.
  bool is_read_ = false, is_broken_ = false;
  TuningTable stored_, measured_;
  std::set<ProductKey> added_;
  TuningReport report_;
};

// Where the tuning of a plan is kept: as TuningOptions::file says. Empty: nowhere.
std::string TuningPath(const TuningOptions& options, std::string_view plan_path);

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_SESSION_TUNING_H_
