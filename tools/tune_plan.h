// `sinter tune`: measures which algorithms compute a plan's matrix products quickest on this machine's GPUs.
//
//   SINTER_RETURN_IF_ERROR(TunePlan({.plan = "m.plan"}, std::cout));       // Writes "m.plan.tuning" (runtime/device/tuning.h).
#ifndef SINTER_TOOLS_TUNE_PLAN_H_
#define SINTER_TOOLS_TUNE_PLAN_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "sinter/runtime/device/tuning.h"

namespace sinter::tools {

struct TuneOptions {
  std::string plan;
  std::string file;       // Empty: as TuningOptions::file.
  bool again = false;     // Measure also what the file has.
  bool any_bits = false;  // TuningMode::kAnyBits, else kSameBits.
};

// Makes a session of the plan, which measures what the file lacks, and prints what was chosen. FailedPrecondition: the plan
// has neither matrix products nor convolutions on a GPU. A file that cannot be read is an error before anything is measured,
// and stays as it is.
absl::Status TunePlan(const TuneOptions& options, std::ostream& out);

// A line a product: the times of cuBLASLt's first choice and of what is taken, what that gains, and where it comes from.
std::string TuningTableText(const TuningReport& report);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_TUNE_PLAN_H_
