// Writes the last run of a profile as a JSON trace for chrome://tracing and ui.perfetto.dev.
//
//   SINTER_RETURN_IF_ERROR(WriteChromeTrace(profile, "train.json"));
//
// The trace has one row per device and times in microseconds since the run began (trace_events.h).
#ifndef SINTER_TOOLS_CHROME_TRACE_H_
#define SINTER_TOOLS_CHROME_TRACE_H_

#include <string>

#include "absl/status/status.h"
#include "sinter/tools/function_profile.h"

namespace sinter::tools {

// Returns the trace as JSON text.
std::string ChromeTrace(const FunctionProfile& profile);
// Writes the trace to `path` atomically. Errors: those of runtime/formats/file.h.
absl::Status WriteChromeTrace(const FunctionProfile& profile, const std::string& path);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_CHROME_TRACE_H_
