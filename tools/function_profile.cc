#include "sinter/tools/function_profile.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {

namespace {

// The first run initializes libraries and the second captures the graph; then caches and clocks settle.
constexpr int kWarmUp = 5;
constexpr int kBursts = 5;

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

absl::StatusOr<double> SecondsOfRuns(Session& session, BoundFunction& function, int runs) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) SINTER_RETURN_IF_ERROR(function.Run());
  SINTER_RETURN_IF_ERROR(session.Synchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
}

// Returns the median time of a run. On GPUs times bursts of queued runs, as a training loop queues them. A
// CPU has finished a run when Run() returns.
absl::StatusOr<double> RunSeconds(Session& session, BoundFunction& function, int repeat, bool in_bursts) {
  SINTER_RETURN_IF_ERROR(SecondsOfRuns(session, function, kWarmUp).status());
  std::vector<double> samples;
  for (int i = 0; i < (in_bursts ? kBursts : repeat); ++i) {
    SINTER_ASSIGN_OR_RETURN(const double seconds, SecondsOfRuns(session, function, in_bursts ? repeat : 1));
    samples.push_back(seconds);
  }
  return Median(std::move(samples));
}

const fb::Function& FunctionOf(const fb::Plan& plan, std::string_view name) {
  const auto& functions = OrEmpty(plan.functions());
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const fb::Function* function) {
    return function->name()->string_view() == name;
  });
  SINTER_CHECK(found != functions.end()) << "no function " << name;
  return **found;
}

std::string WhatText(const fb::Plan& plan, const fb::Function& function, const fb::Step& step) {
  std::string text = StepText(plan, step);
  const std::optional<ContractionType> type = ContractionTypeOf(step);
  absl::StrAppend(&text, type.has_value() ? " in " + type->ToString() : "; " + SignatureText(function, step));
  const std::string place = PlaceText(plan, function, step);
  return place.empty() ? text : absl::StrCat(text, ", ", place);
}

ProfiledStep DescribeStep(const fb::Plan& plan, const fb::Function& function, uint32_t index,
                          const std::vector<Roofline>& rooflines) {
  const fb::Step& step = *function.steps()->Get(index);
  ProfiledStep described;
  described.what = WhatText(plan, function, step);
  described.lines = LocationsText(plan, step, 3);
  described.device = DeviceOf(plan, step.device());
  described.is_exchange = StepKindOf(step).is_exchange;
  described.bytes = step.bytes();
  described.flops = step.flops();
  const auto roofline = std::ranges::find(rooflines, described.device, &Roofline::device);
  if (roofline != rooflines.end()) described.bound = BoundOf(function, step, *roofline);
  return described;
}

// Runs with a profile and stores the median of each step and the times of the last run.
absl::Status TimeSteps(BoundFunction& function, FunctionProfile& result) {
  std::vector<std::vector<double>> samples(result.steps.size());
  std::vector<double> totals(result.steps.size()), runs;
  Profile profile;
  // Run -1 captures the graph with its events and is not counted.
  for (int run = -1; run < result.repeat; ++run) {
    SINTER_RETURN_IF_ERROR(function.Run(&profile));
    SINTER_CHECK(profile.steps.size() == result.steps.size()) << "a profile of other steps";
    double begin = std::numeric_limits<double>::infinity(), end = 0;
    for (size_t i = 0; i < profile.steps.size(); ++i) {
      const StepTimes& times = profile.steps[i];
      const double seconds = times.seconds_total - totals[i];
      totals[i] = times.seconds_total;
      if (run < 0) continue;
      samples[i].push_back(seconds);
      begin = std::min(begin, times.begin_seconds);
      end = std::max(end, times.begin_seconds + seconds);
      result.steps[i].begin_seconds = times.begin_seconds;
      result.steps[i].last_seconds = seconds;
    }
    if (run >= 0) runs.push_back(std::max(0.0, end - begin));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    result.steps[i].kind = std::string(profile.steps[i].kind);
    result.steps[i].seconds = Median(std::move(samples[i]));
  }
  result.marked_seconds = Median(std::move(runs));
  result.seconds_per_event = profile.seconds_per_event;
  return absl::OkStatus();
}

// Replaces the times of the last run by those of a run whose exchanges run beside other steps.
absl::Status TimeOrdinaryRun(BoundFunction& function, FunctionProfile& result) {
  Profile profile;
  profile.exchanges_beside = true;
  std::vector<double> totals(result.steps.size());
  // The first run captures the graph with its events.
  for (const bool is_timed : {false, true}) {
    SINTER_RETURN_IF_ERROR(function.Run(&profile));
    SINTER_CHECK(profile.steps.size() == result.steps.size()) << "a profile of other steps";
    for (size_t i = 0; i < profile.steps.size(); ++i) {
      const StepTimes& times = profile.steps[i];
      if (is_timed) {
        result.steps[i].begin_seconds = times.begin_seconds;
        result.steps[i].last_seconds = times.seconds_total - totals[i];
      }
      totals[i] = times.seconds_total;
    }
  }
  return absl::OkStatus();
}

}  // namespace

double FunctionProfile::StepSeconds() const {
  double sum = 0;
  for (const ProfiledStep& step : steps) sum += step.seconds;
  return sum;
}

absl::StatusOr<FunctionProfile> ProfileFunction(Session& session, BoundFunction& function,
                                                std::string_view name, const ProfileOptions& options) {
  if (options.repeat < 1) return absl::InvalidArgumentError("--repeat must be at least 1");
  const fb::Plan& plan = session.program();
  const fb::Function& table = FunctionOf(plan, name);
  FunctionProfile result;
  result.plan = session.plan().name();
  result.function = name;
  result.repeat = options.repeat;
  result.devices = session.plan().Devices();
  const fb::Plan& file = session.plan().table();
  for (uint32_t d = 0; file.mesh() != nullptr && d < result.devices.size(); ++d) {
    result.ranks.push_back(d / NumDevices(file));
  }
  if (options.with_rooflines) {
    absl::StatusOr<std::vector<Roofline>> rooflines = MeasureRooflines(plan, table, session.threads());
    if (!rooflines.ok()) {
      return absl::Status(rooflines.status().code(),
                          absl::StrCat("what the device can do at most could not be measured; --no-roofline "
                                       "profiles without it: ",
                                       rooflines.status().message()));
    }
    result.rooflines = *std::move(rooflines);
  }
  for (uint32_t i = 0; i < OrEmpty(table.steps()).size(); ++i) {
    result.steps.push_back(DescribeStep(plan, table, i, result.rooflines));
  }
  const bool has_gpu = std::ranges::any_of(result.devices, &Device::is_gpu);
  SINTER_ASSIGN_OR_RETURN(result.run_seconds, RunSeconds(session, function, options.repeat, has_gpu));
  SINTER_RETURN_IF_ERROR(TimeSteps(function, result));
  const bool gpus_exchange = std::ranges::any_of(
      result.steps, [](const ProfiledStep& step) { return step.is_exchange && !step.device.is_host(); });
  if (gpus_exchange) SINTER_RETURN_IF_ERROR(TimeOrdinaryRun(function, result));
  return result;
}

}  // namespace sinter::tools
