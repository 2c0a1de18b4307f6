#include "sinter/tools/doctor/machine_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "sinter/runtime/host/cpu_features.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

constexpr const char* kVectors[] = {"avx2",       "fma",        "avx512f", "avx512bw",
                                    "avx512vnni", "avx512bf16", "amx-bf16"};

KindReport ReadKind(const Backend& backend) {
  KindReport kind = {.name = std::string(DeviceKindName(backend.kind())), .available = backend.Check(0)};
  for (int i = 0; i < backend.Count(); ++i) {
    const Device device = Device::Of(backend.kind(), i);
    absl::StatusOr<DeviceInfo> info = QueryDevice(device);
    DeviceReport& report = kind.devices.emplace_back(DeviceReport{.status = info.status()});
    report.info.device = device;
    if (info.ok()) report.info = *std::move(info);
  }
  kind.libraries = backend.Libraries();
  return kind;
}

std::string DeviceLine(const DeviceReport& report) {
  const DeviceInfo& info = report.info;
  if (!report.status.ok()) {
    return absl::StrFormat("  %-7s does not respond: %s\n", info.device.ToString(),
                           std::string(report.status.message()));
  }
  return absl::StrFormat("  %-7s %s, %s, %s of %s free\n", info.device.ToString(), info.name,
                         info.architecture, BytesText(static_cast<double>(info.free_bytes)),
                         BytesText(static_cast<double>(info.total_bytes)));
}

nlohmann::json JsonOf(const DeviceReport& report) {
  nlohmann::json json = {{"device", report.info.device.ToString()}};
  if (!report.status.ok()) {
    json["error"] = std::string(report.status.message());
    return json;
  }
  json["name"] = report.info.name;
  json["architecture"] = report.info.architecture;
  json["total_bytes"] = report.info.total_bytes;
  json["free_bytes"] = report.info.free_bytes;
  return json;
}

nlohmann::json JsonOf(const LibraryReport& library) {
  if (!library.status.ok()) return {{"name", library.name}, {"error", std::string(library.status.message())}};
  return {{"name", library.name}, {"version", library.version}, {"path", library.path}};
}

}  // namespace

MachineReport ReadMachine() {
  MachineReport report = {
      .version = SINTER_VERSION, .cores = ThreadPool::AvailableCores(), .cpu = CheckRunningCpu()};
  for (const char* const feature : kVectors) {
    if (RunningCpuHas(feature)) report.vectors.emplace_back(feature);
  }
  for (const Backend* const backend : Backends()) report.kinds.push_back(ReadKind(*backend));
  return report;
}

std::string MachineText(const MachineReport& report) {
  std::string text = absl::StrCat(VersionText(), "\n");
  absl::StrAppend(&text, "cores: ", report.cores, "\nvector instructions: ",
                  report.vectors.empty() ? "none that plans use" : absl::StrJoin(report.vectors, " "), "\n");
  if (!report.cpu.ok()) {
    absl::StrAppend(&text, "this CPU cannot run Sinter: ", std::string(report.cpu.message()), "\n");
  }
  for (const KindReport& kind : report.kinds) {
    absl::StrAppend(&text, "\n", kind.name, "\n");
    if (kind.devices.empty()) absl::StrAppend(&text, "  none: ", std::string(kind.available.message()), "\n");
    for (const DeviceReport& device : kind.devices) text += DeviceLine(device);
    for (const LibraryReport& library : kind.libraries) {
      absl::StrAppend(&text, "  ", library.name, " ",
                      library.status.ok()
                          ? absl::StrCat(library.version, ": ", library.path)
                          : absl::StrCat("cannot be used: ", std::string(library.status.message())),
                      "\n");
    }
  }
  return text;
}

std::string MachineJson(const MachineReport& report) {
  nlohmann::json json = {{"version", report.version},
                         {"plan_versions", {1, Plan::kVersion}},
                         {"cpu", {{"cores", report.cores}, {"vectors", report.vectors}}},
                         {"kinds", nlohmann::json::array()}};
  if (!report.cpu.ok()) json["cpu"]["error"] = std::string(report.cpu.message());
  for (const KindReport& kind : report.kinds) {
    nlohmann::json entry = {
        {"kind", kind.name}, {"devices", nlohmann::json::array()}, {"libraries", nlohmann::json::array()}};
    if (kind.devices.empty()) entry["error"] = std::string(kind.available.message());
    for (const DeviceReport& device : kind.devices) entry["devices"].push_back(JsonOf(device));
    for (const LibraryReport& library : kind.libraries) entry["libraries"].push_back(JsonOf(library));
    json["kinds"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

std::string VersionText() {
  return absl::StrCat("sinter " SINTER_VERSION ", reads plans of versions 1 to ", Plan::kVersion);
}

}  // namespace sinter::tools
