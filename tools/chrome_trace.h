// The last run of a profile in the format that chrome://tracing and ui.perfetto.dev show.
//
//   SINTER_RETURN_IF_ERROR(WriteChromeTrace(profile, "train.json"));
//
// One row a device; times in microseconds since the run began. Format: Google, "Trace Event Format", complete events.
#ifndef SINTER_TOOLS_CHROME_TRACE_H_
#define SINTER_TOOLS_CHROME_TRACE_H_

#include <string>

#include "absl/status/status.h"
#include "sinter/tools/function_profile.h"

namespace sinter::tools {

std::string ChromeTrace(const FunctionProfile& profile);
// Whole or not at all; the errors of runtime/formats/file.h.
absl::Status WriteChromeTrace(const FunctionProfile& profile, const std::string& path);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_CHROME_TRACE_H_
