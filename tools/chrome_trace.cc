#include "sinter/tools/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/trace_events.h"

namespace sinter::tools {

namespace {

nlohmann::ordered_json ArgumentsOf(size_t index, const ProfiledStep& step) {
  nlohmann::ordered_json args = {{"step", index}, {"lines", step.lines}, {"median_us", step.seconds * 1e6}};
  if (step.bytes > 0) args["bytes"] = step.bytes;
  if (step.flops > 0) args["flops"] = step.flops;
  if (step.bound.seconds > 0) {
    args["least_us"] = step.bound.seconds * 1e6;
    args["bound"] = std::string(step.bound.limit);
  }
  return args;
}

}  // namespace

std::string ChromeTrace(const FunctionProfile& profile) {
  TraceEvents trace;
  trace.NameProcess(0, absl::StrCat(profile.plan, ", ", profile.function));
  const size_t devices = profile.devices.size();
  std::vector<bool> exchanges(devices);
  for (const ProfiledStep& step : profile.steps) {
    const auto device = std::ranges::find(profile.devices, step.device);
    if (step.is_exchange) exchanges[static_cast<size_t>(device - profile.devices.begin())] = true;
  }
  for (size_t i = 0; i < devices; ++i) {
    const std::string name =
        absl::StrCat(i < profile.ranks.size() ? absl::StrCat("rank ", profile.ranks[i], ", ") : "",
                     profile.devices[i].ToString());
    trace.NameThread(0, static_cast<int>(i), name);
    if (exchanges[i]) trace.NameThread(0, static_cast<int>(devices + i), absl::StrCat(name, ", exchanges"));
  }
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const ProfiledStep& step = profile.steps[i];
    const auto device = std::ranges::find(profile.devices, step.device) - profile.devices.begin();
    trace.Add({.name = step.what,
               .category = step.kind,
               .thread = static_cast<int>(device + (step.is_exchange ? static_cast<ptrdiff_t>(devices) : 0)),
               .begin_seconds = step.begin_seconds,
               .seconds = step.last_seconds},
              ArgumentsOf(i, step));
  }
  return trace.Text();
}

absl::Status WriteChromeTrace(const FunctionProfile& profile, const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SINTER_RETURN_IF_ERROR(file.Write(ChromeTrace(profile)));
  return file.Commit();
}

}  // namespace sinter::tools
