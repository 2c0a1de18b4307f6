#include "sinter/tools/report/plan_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/predict/step_prices.h"
#include "sinter/tools/report/html.h"
#include "sinter/tools/report/memory_map.h"

namespace sinter::tools {
namespace {

// One step as the page shows it.
struct ReportedStep {
  std::string kind, what, types, place;
  std::string lines;      // As tools print them.
  std::string computing;  // ComputingLines.
  double seconds = -1;    // Below 0: not known.
  double of_limit = 0;    // Part of the device's limit that a measured step reaches; 0: not known.
  double bytes = 0, flops = 0;
};

// Sums over steps of one kind or of one line.
struct ReportedSum {
  int steps = 0;
  double seconds = 0, bytes = 0;
};

HtmlCell Text(std::string text) { return {.text = std::move(text)}; }

HtmlCell Number(std::string text, double value, double share = 0) {
  return {.text = std::move(text), .is_number = true, .share = share, .sort_by = value};
}

std::string MicrosecondsText(double seconds) {
  return seconds < 0 ? "-" : absl::StrFormat("%.2f", seconds * 1e6);
}

// Returns the lines that compute the step's results, without those that declare its variables: equal layers
// have the same lines.
std::string ComputingLines(const fb::Plan& plan, const fb::Step& step) {
  std::vector<std::string> lines;
  for (const uint32_t location : OrEmpty(step.locations())) {
    const std::string line = LocationText(plan, location);
    if (line != "-" && line.find(" variable ") == std::string::npos && std::ranges::count(lines, line) == 0) {
      lines.push_back(line);
    }
  }
  return lines.empty() ? "-" : absl::StrJoin(lines, ", ");
}

std::vector<ReportedStep> StepsOf(const fb::Plan& plan, const fb::Function& function,
                                  const cost::DeviceCosts& costs, const FunctionProfile* profile) {
  std::vector<ReportedStep> steps;
  for (const fb::Step* step : OrEmpty(function.steps())) {
    ReportedStep& report = steps.emplace_back();
    report.kind = std::string(StepKindName(*step));
    report.what = StepText(plan, *step);
    report.types = SignatureText(function, *step);
    report.lines = LocationsText(plan, *step, 3);
    report.computing = ComputingLines(plan, *step);
    report.place = PlaceText(plan, function, *step);
    report.bytes = step->bytes();
    report.flops = step->flops();
    if (profile != nullptr) {
      const ProfiledStep& measured = profile->steps[steps.size() - 1];
      report.seconds = measured.seconds;
      if (measured.bound.seconds > 0 && measured.seconds > 0)
        report.of_limit = measured.bound.seconds / measured.seconds;
    } else if (!StepKindOf(*step).is_exchange) {
      if (const absl::StatusOr<PricedStep> priced = PriceStep(plan, *step, costs); priced.ok())
        report.seconds = priced->seconds;
    }
  }
  return steps;
}

std::string SumsTable(const char* head, const std::map<std::string, ReportedSum>& sums, double total) {
  std::vector<std::pair<std::string, ReportedSum>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  constexpr size_t kMost = 40;
  if (sorted.size() > kMost) sorted.resize(kMost);
  std::vector<std::vector<HtmlCell>> rows;
  for (const auto& [name, sum] : sorted) {
    const double share = total > 0 ? sum.seconds / total : 0;
    rows.push_back({Text(name), Number(absl::StrCat(sum.steps), sum.steps),
                    Number(MicrosecondsText(sum.seconds), sum.seconds, share),
                    Number(absl::StrFormat("%.1f %%", 100 * share), share),
                    Number(BytesText(sum.bytes), sum.bytes)});
  }
  return HtmlTable({head, "steps", "us", "of the time", "bytes"}, rows);
}

std::string StepsTable(const std::vector<ReportedStep>& steps, bool is_measured) {
  double longest = 0;
  for (const ReportedStep& step : steps) longest = std::max(longest, step.seconds);
  const bool has_places =
      std::ranges::any_of(steps, [](const ReportedStep& step) { return !step.place.empty(); });
  std::vector<std::string> heads = {"step",      "us", "bytes", "FLOP", "operation", "operands and results",
                                    "your lines"};
  if (is_measured) heads.insert(heads.begin() + 2, "of the limit");
  if (has_places) heads.push_back("device");
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ReportedStep& step = steps[i];
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(Number(absl::StrCat(i), static_cast<double>(i)));
    row.push_back(Number(MicrosecondsText(step.seconds), step.seconds,
                         longest > 0 ? std::max(step.seconds, 0.0) / longest : 0));
    if (is_measured) {
      row.push_back(
          Number(step.of_limit > 0 ? absl::StrFormat("%.0f %%", 100 * step.of_limit) : "-", step.of_limit));
    }
    row.push_back(Number(BytesText(step.bytes), step.bytes));
    row.push_back(Number(FlopsText(step.flops), step.flops));
    row.push_back(Text(step.what));
    row.push_back(Text(step.types));
    row.push_back(Text(step.lines));
    if (has_places) row.push_back(Text(step.place));
  }
  return HtmlTable(heads, rows);
}

std::string Types(const std::vector<TensorInfo>& tensors) {
  if (tensors.empty()) return "none";
  return absl::StrJoin(tensors, ", ", [](std::string* out, const TensorInfo& tensor) {
    absl::StrAppend(out, tensor.name, ": ", tensor.TypeString());
  });
}

// A fragment is the body of a loop, which a step of a function runs.
std::string FunctionSection(const Plan& plan, const fb::Function& function, bool is_fragment,
                            const cost::DeviceCosts& costs, const FunctionProfile* profile) {
  const std::string name = function.name()->str();
  // Ranks of a mesh may run other functions of the same name.
  if (profile != nullptr &&
      (profile->function != name || profile->steps.size() != OrEmpty(function.steps()).size())) {
    profile = nullptr;
  }
  const std::vector<ReportedStep> steps = StepsOf(plan.table(), function, costs, profile);
  std::map<std::string, ReportedSum> kinds, lines;
  double total = 0;
  int unknown = 0;
  for (const ReportedStep& step : steps) {
    unknown += step.seconds < 0 ? 1 : 0;
    total += std::max(step.seconds, 0.0);
    for (ReportedSum* const sum : {&kinds[step.kind], &lines[step.computing]}) {
      ++sum->steps;
      sum->seconds += std::max(step.seconds, 0.0);
      sum->bytes += step.bytes;
    }
  }
  const bool has_ranks = OrEmpty(function.ranks()).size() > 0;
  std::string html = HtmlHeading(
      2, absl::StrCat(is_fragment ? "Fragment " : "Function ", name,
                      has_ranks ? " of " + RankMesh(plan.table()).BoxOf(function).ToString() : ""));
  if (const absl::StatusOr<FunctionInfo> info = plan.Function(name); !is_fragment && info.ok()) {
    html += HtmlParagraph(absl::StrCat("Inputs: ", Types(info->inputs), "."));
    html += HtmlParagraph(absl::StrCat("Outputs: ", Types(info->outputs), "."));
  }
  html += HtmlParagraph(absl::StrCat(
      steps.size(), " steps, ", absl::StrFormat("%.3f", total * 1e3), " ms as the sum of their ",
      profile != nullptr ? absl::StrFormat("medians over %d runs; a whole run takes %.3f ms.",
                                           profile->repeat, profile->run_seconds * 1e3)
                         : absl::StrCat("predicted times on ", costs.table().device, "."),
      unknown > 0 ? absl::StrCat(" The time of ", unknown, " steps, exchanges among them, is not known here.")
                  : ""));
  html += HtmlHeading(3, "Time by kind of step") + SumsTable("kind", kinds, total);
  html += HtmlHeading(3, "Time by your lines") + SumsTable("lines", lines, total);
  for (uint32_t device = 0; device < NumDevices(plan.table()); ++device) {
    const std::string map = MemoryMapSvg(plan.table(), function, device);
    if (map.empty()) continue;
    html +=
        HtmlHeading(3, absl::StrCat("Memory over the steps on ", DeviceOf(plan.table(), device).ToString(),
                                    ": ", BytesText(static_cast<double>(ArenaBytes(function, device)))));
    html +=
        "<p class=\"note\">Across: the steps. Up: the place in memory. Point at a value to see what it "
        "is.</p>\n" +
        map;
  }
  return html + HtmlHeading(3, "Steps") + StepsTable(steps, profile != nullptr);
}

std::string VariablesSection(const Plan& plan) {
  std::vector<std::vector<HtmlCell>> rows;
  double total = 0;
  for (const VariableInfo& variable : plan.Variables()) {
    const auto bytes = static_cast<double>(variable.part_bytes);
    total += bytes;
    rows.push_back({Text(variable.name), Text(variable.TypeString()), Number(BytesText(bytes), bytes),
                    Text(variable.trainable ? "trainable" : ""), Text(variable.location)});
  }
  return HtmlHeading(2, absl::StrCat(rows.size(), " variables, ", BytesText(total), " in a rank")) +
         HtmlTable({"name", "type", "bytes", "", "your line"}, rows);
}

}  // namespace

std::string PlanReport(const Plan& plan, const cost::DeviceCosts& costs, const FunctionProfile* profile) {
  const std::string name(plan.name());
  std::string body = HtmlHeading(1, absl::StrCat("Plan ", name));
  const auto devices = absl::StrJoin(plan.Devices(), ", ",
                                     [](std::string* out, Device d) { absl::StrAppend(out, d.ToString()); });
  body += HtmlParagraph(absl::StrCat(
      "Made by ", std::string(plan.producer()), ", format version ", plan.table().version(), ", ",
      BytesText(static_cast<double>(plan.bytes().size())), ", for ", devices, ". Hash ", plan.hash(), "."));
  body += HtmlParagraph("Click on the head of a column to sort by it.");
  for (const fb::Function* function : OrEmpty(plan.table().functions())) {
    body += FunctionSection(plan, *function, /*is_fragment=*/false, costs, profile);
  }
  for (const fb::Function* fragment : OrEmpty(plan.table().fragments())) {
    body += FunctionSection(plan, *fragment, /*is_fragment=*/true, costs, nullptr);
  }
  return HtmlPage(absl::StrCat("Sinter: ", name), body + VariablesSection(plan));
}

}  // namespace sinter::tools
