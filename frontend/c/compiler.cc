#include "sinter/frontend/c/compiler.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/c/call.h"
#include "sinter/runtime/memory/device.h"

// Programs keep this layout.
static_assert(sizeof(sn_compile_options) == 48 && offsetof(sn_compile_options, automatic_copies) == 44);

struct sn_compile_report {
  std::map<std::string, std::string> parts;
};

namespace sinter::c_interface {
namespace {

std::string Lines(const std::vector<std::string>& lines) {
  return lines.empty() ? "" : absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

sn_compile_report ReportOf(const CompileReport& report) {
  CompileReport times;
  times.stage_ms = report.stage_ms;
  return {{{"fusion", Lines(report.fusion)},
           {"memory", Lines(report.memory)},
           {"casts", Lines(report.casts)},
           {"kernels", Lines(report.kernels)},
           {"copies", Lines(report.copies)},
           {"times", times.ToString()},
           {"all", report.ToString()}}};
}

// Returns "a" and "b" for "a,b".
std::vector<std::string> Names(const char* list) { return absl::StrSplit(list, ',', absl::SkipWhitespace()); }

absl::StatusOr<CompileOptions> OptionsOf(const sn_compile_options* given) {
  sn_compile_options options;
  SINTER_RETURN_IF_ERROR(ReadOptions(given, "sn_compile_options", options));
  if (options.threads < 0) {
    return absl::InvalidArgumentError(absl::StrCat("sn_compile_options::threads is ", options.threads,
                                                   ": write 0 for one per core, or a number"));
  }
  CompileOptions result;
  result.threads = options.threads;
  if (options.device != nullptr) {
    SINTER_ASSIGN_OR_RETURN(result.device, Device::Parse(options.device));
  }
  if (options.target_cpus != nullptr) result.target_cpu = Names(options.target_cpus);
  if (options.gpu_architectures != nullptr) result.gpu_architectures = Names(options.gpu_architectures);
  result.memory_limit = options.memory_limit;
  result.check_indices = options.check_indices != 0;
  if (options.automatic_copies != 0) result.copies = Copies::kAutomatic;
  return result;
}

}  // namespace
}  // namespace sinter::c_interface

using namespace sinter::c_interface;  // NOLINT(google-build-using-namespace): the functions below are C.

sn_code sn_compile_text(const char* text, size_t size, const char* name, const sn_compile_options* options,
                        sn_plan** out, sn_compile_report** report) {
  sn_code made = SN_OK;
  const sn_code compiled = Call([&]() -> absl::Status {
    if (report != nullptr) *report = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(text, "text"));
    SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
    SINTER_ASSIGN_OR_RETURN(sinter::CompileOptions compile, OptionsOf(options));
    compile.report = report != nullptr;
    sinter::CompileReport log;
    const absl::StatusOr<sinter::Plan> plan =
        sinter::CompileText(std::string_view(text, size), name, compile, &log);
    if (report != nullptr) *report = new sn_compile_report(ReportOf(log));
    SINTER_RETURN_IF_ERROR(plan.status());
    // The runtime's library makes the handle, from the bytes: its objects are not those of this library.
    made = sn_plan_from_memory(plan->bytes().data(), plan->bytes().size(), out);
    return absl::OkStatus();
  });
  return compiled != SN_OK ? compiled : made;
}

sn_code sn_compile_report_text(sn_compile_report* report, const char* part, const char** text) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(report, "report"));
    SINTER_RETURN_IF_ERROR(CheckPointer(part, "part"));
    SINTER_RETURN_IF_ERROR(CheckPointer(text, "text"));
    const auto found = report->parts.find(part);
    if (found == report->parts.end()) {
      std::vector<std::string> known;
      for (const auto& [other, unused] : report->parts) known.push_back(other);
      return absl::NotFoundError(
          absl::StrCat("a report has no part \"", part, "\": its parts are ", absl::StrJoin(known, ", ")));
    }
    *text = found->second.c_str();
    return absl::OkStatus();
  });
}

void sn_compile_report_free(sn_compile_report* report) { delete report; }
