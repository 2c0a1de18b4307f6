#include "sinter/tools/doctor/plan_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/plan/all_steps.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/predict/predicted_memory.h"

namespace sinter::tools {
namespace {

// True if a library chooses among algorithms for a step on the device's kind.
bool IsTuned(const fb::Plan& plan, DeviceKind kind) {
  bool found = false;
  ForEachStep(plan, [&](const fb::Step& step) {
    if (step.body_as_MatmulStep() == nullptr && step.body_as_ConvStep() == nullptr) return;
    found = found || DeviceOf(plan, step.device()).kind() == kind;
  });
  return found;
}

// Returns what is to be said about the algorithms that were measured for the plan on the device.
std::vector<PlanFinding> CheckTuning(const Plan& plan, const DeviceInfo& info) {
  if (!info.device.is_gpu() || !IsTuned(plan.table(), info.device.kind())) return {};
  const std::string path = TuningPath({}, plan.path());
  const std::string advice = absl::StrCat("`sinter tune ", std::string(plan.path()), "` measures them once");
  const absl::StatusOr<TuningTable> table = LoadTuning(path);
  if (absl::IsNotFound(table.status())) {
    return {{.text = absl::StrCat("no algorithms are measured (", path, " is not there): ", advice)}};
  }
  if (!table.ok()) return {{.text = std::string(table.status().message())}};
  const bool has_any = std::ranges::any_of(
      *table, [&](const auto& entry) { return entry.first.device.starts_with(info.name); });
  if (has_any) return {};
  return {{.text = absl::StrCat(path, " has no algorithms for ", info.name, ": ", advice)}};
}

PlanDeviceCheck CheckOn(const Plan& plan, Device device, uint64_t needed_bytes) {
  PlanDeviceCheck check = {.device = device, .needed_bytes = needed_bytes};
  const absl::StatusOr<const Backend*> backend = FindBackend(device);
  const absl::StatusOr<DeviceInfo> info =
      backend.ok() ? QueryDevice(device) : absl::StatusOr<DeviceInfo>(backend.status());
  if (!info.ok()) {
    check.findings.push_back({.is_fatal = true, .text = std::string(info.status().message())});
    return check;
  }
  check.name = info->name;
  check.free_bytes = info->free_bytes;
  check.findings = (*backend)->CheckPlan(plan.table(), *info);
  if (needed_bytes > static_cast<uint64_t>(info->free_bytes)) {
    check.findings.push_back({.is_fatal = true,
                              .text = absl::StrCat("needs ", BytesText(static_cast<double>(needed_bytes)),
                                                   ", and ", BytesText(static_cast<double>(info->free_bytes)),
                                                   " are free: compile it with a --memory-limit or for a "
                                                   "smaller batch, or end what uses the rest")});
  }
  for (PlanFinding& finding : CheckTuning(plan, *info)) check.findings.push_back(std::move(finding));
  return check;
}

template <typename Visit>
bool AnyFinding(const PlanCheck& check, Visit visit) {
  return std::ranges::any_of(check.devices, [&](const PlanDeviceCheck& device) {
    return std::ranges::any_of(device.findings, visit);
  });
}

std::string Verdict(const PlanCheck& check) {
  if (!check.runs()) return "cannot run here";
  return check.could_be_faster() ? "runs here, and could be faster" : "runs here";
}

}  // namespace

bool PlanCheck::runs() const {
  return !AnyFinding(*this, [](const PlanFinding& finding) { return finding.is_fatal; });
}

bool PlanCheck::could_be_faster() const {
  return AnyFinding(*this, [](const PlanFinding& finding) { return !finding.is_fatal; });
}

PlanCheck CheckPlan(const Plan& plan) {
  PlanCheck check = {.path = std::string(plan.path())};
  for (const MeshAxisInfo& axis : plan.Mesh()) check.ranks *= axis.size;
  // Ranks are alike: the devices of one take the memory of those of another.
  const std::vector<PredictedMemory> memory = PredictMemory(plan.table(), /*library_bytes=*/0);
  const std::vector<Device> devices = plan.Devices();
  for (size_t d = 0; d < devices.size(); ++d) {
    check.devices.push_back(CheckOn(plan, devices[d], memory[d % memory.size()].total()));
  }
  return check;
}

std::string PlanCheckText(const PlanCheck& check) {
  std::string text = absl::StrCat(check.path, ": ", Verdict(check), "\n");
  for (const PlanDeviceCheck& device : check.devices) {
    absl::StrAppend(&text, "  ", device.device.ToString());
    if (!device.name.empty()) {
      absl::StrAppend(&text, " (", device.name, "): needs ",
                      BytesText(static_cast<double>(device.needed_bytes)), " of ",
                      BytesText(static_cast<double>(device.free_bytes)), " free");
    }
    text += "\n";
    for (const PlanFinding& finding : device.findings) {
      absl::StrAppend(&text, finding.is_fatal ? "    cannot run: " : "    slower: ", finding.text, "\n");
    }
  }
  if (check.ranks > 1) {
    absl::StrAppend(&text, "  ", check.ranks,
                    " ranks: these are the devices of all; with several processes, ",
                    "each needs its share\n");
  }
  return text;
}

std::string PlanCheckJson(const PlanCheck& check) {
  nlohmann::json json = {{"plan", check.path},
                         {"runs", check.runs()},
                         {"could_be_faster", check.could_be_faster()},
                         {"ranks", check.ranks},
                         {"devices", nlohmann::json::array()}};
  for (const PlanDeviceCheck& device : check.devices) {
    nlohmann::json entry = {{"device", device.device.ToString()},
                            {"name", device.name},
                            {"needed_bytes", device.needed_bytes},
                            {"free_bytes", device.free_bytes},
                            {"findings", nlohmann::json::array()}};
    for (const PlanFinding& finding : device.findings) {
      entry["findings"].push_back({{"is_fatal", finding.is_fatal}, {"text", finding.text}});
    }
    json["devices"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace sinter::tools
