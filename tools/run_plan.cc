#include "sinter/tools/run_plan.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"

namespace sinter::tools {

namespace {

template <typename T>
std::string Summary(std::span<const T> values) {
  double low = ToDouble(values[0]), high = low, sum = 0;
  for (T value : values) {
    low = std::min(low, ToDouble(value));
    high = std::max(high, ToDouble(value));
    sum += ToDouble(value);
  }
  if (values.size() == 1) return absl::StrFormat("= %.9g", low);
  return absl::StrFormat("min %.6g, mean %.6g, max %.6g", low, sum / static_cast<double>(values.size()),
                         high);
}

std::string SummaryOf(const HostTensor& tensor) {
  if (tensor.num_elements() == 0) return "no elements";
  return WithElementType(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* const from = static_cast<const T*>(tensor.data());
    return Summary(std::span<const T>(from, static_cast<size_t>(tensor.num_elements())));
  });
}

// Returns `amount` per second in units of 1e9; "-" if either is 0.
std::string RateText(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? absl::StrFormat("%.2f", amount / seconds / 1e9) : "-";
}

void PrintProfile(const Profile& profile, std::ostream& out) {
  double sum = 0;
  for (const StepTimes& step : profile.steps) sum += step.seconds_total;
  auto is_elsewhere = [&](const StepTimes& step) { return step.device != profile.steps[0].device; };
  bool has_several = std::ranges::any_of(profile.steps, is_elsewhere);
  out << absl::StrFormat("%5s %10s %10s %6s %9s %9s  %s\n", "step", "ms mean", "ms min", "%", "GB/s",
                         "GFLOP/s", "what");
  double runs = static_cast<double>(std::max<int64_t>(profile.runs, 1));
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepTimes& s = profile.steps[i];
    std::string lines = absl::StrJoin(s.locations.begin(),
                                      s.locations.begin() + std::min<size_t>(3, s.locations.size()), ", ");
    if (s.locations.size() > 3) absl::StrAppend(&lines, " and ", s.locations.size() - 3, " more");
    out << absl::StrFormat("%5d %10.4f %10.4f %6.1f %9s %9s  %s %s%s; %s\n", i, s.seconds_total / runs * 1e3,
                           s.seconds_min * 1e3, sum > 0 ? 100 * s.seconds_total / sum : 0.0,
                           RateText(s.bytes, s.seconds_min), RateText(s.flops, s.seconds_min),
                           std::string(s.kind), s.name, has_several ? " on " + s.device.ToString() : "",
                           lines.empty() ? "-" : lines);
  }
  out << absl::StrFormat("  sum %10.4f ms of steps, %.4f ms of whole runs\n", sum / runs * 1e3,
                         profile.seconds_total / runs * 1e3);
}

absl::Status SaveOutputs(const std::string& path, const Outputs& outputs) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const output, outputs.Get(outputs.name(i)));
    SINTER_ASSIGN_OR_RETURN(HostTensor copy, output->Clone());
    tensors.push_back({std::string(outputs.name(i)), std::move(copy)});
  }
  return SaveNpz(path, tensors);
}

// Prints the startup time of a process that loads a plan, by stage. Omits inputs and checkpoints: these
// depend on the caller.
void PrintLoadTimes(const FunctionCall& call, double first_run_ms, std::ostream& out) {
  std::vector<std::pair<std::string, double>> rows = {{"read and check the plan", call.plan_seconds() * 1e3}};
  for (const LoadStage& stage : call.session().load_times().stages()) {
    rows.emplace_back(stage.what, stage.seconds * 1e3);
  }
  rows.emplace_back("first run", first_run_ms);
  for (const auto& [what, ms] : rows) {
    out << absl::StrFormat("%10.3f ms  %s\n", ms, what);
  }
  out << absl::StrFormat("%10.3f ms  from the plan's file to the end of the first run\n",
                         (call.plan_seconds() + call.session().load_times().Total()) * 1e3 + first_run_ms);
}

// Times each run until its last device has finished. Returns the milliseconds of the first run.
absl::StatusOr<double> TimeRuns(FunctionCall& call, int repeat, Profile* profile, std::ostream& out) {
  std::vector<double> ms;
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    SINTER_RETURN_IF_ERROR(call.function().Run(profile));
    SINTER_RETURN_IF_ERROR(call.session().Synchronize());
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  double first = ms[0];
  std::ranges::sort(ms);
  out << absl::StrFormat("%d %s: median %.4f ms, least %.4f ms, first %.4f ms\n", repeat,
                         repeat == 1 ? "run" : "runs", ms[ms.size() / 2], ms[0], first);
  return first;
}

}  // namespace

absl::Status RunPlan(const RunOptions& options, std::ostream& out) {
  if (options.repeat < 1) return absl::InvalidArgumentError("--repeat must be at least 1");
  SINTER_ASSIGN_OR_RETURN(FunctionCall call, FunctionCall::Make(options.call));
  Profile profile;
  SINTER_ASSIGN_OR_RETURN(const double first_run_ms,
                          TimeRuns(call, options.repeat, options.profile ? &profile : nullptr, out));
  Outputs outputs = call.function().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor* const output, outputs.Get(outputs.name(i)));
    out << "output " << outputs.name(i) << ": " << output->ToString() << " " << SummaryOf(*output) << "\n";
  }
  if (options.profile) PrintProfile(profile, out);
  if (options.load_times) PrintLoadTimes(call, first_run_ms, out);
  if (!options.output.empty()) SINTER_RETURN_IF_ERROR(SaveOutputs(options.output, outputs));
  if (!options.save_checkpoint.empty())
    SINTER_RETURN_IF_ERROR(SaveCheckpoint(call.session(), options.save_checkpoint));
  return absl::OkStatus();
}

}  // namespace sinter::tools
