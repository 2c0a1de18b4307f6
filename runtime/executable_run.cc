// How a function runs, loaded: its launches, or, with a profile, its steps.
#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/executable.h"
#include "sinter/runtime/plan_devices.h"
#include "sinter/runtime/plan_vectors.h"
#include "sinter/runtime/plan_verifier.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/steps.h"

namespace sinter::internal_session {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

absl::Status FunctionState::RunStep(size_t index) {
  const LoadedStep& step = steps_[index];
  const fb::Step& table = *step.table;
  void* const* const buffers = slots_.data() + step.first_slot;
  const DevicePlaces& places = memory_->devices[table.device()];
  if (step.step == nullptr) {
    const uint32_t from = table_->buffers()->Get(table.inputs()->Get(0))->device();
    const size_t bytes = table.body_as_CopyStep()->bytes();
    if (!memory_->local.Has(from) && IsCopyOfInput(*table_, table)) {
      return bytes == 0 ? absl::OkStatus() : places.runtime->Upload(buffers[1], buffers[0], bytes);
    }
    if (!places.is_here() || !memory_->local.Has(from)) return RunCopyBetweenProcesses(index);
    return bytes == 0 ? absl::OkStatus()
                      : places.runtime->CopyFrom(RuntimeOf(from), buffers[1], buffers[0], bytes);
  }
  return step.step->Run(
      {.buffers = buffers,
       .workspace = table.workspace_bytes() == 0 ? nullptr : places.arena + table.workspace_offset(),
       .scratch = places.scratch,
       .library_workspace = places.library_workspace});
}

absl::Status FunctionState::RunCopyBetweenProcesses(size_t index) {
  const LoadedStep& step = steps_[index];
  const uint32_t from = table_->buffers()->Get(step.table->inputs()->Get(0))->device();
  const bool is_send = memory_->local.Has(from);
  const size_t bytes = step.table->body_as_CopyStep()->bytes();
  if (bytes == 0) return absl::OkStatus();
  const World::Transfer transfer = {.peer = memory_->local.RankOf(is_send ? step.table->device() : from),
                                    .data = slots_[step.first_slot + (is_send ? 0 : 1)],
                                    .bytes = bytes,
                                    .is_send = is_send};
  return memory_->world->Exchange({&transfer, 1}, {"copy", static_cast<uint32_t>(index % 32768)});
}

absl::Status FunctionState::RunCollective(LoadedLaunch& loaded) {
  const Launch& launch = loaded.launch;
  return loaded.collective->Run(loaded.operands, memory_->devices[launch.device].library_workspace);
}

absl::Status FunctionState::RunSteps(const LoadedLaunch& loaded) {
  const std::span<const uint32_t> steps = loaded.launch.steps;
  auto join = loaded.joins.begin();
  for (size_t i = 0; i <= steps.size(); ++i) {
    for (; join != loaded.joins.end() && join->before == i; ++join) {
      absl::Status status = steps_[join->collective].step->Join();
      if (!status.ok()) return AtStep(join->collective, status);
    }
    if (i == steps.size()) break;
    if (absl::Status status = RunStep(steps[i]); !status.ok()) return AtStep(steps[i], status);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::RecordLaunch(LoadedLaunch& loaded) {
  absl::StatusOr<std::unique_ptr<RecordedWork>> recorded =
      RuntimeOf(loaded.launch.device).Record([this, &loaded] { return RunSteps(loaded); });
  if (!recorded.ok()) return AtLaunch(loaded.launch, recorded.status());
  loaded.recorded = *std::move(recorded);
  return absl::OkStatus();
}

absl::Status FunctionState::RunLaunch(LoadedLaunch& loaded) {
  if (loaded.launch.is_collective) return RunCollective(loaded);
  if (loaded.recorded == nullptr) return RunSteps(loaded);
  absl::Status status = loaded.recorded->Launch();
  return status.ok() ? status : AtLaunch(loaded.launch, status);
}

absl::Status FunctionState::RunTask(const LaunchThreads::Task& task) {
  switch (task.kind) {
    case LaunchThreads::Kind::kRecord:
      return RecordLaunch(launches_[task.index]);
    case LaunchThreads::Kind::kLaunch:
      return RunLaunch(launches_[task.index]);
    case LaunchThreads::Kind::kStep:
      return RunByItself(task.index);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::RunByItself(size_t index) {
  absl::Status status = RunStep(index);
  if (status.ok() && steps_[index].step != nullptr) status = steps_[index].step->Join();
  return status.ok() ? status : AtStep(index, status);
}

// Before anything is launched: to record allocates, which may wait for a device, and one that has begun an exchange would
// wait for its partner.
absl::Status FunctionState::RecordLaunches() {
  absl::Status status;
  for (size_t i = 0; i < launches_.size() && status.ok(); ++i) {
    LoadedLaunch& loaded = launches_[i];
    const uint32_t device = loaded.launch.device;
    if (!loaded.may_record || loaded.recorded != nullptr) continue;
    if (threads_ != nullptr && threads_->Has(device)) {
      threads_->Post(device, {LaunchThreads::Kind::kRecord, i});
    } else {
      status = RecordLaunch(loaded);
    }
  }
  if (threads_ != nullptr) {
    const absl::Status drained = threads_->Drain();
    if (!drained.ok()) return drained;
    if (status.ok()) status = SynchronizeAll();
  }
  has_recorded_ = status.ok();
  return status;
}

// All that was posted for the devices that a launch touches is given to them. Others may still be at it: the partners of
// what these were given were posted before.
absl::Status FunctionState::WaitForThreadsOf(const Launch& launch) {
  if (threads_ == nullptr) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(threads_->Drain(launch.device));
  for (const uint32_t other : launch.others) SINTER_RETURN_IF_ERROR(threads_->Drain(other));
  if (!launch.is_between) return absl::OkStatus();
  const fb::Step& copy = *steps_[launch.steps.front()].table;
  return threads_->Drain(table_->buffers()->Get(copy.inputs()->Get(0))->device());
}

absl::Status FunctionState::GiveLaunch(size_t index) {
  LoadedLaunch& loaded = launches_[index];
  const Launch& launch = loaded.launch;
  const bool is_posted = threads_ != nullptr && threads_->Has(launch.device) && !launch.is_between;
  if (!is_posted || !launch.others.empty()) SINTER_RETURN_IF_ERROR(WaitForThreadsOf(launch));
  for (const uint32_t other : launch.others) {
    SINTER_RETURN_IF_ERROR(RuntimeOf(launch.device).WaitFor(RuntimeOf(other)));
  }
  if (launch.steps.empty()) return absl::OkStatus();
  if (!is_posted) return RunLaunch(loaded);
  threads_->Post(launch.device, {LaunchThreads::Kind::kLaunch, index});
  return absl::OkStatus();
}

absl::Status FunctionState::RunLaunches() {
  if (has_run_ && !has_recorded_) SINTER_RETURN_IF_ERROR(RecordLaunches());
  absl::Status status;
  for (size_t i = 0; i < launches_.size() && status.ok(); ++i) status = GiveLaunch(i);
  if (threads_ != nullptr) {
    // After an error too: the threads must be done when this returns. Theirs came first.
    const absl::Status drained = threads_->Drain();
    if (!drained.ok()) status = drained;
  }
  SINTER_RETURN_IF_ERROR(status);
  for (const Wait& wait : last_waits_) {
    SINTER_RETURN_IF_ERROR(RuntimeOf(wait.waiter).WaitFor(RuntimeOf(wait.other)));
  }
  return absl::OkStatus();
}

void FunctionState::AbortDevices(const absl::Status& reason) {
  for (const DevicePlaces& places : memory_->devices) {
    if (places.is_here() && !places.is_host) places.runtime->Abort(reason);
  }
}

// The other members would wait for ever, here and in other processes.
void FunctionState::AbortAll(const absl::Status& reason) {
  if (!has_device_collectives_) return;
  AbortDevices(reason);
  if (memory_->world != nullptr) memory_->world->Abort(std::string(reason.message()));
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

// Nobody waits for anybody: each device is idle before the next step.
absl::Status FunctionState::RunOneByOne(Profile* profile) {
  PrepareProfile(profile);
  SINTER_RETURN_IF_ERROR(SynchronizeAll());
  for (const std::vector<uint32_t>& steps : units_) {
    const Clock::time_point start = Clock::now();
    SINTER_RETURN_IF_ERROR(RunByThemselves(steps));
    for (const uint32_t step : steps) {
      const DevicePlaces& places = memory_->devices[steps_[step].table->device()];
      if (!places.is_here()) continue;  // A copy to another process.
      if (absl::Status status = places.runtime->Synchronize(); !status.ok()) return AtStep(step, status);
    }
    AddTime(steps, SecondsSince(start), profile);
  }
  return absl::OkStatus();
}

// Steps that ran as one share the time.
void FunctionState::AddTime(std::span<const uint32_t> steps, double seconds, Profile* profile) const {
  seconds /= static_cast<double>(steps.size());
  for (const uint32_t step : steps) {
    StepTimes& times = profile->steps[steps_[step].profile_entry];
    times.seconds_total += seconds;
    times.seconds_min = std::min(times.seconds_min, seconds);
  }
}

absl::Status FunctionState::SynchronizeAll() {
  for (const DevicePlaces& places : memory_->devices) {
    if (places.is_here()) SINTER_RETURN_IF_ERROR(places.runtime->Synchronize());
  }
  return absl::OkStatus();
}

std::string FunctionState::PlaceOf(size_t index) const {
  const fb::Step& table = *table_->steps()->Get(static_cast<uint32_t>(index));
  return absl::StrCat("function \"", info_.name, "\", step ", index, " (",
                      table.name() == nullptr ? "" : table.name()->c_str(), ")");
}

absl::Status FunctionState::AtStep(size_t index, const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(PlaceOf(index), ": ", status.message()));
}

absl::Status FunctionState::AtLaunch(const Launch& launch, const absl::Status& status) const {
  return absl::Status(
      status.code(),
      absl::StrCat("function \"", info_.name, "\", steps ", launch.steps.front(), " to ", launch.steps.back(),
                   " on ", RuntimeOf(launch.device).device().ToString(), ": ", status.message()));
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
