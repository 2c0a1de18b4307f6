#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/tools/explain/explanation.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

using Json = nlohmann::ordered_json;

// "data (2), tensor (4)", or the devices.
std::string MembersText(const ExplainedExchange& e) {
  if (e.axes.empty()) return absl::StrJoin(e.devices, ", ");
  return absl::StrJoin(e.axes, ", ", [](std::string* out, const auto& axis) {
    absl::StrAppend(out, axis.first, " (", axis.second, ")");
  });
}

std::string FirstLines(const std::vector<std::string>& lines) {
  constexpr size_t kMost = 3;
  if (lines.empty()) return "-";
  const size_t shown = std::min(kMost, lines.size());
  const std::vector<std::string> first(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(shown));
  return absl::StrCat(absl::StrJoin(first, ", "),
                      lines.size() > shown ? absl::StrCat(" and ", lines.size() - shown, " more") : "");
}

std::string TimesText(const ExchangeTimes& times) {
  return absl::StrFormat("%.4f ms, of which %.4f ms are exposed", times.seconds * 1e3, times.exposed * 1e3);
}

double BytesARun(const ExplainedExchange& e) {
  return static_cast<double>(e.bytes) * static_cast<double>(e.steps.size());
}

std::string ReasonLine(const ExplainedExchange& e) {
  return absl::StrCat(e.because, e.because_line.empty() ? "" : " (", e.because_line,
                      e.because_line.empty() ? "" : ")");
}

// Two or three lines.
std::string EntryText(const ExplainedExchange& e) {
  std::string text =
      absl::StrFormat("  #%-4d %4d x %s over %s, %s each; %s\n", e.number, e.steps.size(), e.kind,
                      MembersText(e), BytesText(static_cast<double>(e.bytes)), FirstLines(e.lines));
  if (!e.because.empty()) absl::StrAppend(&text, "        ", ReasonLine(e), "\n");
  if (e.times.has_value()) absl::StrAppend(&text, "        ", TimesText(*e.times), "\n");
  return text;
}

// The line above the exchanges of a function.
std::string FunctionText(const std::string& name, const std::vector<const ExplainedExchange*>& exchanges) {
  size_t count = 0;
  double bytes = 0;
  ExchangeTimes times;
  bool has_times = true;
  for (const ExplainedExchange* e : exchanges) {
    count += e->steps.size();
    bytes += BytesARun(*e);
    has_times = has_times && e->times.has_value();
    if (!e->times.has_value()) continue;
    times.seconds += e->times->seconds, times.exposed += e->times->exposed;
  }
  return absl::StrCat("\nfunction ", name, ": ", count, count == 1 ? " exchange" : " exchanges",
                      " a run, a rank gives ", BytesText(bytes), has_times ? "; " + TimesText(times) : "",
                      "\n");
}

std::string VariablesText(const Explanation& x) {
  double saved = 0;
  for (const ExplainedVariable& v : x.cut_variables) saved += static_cast<double>(v.bytes - v.part_bytes);
  std::string text =
      absl::StrCat("\ncut variables: ", x.cut_variables.size(), ", which saves each rank ", BytesText(saved),
                   "; whole: ", x.whole_variables, ", ", BytesText(static_cast<double>(x.whole_bytes)), "\n");
  for (const ExplainedVariable& v : x.cut_variables) {
    absl::StrAppendFormat(&text, "  %-32s %-20s %10s  part %s, cut by %s; %s\n", v.name, v.type,
                          BytesText(static_cast<double>(v.bytes)),
                          BytesText(static_cast<double>(v.part_bytes)), absl::StrJoin(v.axes, ", "), v.line);
  }
  return text;
}

Json ExchangeJson(const ExplainedExchange& e) {
  Json axes = Json::array();
  for (const auto& [name, size] : e.axes) axes.push_back({{"name", name}, {"size", size}});
  Json json = {{"number", e.number},
               {"function", e.function},
               {"kind", e.kind},
               {"axes", axes},
               {"devices", e.devices},
               {"ranks", e.ranks},
               {"tensors", e.tensors},
               {"bytes", e.bytes},
               {"times", e.steps.size()},
               {"steps", e.steps},
               {"lines", e.lines},
               {"because", e.because},
               {"because_line", e.because_line},
               {"by_way_of", e.by_way_of}};
  if (e.times.has_value()) {
    json["seconds"] = e.times->seconds;
    json["exposed_seconds"] = e.times->exposed;
  }
  return json;
}

}  // namespace

std::string ExchangeText(const ExplainedExchange& e) {
  std::string text =
      absl::StrCat("exchange #", e.number, " of function ", e.function, "\n  kind       ", e.kind,
                   "\n  members    ", e.ranks, ": ", MembersText(e), "\n  a rank gives ",
                   BytesText(static_cast<double>(e.bytes)), " in ", e.tensors.size(),
                   e.tensors.size() == 1 ? " tensor: " : " tensors: ", absl::StrJoin(e.tensors, ", "), "\n");
  absl::StrAppend(&text, "  times      ", e.steps.size(),
                  " a run: ", e.steps.size() == 1 ? "step " : "steps ", absl::StrJoin(e.steps, ", "), "\n");
  if (e.times.has_value()) absl::StrAppend(&text, "  predicted  ", TimesText(*e.times), "\n");
  absl::StrAppend(&text, "  lines      ", e.lines.empty() ? "-" : absl::StrJoin(e.lines, "\n             "),
                  "\n  because    ", e.because.empty() ? "the plan has no reason of it" : ReasonLine(e),
                  "\n");
  if (!e.by_way_of.empty()) {
    absl::StrAppend(&text, "  by way of  ", absl::StrJoin(e.by_way_of, "\n             "), "\n");
  }
  return text;
}

std::string ExplanationText(const Explanation& x) {
  std::string text =
      absl::StrCat("plan ", x.plan, ": ",
                   x.mesh.empty() ? "no mesh" : absl::StrCat("mesh ", x.mesh, ", ", x.ranks, " ranks"));
  absl::StrAppend(&text, x.costs.empty() ? "" : absl::StrCat("; times predicted with the costs of ", x.costs),
                  "\n");
  for (size_t i = 0; i < x.exchanges.size();) {
    std::vector<const ExplainedExchange*> of_function;
    const std::string& name = x.exchanges[i].function;
    for (; i < x.exchanges.size() && x.exchanges[i].function == name; ++i)
      of_function.push_back(&x.exchanges[i]);
    absl::StrAppend(&text, FunctionText(name, of_function));
    for (const ExplainedExchange* e : of_function) absl::StrAppend(&text, EntryText(*e));
  }
  if (x.exchanges.empty()) absl::StrAppend(&text, "\nno exchanges\n");
  if (!x.mesh.empty()) absl::StrAppend(&text, VariablesText(x));
  if (!x.stayed_whole.empty()) absl::StrAppend(&text, "\nstayed whole\n");
  for (const std::string& line : x.stayed_whole) absl::StrAppend(&text, "  ", line, "\n");
  for (const std::string& note : x.notes) absl::StrAppend(&text, "note: ", note, "\n");
  return text;
}

std::string ExplanationJson(const Explanation& x) {
  Json exchanges = Json::array(), variables = Json::array();
  for (const ExplainedExchange& e : x.exchanges) exchanges.push_back(ExchangeJson(e));
  for (const ExplainedVariable& v : x.cut_variables) {
    variables.push_back({{"name", v.name},
                         {"type", v.type},
                         {"axes", v.axes},
                         {"bytes", v.bytes},
                         {"part_bytes", v.part_bytes},
                         {"line", v.line}});
  }
  const Json json = {{"plan", x.plan},
                     {"mesh", x.mesh},
                     {"ranks", x.ranks},
                     {"costs", x.costs},
                     {"exchanges", std::move(exchanges)},
                     {"cut_variables", std::move(variables)},
                     {"whole_variables", x.whole_variables},
                     {"whole_bytes", x.whole_bytes},
                     {"stayed_whole", x.stayed_whole},
                     {"notes", x.notes}};
  // File names may contain invalid UTF-8: replace such bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sinter::tools
