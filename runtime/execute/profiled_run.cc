#include "sinter/runtime/execute/profiled_run.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter::internal_session {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

absl::Status ProfiledRun::Run(const FunctionInfo& info, bool has_run, Profile* profile) {
  Prepare(info, profile);
  SINTER_RETURN_IF_ERROR(launches_.Synchronize());
  return !has_run || launches_.is_all_host() ? RunOneByOne(profile) : RunWithTimers(profile);
}

// No device waits for another: every device is idle before the next step.
absl::Status ProfiledRun::RunOneByOne(Profile* profile) {
  const Clock::time_point begin = Clock::now();
  for (const std::vector<uint32_t>& steps : launches_.units()) {
    const Clock::time_point start = Clock::now();
    SINTER_RETURN_IF_ERROR(launches_.RunUnit(steps));
    for (const uint32_t step : steps) {
      const DeviceBuffers& buffers = steps_.memory().devices[steps_[step].table->device()];
      if (!buffers.is_here()) continue;  // A copy to another process.
      if (absl::Status status = buffers.runtime->Synchronize(); !status.ok())
        return steps_.AtStep(step, status);
    }
    AddTime(steps, std::chrono::duration<double>(start - begin).count(), SecondsSince(start), profile);
  }
  return absl::OkStatus();
}

absl::Status ProfiledRun::RunWithTimers(Profile* profile) {
  LaunchTimers& timers = profile->exchanges_beside ? timers_beside_ : timers_;
  if (!timers.is_made()) {
    SINTER_RETURN_IF_ERROR(timers.Make(steps_, launches_.launches(), profile->exchanges_beside));
  }
  SINTER_RETURN_IF_ERROR(launches_.Run(/*has_run=*/true, &timers));
  SINTER_RETURN_IF_ERROR(launches_.Synchronize());
  return profile->exchanges_beside ? ReadTimersBeside(profile) : ReadTimers(profile);
}

// A collective begins when its inputs are there and the collective before has ended.
absl::Status ProfiledRun::ReadTimersBeside(Profile* profile) const {
  const std::vector<const Launch*> launches = launches_.launches();
  for (size_t number = 0; number < launches.size(); ++number) {
    const Launch& launch = *launches[number];
    if (launch.steps.empty()) continue;
    const std::span<const uint32_t> steps = launch.steps;
    const EventTimer& timer = timers_beside_.TimerOf(launch.device);
    profile->seconds_per_event = std::max(profile->seconds_per_event, timer.SecondsPerEvent());
    const size_t before = timers_beside_.FirstEvent(number);
    if (launch.is_collective) {
      SINTER_ASSIGN_OR_RETURN(const double begin, timer.SecondsBetween(0, before));
      SINTER_ASSIGN_OR_RETURN(const double seconds, timer.SecondsBetween(before, before + 1));
      AddTime(steps, begin, seconds, profile);
      continue;
    }
    const size_t after_wait = before + steps.size() + 1, after_exchange = after_wait + steps.size() + 1;
    double last_exchange = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool is_exchange = steps_[steps[i]].table->body_as_CollectiveStep() != nullptr;
      absl::StatusOr<double> begin = timer.SecondsBetween(0, after_wait + i);
      absl::StatusOr<double> end = timer.SecondsBetween(0, is_exchange ? after_exchange + i : before + i + 1);
      if (!begin.ok()) return steps_.AtStep(steps[i], begin.status());
      if (!end.ok()) return steps_.AtStep(steps[i], end.status());
      if (is_exchange) *begin = std::max(*begin, std::exchange(last_exchange, *end));
      AddTime(steps.subspan(i, 1), *begin, std::max(0.0, *end - *begin), profile);
    }
  }
  return absl::OkStatus();
}

absl::Status ProfiledRun::ReadTimers(Profile* profile) const {
  const std::vector<const Launch*> launches = launches_.launches();
  for (size_t number = 0; number < launches.size(); ++number) {
    const Launch& launch = *launches[number];
    if (launch.steps.empty()) continue;
    const std::span<const uint32_t> steps = launch.steps;
    const size_t at_once = launch.is_collective ? steps.size() : 1;
    const EventTimer& timer = timers_.TimerOf(launch.device);
    profile->seconds_per_event = std::max(profile->seconds_per_event, timer.SecondsPerEvent());
    for (size_t i = 0, event = timers_.FirstEvent(number); i < steps.size(); i += at_once, ++event) {
      const absl::StatusOr<double> begin = timer.SecondsBetween(0, event);
      if (!begin.ok()) return steps_.AtStep(steps[i], begin.status());
      const absl::StatusOr<double> seconds = timer.SecondsBetween(event, event + 1);
      if (!seconds.ok()) return steps_.AtStep(steps[i], seconds.status());
      AddTime(steps.subspan(i, at_once), *begin, std::max(0.0, *seconds - timer.SecondsPerEvent()), profile);
    }
  }
  return absl::OkStatus();
}

// Steps that ran together share the time equally.
void ProfiledRun::AddTime(std::span<const uint32_t> steps, double begin, double seconds,
                          Profile* profile) const {
  seconds /= static_cast<double>(steps.size());
  for (const uint32_t step : steps) {
    StepTimes& times = profile->steps[steps_[step].profile_entry];
    times.begin_seconds = begin;
    times.seconds_total += seconds;
    times.seconds_min = std::min(times.seconds_min, seconds);
  }
}

void ProfiledRun::AddRun(Clock::time_point start, Profile* profile) {
  ++profile->runs;
  profile->seconds_total += SecondsSince(start);
}

void ProfiledRun::Prepare(const FunctionInfo& info, Profile* profile) const {
  if (profile->function == info.name && profile->steps.size() == steps_.num_here()) return;
  const bool exchanges_beside = profile->exchanges_beside;
  *profile = Profile();
  profile->exchanges_beside = exchanges_beside;
  profile->function = info.name;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const LoadedStep& step = steps_[i];
    if (!step.is_here) continue;
    const fb::Step& table = *step.table;
    StepTimes times;
    if (table.name() != nullptr) times.name = table.name()->str();
    times.kind = StepKindName(table);
    times.device = steps_.memory().local.Has(table.device())
                       ? steps_.memory().local.NameOf(steps_.plan(), table.device())
                       : DeviceOf(steps_.plan(), table.device());
    for (size_t k = 0; k < SizeOrZero(table.locations()); ++k) {
      times.locations.push_back(LocationText(steps_.plan(), table.locations()->Get(k)));
    }
    times.seconds_min = std::numeric_limits<double>::infinity();
    times.flops = table.flops();
    times.bytes = table.bytes();
    profile->steps.push_back(std::move(times));
  }
}

}  // namespace sinter::internal_session
