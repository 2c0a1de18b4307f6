#include "sinter/tools/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::tools {

namespace {

using Json = nlohmann::ordered_json;

Json NameEvent(const char* what, int row, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 0}, {"tid", row}, {"args", {{"name", name}}}};
}

Json StepEvent(size_t index, const ProfiledStep& step, int row) {
  Json event = {{"name", step.what},
                {"cat", step.kind},
                {"ph", "X"},
                {"ts", step.begin_seconds * 1e6},
                {"dur", step.last_seconds * 1e6},
                {"pid", 0},
                {"tid", row}};
  Json args = {{"step", index}, {"lines", step.lines}, {"median_us", step.seconds * 1e6}};
  if (step.bytes > 0) args["bytes"] = step.bytes;
  if (step.flops > 0) args["flops"] = step.flops;
  if (step.bound.seconds > 0) {
    args["least_us"] = step.bound.seconds * 1e6;
    args["bound"] = std::string(step.bound.limit);
  }
  event["args"] = std::move(args);
  return event;
}

}  // namespace

std::string ChromeTrace(const FunctionProfile& profile) {
  Json events = Json::array();
  events.push_back(NameEvent("process_name", 0, absl::StrCat(profile.plan, ", ", profile.function)));
  for (size_t i = 0; i < profile.devices.size(); ++i) {
    events.push_back(NameEvent("thread_name", static_cast<int>(i), profile.devices[i].ToString()));
  }
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const auto device = std::ranges::find(profile.devices, profile.steps[i].device);
    const auto row = static_cast<int>(device - profile.devices.begin());
    events.push_back(StepEvent(i, profile.steps[i], row));
  }
  const Json trace = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // File names in `lines` may contain invalid UTF-8: replace such bytes.
  return trace.dump(1, ' ', false, Json::error_handler_t::replace);
}

absl::Status WriteChromeTrace(const FunctionProfile& profile, const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SINTER_RETURN_IF_ERROR(file.Write(ChromeTrace(profile)));
  return file.Commit();
}

}  // namespace sinter::tools
