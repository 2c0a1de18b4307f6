// Runs a function with a profile: each step is timed separately.
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "runtime/plan_generated.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/execute/executable.h"
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

absl::Status FunctionState::RunByItself(size_t index) {
  absl::Status status = RunStep(index);
  if (status.ok() && steps_[index].step != nullptr) status = steps_[index].step->Join();
  return status.ok() ? status : AtStep(index, status);
}

absl::Status FunctionState::RunByThemselves(std::span<const uint32_t> steps) {
  const auto launch = std::ranges::find_if(launches_, [&](const LoadedLaunch& loaded) {
    return loaded.launch.is_collective && loaded.launch.steps.front() == steps.front();
  });
  if (launch != launches_.end()) return RunCollective(*launch);
  if (steps.size() == 1) return RunByItself(steps.front());
  for (const uint32_t step : steps) {
    threads_->Post(steps_[step].table->device(), {LaunchThreads::Kind::kStep, step});
  }
  return threads_->Drain();
}

// No device waits for another: every device is idle before the next step.
absl::Status FunctionState::RunOneByOne(Profile* profile) {
  const Clock::time_point begin = Clock::now();
  for (const std::vector<uint32_t>& steps : units_) {
    const Clock::time_point start = Clock::now();
    SINTER_RETURN_IF_ERROR(RunByThemselves(steps));
    for (const uint32_t step : steps) {
      const DevicePlaces& places = memory_->devices[steps_[step].table->device()];
      if (!places.is_here()) continue;  // A copy to another process.
      if (absl::Status status = places.runtime->Synchronize(); !status.ok()) return AtStep(step, status);
    }
    AddTime(steps, std::chrono::duration<double>(start - begin).count(), SecondsSince(start), profile);
  }
  return absl::OkStatus();
}

// Mark 0 is the start of the run.
absl::Status FunctionState::MakeStopwatches() {
  std::vector<size_t> marks(memory_->devices.size(), 1);
  for (LoadedLaunch& loaded : launches_) {
    const size_t steps = loaded.launch.is_collective ? 1 : loaded.launch.steps.size();
    loaded.first_mark = marks[loaded.launch.device];
    marks[loaded.launch.device] += steps + 1;
  }
  std::vector<std::unique_ptr<Stopwatch>> made(marks.size());
  for (uint32_t device = 0; device < marks.size(); ++device) {
    if (!memory_->devices[device].is_here()) continue;
    SINTER_ASSIGN_OR_RETURN(made[device], RuntimeOf(device).MakeStopwatch(marks[device]));
  }
  stopwatches_ = std::move(made);
  return absl::OkStatus();
}

// Joins collectives immediately, so that no step runs concurrently with them.
absl::Status FunctionState::RunStepsWithMarks(const LoadedLaunch& loaded) {
  Stopwatch& stopwatch = *stopwatches_[loaded.launch.device];
  size_t mark = loaded.first_mark;
  for (const uint32_t step : loaded.launch.steps) {
    if (absl::Status status = stopwatch.Mark(mark++); !status.ok()) return AtStep(step, status);
    SINTER_RETURN_IF_ERROR(RunByItself(step));
  }
  absl::Status status = stopwatch.Mark(mark);
  return status.ok() ? status : AtLaunch(loaded.launch, status);
}

absl::Status FunctionState::RunCollectiveWithMarks(LoadedLaunch& loaded) {
  Stopwatch& stopwatch = *stopwatches_[loaded.launch.device];
  SINTER_RETURN_IF_ERROR(stopwatch.Mark(loaded.first_mark));
  SINTER_RETURN_IF_ERROR(RunCollective(loaded));
  return stopwatch.Mark(loaded.first_mark + 1);
}

// Excludes from a copy's time the wait for the source's work. Drain must come first: it launches the partners
// of the source's collectives.
absl::Status FunctionState::WaitForSourceOf(const Launch& launch) {
  if (threads_ != nullptr) SINTER_RETURN_IF_ERROR(threads_->Drain());
  const fb::Step& copy = *steps_[launch.steps.front()].table;
  const uint32_t from = table_->buffers()->Get(copy.inputs()->Get(0))->device();
  return memory_->local.Has(from) ? RuntimeOf(from).Synchronize() : absl::OkStatus();
}

absl::Status FunctionState::RunWithMarks(Profile* profile) {
  if (stopwatches_.empty()) SINTER_RETURN_IF_ERROR(MakeStopwatches());
  if (!has_recorded_marks_) SINTER_RETURN_IF_ERROR(RecordLaunches());
  for (const std::unique_ptr<Stopwatch>& stopwatch : stopwatches_) {
    if (stopwatch != nullptr) SINTER_RETURN_IF_ERROR(stopwatch->Mark(0));
  }
  SINTER_RETURN_IF_ERROR(RunLaunches());
  SINTER_RETURN_IF_ERROR(SynchronizeAll());
  return ReadMarks(profile);
}

absl::Status FunctionState::ReadMarks(Profile* profile) const {
  for (const LoadedLaunch& loaded : launches_) {
    if (loaded.launch.steps.empty()) continue;
    const std::span<const uint32_t> steps = loaded.launch.steps;
    const size_t at_once = loaded.launch.is_collective ? steps.size() : 1;
    const Stopwatch& stopwatch = *stopwatches_[loaded.launch.device];
    profile->seconds_of_mark = std::max(profile->seconds_of_mark, stopwatch.SecondsOfMark());
    for (size_t i = 0, mark = loaded.first_mark; i < steps.size(); i += at_once, ++mark) {
      const absl::StatusOr<double> begin = stopwatch.SecondsBetween(0, mark);
      if (!begin.ok()) return AtStep(steps[i], begin.status());
      const absl::StatusOr<double> seconds = stopwatch.SecondsBetween(mark, mark + 1);
      if (!seconds.ok()) return AtStep(steps[i], seconds.status());
      AddTime(steps.subspan(i, at_once), *begin, std::max(0.0, *seconds - stopwatch.SecondsOfMark()),
              profile);
    }
  }
  return absl::OkStatus();
}

absl::Status FunctionState::RunProfiled(Profile* profile) {
  PrepareProfile(profile);
  SINTER_RETURN_IF_ERROR(SynchronizeAll());
  if (!has_run_ || is_all_host_) return RunOneByOne(profile);
  with_marks_ = true;
  const absl::Status status = RunWithMarks(profile);
  with_marks_ = false;
  return status;
}

// Steps that ran together share the time equally.
void FunctionState::AddTime(std::span<const uint32_t> steps, double begin, double seconds,
                            Profile* profile) const {
  seconds /= static_cast<double>(steps.size());
  for (const uint32_t step : steps) {
    StepTimes& times = profile->steps[steps_[step].profile_entry];
    times.begin_seconds = begin;
    times.seconds_total += seconds;
    times.seconds_min = std::min(times.seconds_min, seconds);
  }
}

void FunctionState::AddRun(Clock::time_point start, Profile* profile) const {
  ++profile->runs;
  profile->seconds_total += SecondsSince(start);
}

void FunctionState::PrepareProfile(Profile* profile) const {
  if (profile->function == info_.name && profile->steps.size() == num_here_) return;
  *profile = Profile();
  profile->function = info_.name;
  for (const LoadedStep& step : steps_) {
    if (!step.is_here) continue;
    const fb::Step& table = *step.table;
    StepTimes times;
    if (table.name() != nullptr) times.name = table.name()->str();
    times.kind = StepKind(table);
    times.device = memory_->local.Has(table.device()) ? memory_->local.NameOf(*plan_, table.device())
                                                      : DeviceOf(*plan_, table.device());
    for (size_t k = 0; k < SizeOrZero(table.locations()); ++k) {
      times.locations.push_back(LocationText(*plan_, table.locations()->Get(k)));
    }
    times.seconds_min = std::numeric_limits<double>::infinity();
    times.flops = table.flops();
    times.bytes = table.bytes();
    profile->steps.push_back(std::move(times));
  }
}

}  // namespace sinter::internal_session
