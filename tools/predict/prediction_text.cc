#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/predict/prediction.h"

namespace sinter::tools {
namespace {

using Json = nlohmann::ordered_json;

double PercentOf(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void AddMemory(std::string* out, const PredictedMemory& memory) {
  const auto bytes = [](uint64_t count) { return BytesText(static_cast<double>(count)); };
  absl::StrAppend(out, "  ", memory.device.ToString(), "  ", bytes(memory.total()), ": arena ",
                  bytes(memory.arena));
  if (memory.workspaces > 0) absl::StrAppend(out, " (workspaces up to ", bytes(memory.workspaces), ")");
  absl::StrAppend(out, ", variables ", bytes(memory.variables));
  if (memory.inputs > 0) absl::StrAppend(out, ", inputs ", bytes(memory.inputs));
  if (memory.constants > 0) absl::StrAppend(out, ", constants ", bytes(memory.constants));
  if (memory.libraries > 0) {
    absl::StrAppend(out, ", libraries ", memory.is_estimated ? "about " : "", bytes(memory.libraries));
  }
  if (memory.exchanges > 0) absl::StrAppend(out, ", exchanges ", bytes(memory.exchanges));
  absl::StrAppend(out, "\n");
}

}  // namespace

std::string PredictionText(const Prediction& p) {
  std::string out = absl::StrFormat("function %s of plan %s, predicted with the costs of %s\n", p.function,
                                    p.plan, p.costs);
  absl::StrAppendFormat(&out, "  step       %.4f ms", p.seconds * 1e3);
  if (p.ranks > 1) {
    absl::StrAppendFormat(&out, ", %u ranks, %u a node; parts of %s", p.ranks, p.ranks_per_node, p.rank);
  }
  absl::StrAppend(&out, "\n");
  for (const PredictedPart& part : p.parts) {
    absl::StrAppendFormat(&out, "  %10.4f ms  %5.1f %%  %s", part.seconds * 1e3,
                          PercentOf(part.seconds, p.seconds), part.name);
    absl::StrAppend(&out, part.steps > 0 ? absl::StrCat(", ", part.steps, " steps") : "", "\n");
  }
  if (p.exchanges > 0) {
    const double all = p.hidden_exchange + p.exposed_exchange;
    absl::StrAppendFormat(&out, "exchanges\n  %10.4f ms, of which %.4f ms (%.1f %%) are hidden\n", all * 1e3,
                          p.hidden_exchange * 1e3, PercentOf(p.hidden_exchange, all));
  }
  absl::StrAppend(&out, "memory of a rank\n");
  for (const PredictedMemory& memory : p.memory) AddMemory(&out, memory);
  absl::StrAppend(&out, "dearest steps, equal ones together\n steps          ms       %  what\n");
  for (const PredictedStep& step : p.dearest) {
    absl::StrAppendFormat(&out, "%6d  %10.4f  %6.1f  %s; %s\n", step.steps, step.seconds * 1e3,
                          PercentOf(step.seconds, p.seconds), step.what, step.lines);
  }
  for (const std::string& note : p.notes) absl::StrAppend(&out, "note: ", note, "\n");
  return out;
}

std::string PredictionJson(const Prediction& p) {
  Json parts = Json::array(), memory = Json::array(), dearest = Json::array();
  for (const PredictedPart& part : p.parts) {
    parts.push_back({{"name", part.name}, {"seconds", part.seconds}, {"steps", part.steps}});
  }
  for (const PredictedMemory& m : p.memory) {
    memory.push_back({{"device", m.device.ToString()},
                      {"bytes", m.total()},
                      {"arena", m.arena},
                      {"workspaces", m.workspaces},
                      {"variables", m.variables},
                      {"inputs", m.inputs},
                      {"constants", m.constants},
                      {"libraries", m.libraries},
                      {"exchanges", m.exchanges}});
  }
  for (const PredictedStep& step : p.dearest) {
    dearest.push_back(
        {{"what", step.what}, {"lines", step.lines}, {"steps", step.steps}, {"seconds", step.seconds}});
  }
  const Json json = {{"plan", p.plan},
                     {"function", p.function},
                     {"costs", p.costs},
                     {"ranks", p.ranks},
                     {"ranks_per_node", p.ranks_per_node},
                     {"seconds", p.seconds},
                     {"parts", std::move(parts)},
                     {"hidden_exchange_seconds", p.hidden_exchange},
                     {"exposed_exchange_seconds", p.exposed_exchange},
                     {"memory", std::move(memory)},
                     {"dearest", std::move(dearest)},
                     {"notes", p.notes}};
  // File names in `lines` may contain invalid UTF-8: replace such bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sinter::tools
