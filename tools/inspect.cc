#include "sinter/tools/inspect.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_code.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/tools/peak_memory.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {

namespace {

double SizeOfBytes(const flatbuffers::Vector<uint8_t>* bytes) {
  return static_cast<double>(OrEmpty(bytes).size());
}

std::string FeaturesText(const fb::Target& target) {
  std::vector<std::string> features;
  for (const flatbuffers::String* f : OrEmpty(target.features())) features.push_back(f->str());
  return features.empty() ? "nothing special" : absl::StrJoin(features, " ");
}

std::string TextOr(const flatbuffers::String* s, const char* otherwise) {
  return s == nullptr ? otherwise : s->str();
}

// Returns "x86-64-v3, x86_64-unknown-linux-gnu" and the required CPU features; then the same for each target
// with faster code.
std::string TargetText(const fb::Plan& plan) {
  if (plan.target() == nullptr) return "  target     any\n";
  const fb::Target& least = *plan.target();
  std::string text = absl::StrCat("  target     ", TextOr(least.cpu(), "-"), ", ",
                                  TextOr(least.triple(), "-"), "\n  needs      ", FeaturesText(least), "\n");
  for (const fb::CpuCode* code : OrEmpty(plan.better_code())) {
    absl::StrAppend(&text, "  faster on  ", TextOr(code->target()->cpu(), "-"), "\n  needs      ",
                    FeaturesText(*code->target()), "\n");
  }
  return text;
}

double CodeBytes(const fb::Plan& plan) {
  double bytes = 0;
  for (const PlanCode& code : AllPlanCode(plan)) bytes += static_cast<double>(code.shared_object.size());
  return bytes;
}

// Returns OK if the plan can run on this machine, else the reason.
absl::Status RunsHere(const Plan& plan) {
  SINTER_RETURN_IF_ERROR(plan.CheckTarget());
  for (const Device device : plan.Devices()) SINTER_RETURN_IF_ERROR(CheckDevice(device));
  return absl::OkStatus();
}

// Returns "GPU code 2 kernels: 1 for sm_100, 2 for sm_90"; empty if the plan has no GPU kernels.
std::string GpuKernelsText(const fb::Plan& plan) {
  std::map<std::string, int> counts;
  for (const fb::GpuKernel* kernel : OrEmpty(plan.gpu_kernels())) {
    for (const fb::GpuImage* image : *kernel->images()) ++counts[image->architecture()->str()];
  }
  if (counts.empty()) return "";
  std::string images = absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " for ", entry.first);
  });
  return absl::StrCat("  GPU code   ", OrEmpty(plan.gpu_kernels()).size(), " kernels: ", images, "\n");
}

std::string DevicesText(const Plan& plan) {
  constexpr size_t kMost = 16;
  std::vector<Device> devices = plan.Devices();
  const size_t more = devices.size() > kMost ? devices.size() - kMost : 0;
  devices.resize(devices.size() - more);
  const auto append = [](std::string* out, Device device) { absl::StrAppend(out, device.ToString()); };
  return absl::StrCat(absl::StrJoin(devices, ", ", append),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Returns "mesh data 2 x tensor 3: 6 ranks"; empty if there is no mesh.
std::string MeshText(const fb::Plan& plan) {
  if (plan.mesh() == nullptr) return "";
  const RankMesh mesh(plan);
  return absl::StrCat("  mesh       ", mesh.ToString(plan), ": ", mesh.num_ranks(), " ranks\n");
}

std::string HeaderText(const Plan& plan) {
  const fb::Plan& table = plan.table();
  absl::Status runs_here = RunsHere(plan);
  std::string answer = runs_here.ok() ? "yes" : std::string(runs_here.message());
  if (runs_here.ok() && OrEmpty(table.better_code()).size() > 0) {
    absl::StrAppend(&answer, ", with the code for ", TextOr(CodeForThisCpu(table)->target->cpu(), "-"));
  }
  std::string text;
  absl::StrAppend(&text, "plan ", std::string(plan.name()), "\n");
  absl::StrAppend(&text, "  made by    ", std::string(plan.producer()), ", format version ", table.version(),
                  "\n");
  absl::StrAppend(&text, "  hash       ", plan.hash(), "\n");
  absl::StrAppend(&text, TargetText(table));
  absl::StrAppend(&text, GpuKernelsText(table), MeshText(table), "  devices    ", DevicesText(plan), "\n");
  absl::StrAppend(&text, "  runs here  ", answer, "\n");
  absl::StrAppend(&text, "  size       ", BytesText(static_cast<double>(plan.bytes().size())), ": code ",
                  BytesText(CodeBytes(table)), ", constants ", BytesText(SizeOfBytes(table.constants())),
                  "\n");
  return text;
}

// Returns "parts of 1.5 MB  " for a variable of which each rank holds a part, and "terms of a sum  " if it
// holds a term.
std::string PartText(const VariableInfo& variable) {
  const std::string terms = variable.is_sum ? "terms of a sum  " : "";
  if (!variable.is_cut) return terms;
  return absl::StrCat("parts of ", BytesText(static_cast<double>(variable.part_bytes)), "  ", terms);
}

// Returns "; replicas of them: 2, 128 B"; empty if there are no replicas. A session allocates memory for
// replicas too.
std::string ReplicasText(const fb::Plan& plan) {
  size_t count = 0;
  double bytes = 0;
  for (const fb::Variable* variable : OrEmpty(plan.variables())) {
    if (variable->replica_of() == 0) continue;
    ++count;
    bytes += static_cast<double>(variable->bytes());
  }
  if (count == 0) return "";
  return absl::StrCat("; replicas of them: ", count, ", ", BytesText(bytes));
}

std::string VariablesText(const Plan& plan) {
  std::vector<VariableInfo> variables = plan.Variables();
  double total = 0;
  for (const VariableInfo& v : variables) total += static_cast<double>(v.bytes);
  std::string text = absl::StrCat("\nvariables: ", variables.size(), ", ", BytesText(total),
                                  ReplicasText(plan.table()), "\n");
  for (const VariableInfo& v : variables) {
    absl::StrAppendFormat(&text, "  %-32s %-20s %10s  %s%s%s%s\n", v.name, v.TypeString(),
                          BytesText(static_cast<double>(v.bytes)),
                          plan.Devices().size() == 1 ? "" : v.device.ToString() + "  ", PartText(v),
                          v.trainable ? "trainable  " : "", v.location);
  }
  return text;
}

void AppendPorts(std::string& text, const char* kind, const std::vector<TensorInfo>& ports) {
  for (const TensorInfo& port : ports)
    absl::StrAppendFormat(&text, "  %-6s %s: %s\n", kind, port.name, port.TypeString());
}

// Returns a line for each kind of exchange over each set of axes: their number, and the bytes of a rank's
// operands.
std::string ExchangesText(const fb::Plan& plan, const fb::Function& function) {
  struct Sum {
    int count = 0;
    double bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (const fb::Step* step : OrEmpty(function.steps())) {
    const fb::CollectiveStep* const collective = step->body_as_CollectiveStep();
    if (collective == nullptr || OrEmpty(collective->axes()).size() == 0) continue;
    Sum& sum = sums[absl::StrCat(std::string(CollectiveName(collective->kind())), " over ",
                                 AxisNames(plan, collective->axes()))];
    ++sum.count;
    for (const int64_t elements : OrEmpty(collective->elements())) {
      sum.bytes += static_cast<double>(elements * SizeOf(static_cast<DType>(collective->dtype())));
    }
  }
  std::string text;
  for (const auto& [what, sum] : sums) {
    absl::StrAppend(&text, "  exchange  ", what, ": ", sum.count, ", ", BytesText(sum.bytes), "\n");
  }
  return text;
}

std::string StepsText(const fb::Plan& plan, const fb::Function& function) {
  std::string text = "  steps:\n";
  for (uint32_t i = 0; i < OrEmpty(function.steps()).size(); ++i) {
    const fb::Step& step = *function.steps()->Get(i);
    std::string work = absl::StrCat(FlopsText(step.flops()), ", ", BytesText(step.bytes()));
    std::string place = PlaceText(plan, function, step);
    absl::StrAppendFormat(&text, "  %4d  %s%s\n", i, StepText(plan, step), place.empty() ? "" : ", " + place);
    absl::StrAppend(&text, "        ", SignatureText(function, step), "\n");
    absl::StrAppend(&text, "        ", work, "; ", LocationsText(plan, step, 4), "\n");
    const fb::CollectiveStep* const exchange = step.body_as_CollectiveStep();
    if (exchange == nullptr || exchange->reason() == 0) continue;
    absl::StrAppend(&text, "        ", plan.exchange_reasons()->Get(exchange->reason() - 1)->text()->str(),
                    "\n");
  }
  return text;
}

std::string MemoryText(const fb::Plan& plan, const fb::Function& function, uint32_t device) {
  PeakMemory peak = FindPeakMemory(function, device);
  std::string place = NumDevices(plan) == 1 ? "" : absl::StrCat(" on ", DeviceOf(plan, device).ToString());
  std::string text = absl::StrCat("  memory", place, ": arena of ", ArenaBytes(function, device), " bytes");
  if (peak.alive.empty()) return absl::StrCat(text, ", nothing alive between steps\n");
  absl::StrAppend(&text, "; peak at step ", peak.step, " with ", peak.live_bytes, " bytes alive:\n");
  if (peak.workspace_bytes > 0) {
    absl::StrAppendFormat(&text, "    %12d  workspace of the step\n", peak.workspace_bytes);
  }
  constexpr size_t kMost = 40;
  for (size_t i = 0; i < peak.alive.size() && i < kMost; ++i) {
    const LiveValue& value = peak.alive[i];
    const fb::Step& maker = *function.steps()->Get(value.first_step);
    std::string until =
        value.last_step == OrEmpty(function.steps()).size() ? "the end" : absl::StrCat(value.last_step);
    absl::StrAppendFormat(&text, "    %12d  %-20s steps %d to %s  %s\n", value.bytes,
                          TypeText(*function.buffers()->Get(value.buffer)->type()), value.first_step, until,
                          LocationsText(plan, maker, 2));
  }
  if (peak.alive.size() > kMost)
    absl::StrAppend(&text, "    and ", peak.alive.size() - kMost, " smaller ones\n");
  return text;
}

// The lists of steps that loops run, each once.
std::string FragmentsText(const fb::Plan& plan, const InspectOptions& options) {
  std::string text;
  for (const fb::Function* fragment : OrEmpty(plan.fragments())) {
    absl::StrAppend(&text, "\nfragment ", fragment->name()->str(), ": ", OrEmpty(fragment->steps()).size(),
                    " steps, ", OrEmpty(fragment->parameters()).size(), " parameters\n");
    if (options.steps) absl::StrAppend(&text, StepsText(plan, *fragment));
    for (uint32_t d = 0; options.memory && d < NumDevices(plan); ++d) {
      if (ArenaBytes(*fragment, d) > 0) absl::StrAppend(&text, MemoryText(plan, *fragment, d));
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> InspectText(const Plan& plan, const InspectOptions& options) {
  std::string text = HeaderText(plan);
  absl::StrAppend(&text, VariablesText(plan));
  if (!options.function.empty()) SINTER_RETURN_IF_ERROR(plan.Function(options.function).status());
  for (const fb::Function* function : OrEmpty(plan.table().functions())) {
    if (!options.function.empty() && function->name()->str() != options.function) continue;
    SINTER_ASSIGN_OR_RETURN(FunctionInfo info, plan.Function(function->name()->str()));
    double flops = 0;
    for (const fb::Step* step : OrEmpty(function->steps())) flops += step->flops();
    const bool has_ranks = OrEmpty(function->ranks()).size() > 0;
    absl::StrAppend(&text, "\nfunction ", info.name,
                    has_ranks ? " of " + RankMesh(plan.table()).BoxOf(*function).ToString() : "", ": ",
                    OrEmpty(function->steps()).size(), " steps, ", FlopsText(flops), "\n");
    AppendPorts(text, "input", info.inputs);
    AppendPorts(text, "output", info.outputs);
    absl::StrAppend(&text, ExchangesText(plan.table(), *function));
    if (options.steps) absl::StrAppend(&text, StepsText(plan.table(), *function));
    for (uint32_t d = 0; options.memory && d < NumDevices(plan.table()); ++d) {
      absl::StrAppend(&text, MemoryText(plan.table(), *function, d));
    }
  }
  if (options.function.empty()) absl::StrAppend(&text, FragmentsText(plan.table(), options));
  return text;
}

}  // namespace sinter::tools
