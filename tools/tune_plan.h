// `sinter tune`: measures the fastest algorithm for each matmul and convolution of a plan on this machine.
//
//   SINTER_RETURN_IF_ERROR(TunePlan({.plan = "m.plan"}, std::cout));
//
// This call writes "m.plan.tuning" (runtime/device/tuning.h).
#ifndef SINTER_TOOLS_TUNE_PLAN_H_
#define SINTER_TOOLS_TUNE_PLAN_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "sinter/runtime/device/tuning.h"

namespace sinter::tools {

struct TuneOptions {
  std::string plan;
  std::string file;    // Empty: the default of TuningOptions::file.
  bool again = false;  // Also measures entries that the file already has.
  TuningMode mode = TuningMode::kSavedEngines;
};

// Creates a session of the plan, which measures the entries that the file lacks, and prints the choices.
// FailedPrecondition: the plan has neither matmuls nor convolutions on a GPU. If the file exists and cannot
// be read, returns the error before any measurement and leaves the file unchanged.
absl::Status TunePlan(const TuneOptions& options, std::ostream& out);

// Returns one line per matmul or convolution: the time of the library's first choice, the time of the chosen
// algorithm, the gain, and the source of the choice.
std::string TuningTableText(const TuningReport& report);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_TUNE_PLAN_H_
