// Runs a loaded function by its launches.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/execute/executable.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter::internal_session {

absl::Status FunctionState::RunStep(size_t index) {
  const LoadedStep& step = steps_[index];
  const fb::Step& table = *step.table;
  void* const* const buffers = slots_.data() + step.first_slot;
  const DevicePlaces& places = memory_->devices[table.device()];
  if (step.writes_variables) has_written_.store(true, std::memory_order_relaxed);
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
       .library_workspace = places.library_workspace + step.library_workspace});
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
  return memory_->world->Exchange({&transfer, 1}, OperationOf("copy", index));
}

void FunctionState::SayWritten(const Launch& launch) {
  const bool writes =
      std::ranges::any_of(launch.steps, [&](uint32_t step) { return steps_[step].writes_variables; });
  if (writes) has_written_.store(true, std::memory_order_relaxed);
}

absl::Status FunctionState::RunCollective(LoadedLaunch& loaded) {
  const Launch& launch = loaded.launch;
  SayWritten(launch);
  return loaded.collective->Run(loaded.operands, memory_->devices[launch.device].library_workspace,
                                memory_->exchanging_runs);
}

absl::Status FunctionState::RunSteps(const LoadedLaunch& loaded) {
  if (with_marks_) return RunStepsWithMarks(loaded);
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

absl::Status FunctionState::RunStepsAsPieces(const LoadedLaunch& loaded) {
  const std::span<const uint32_t> steps = loaded.launch.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::Status status = RuntimeOf(loaded.launch.device).BeginPiece(loaded.order.before[i]);
    if (status.ok()) status = RunStep(steps[i]);
    if (!status.ok()) return AtStep(steps[i], status);
  }
  return absl::OkStatus();
}

std::unique_ptr<RecordedWork>& FunctionState::RecordingOf(LoadedLaunch& loaded) const {
  return with_marks_ ? loaded.recorded_with_marks : loaded.recorded;
}

absl::Status FunctionState::RecordLaunch(LoadedLaunch& loaded) {
  absl::StatusOr<std::unique_ptr<RecordedWork>> recorded =
      RuntimeOf(loaded.launch.device).Record([this, &loaded] {
        const bool in_pieces = !with_marks_ && !loaded.order.before.empty();
        return in_pieces ? RunStepsAsPieces(loaded) : RunSteps(loaded);
      });
  if (!recorded.ok()) return AtLaunch(loaded.launch, recorded.status());
  RecordingOf(loaded) = *std::move(recorded);
  return absl::OkStatus();
}

absl::Status FunctionState::RunLaunch(LoadedLaunch& loaded) {
  if (loaded.launch.is_collective) {
    return with_marks_ ? RunCollectiveWithMarks(loaded) : RunCollective(loaded);
  }
  RecordedWork* const recorded = RecordingOf(loaded).get();
  if (recorded == nullptr) return RunSteps(loaded);
  SayWritten(loaded.launch);
  absl::Status status = recorded->Launch();
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

// Must come before any launch: recording allocates, which may wait for a device. A device that has begun an
// exchange would then wait for its partner.
absl::Status FunctionState::RecordLaunches() {
  absl::Status status;
  for (size_t i = 0; i < launches_.size() && status.ok(); ++i) {
    LoadedLaunch& loaded = launches_[i];
    const uint32_t device = loaded.launch.device;
    const bool may_record = with_marks_ ? loaded.may_record_with_marks : loaded.may_record;
    if (!may_record || RecordingOf(loaded) != nullptr) continue;
    if (threads_ != nullptr && threads_->Has(device)) {
      threads_->Post(device, {LaunchThreads::Kind::kRecord, i});
    } else {
      status = RecordLaunch(loaded);
    }
  }
  if (threads_ != nullptr) {
    const absl::Status drained = threads_->Drain();
    if (!drained.ok()) status = drained;
    if (status.ok()) status = SynchronizeAll();
  }
  // Recording runs nothing, so no variable is written yet.
  has_written_.store(false, std::memory_order_relaxed);
  (with_marks_ ? has_recorded_marks_ : has_recorded_) = status.ok();
  return status;
}

// Waits until the threads have launched all tasks of the devices that this launch uses. Other threads may
// still be launching: the partners of these tasks were posted earlier.
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
  if (with_marks_ && launch.is_between) SINTER_RETURN_IF_ERROR(WaitForSourceOf(launch));
  for (const uint32_t other : launch.others) {
    SINTER_RETURN_IF_ERROR(RuntimeOf(launch.device).WaitFor(RuntimeOf(other)));
  }
  if (launch.steps.empty()) return absl::OkStatus();
  if (!is_posted) return RunLaunch(loaded);
  threads_->Post(launch.device, {LaunchThreads::Kind::kLaunch, index});
  return absl::OkStatus();
}

absl::Status FunctionState::RunLaunches() {
  const bool has_recorded = with_marks_ ? has_recorded_marks_ : has_recorded_;
  if (has_run_ && !has_recorded) SINTER_RETURN_IF_ERROR(RecordLaunches());
  absl::Status status;
  for (size_t i = 0; i < launches_.size() && status.ok(); ++i) status = GiveLaunch(i);
  if (threads_ != nullptr) {
    // After an error too, the threads must be idle on return. A thread's error takes precedence, because it
    // occurred first.
    const absl::Status drained = threads_->Drain();
    if (!drained.ok()) status = drained;
  }
  SINTER_RETURN_IF_ERROR(status);
  for (const Wait& wait : last_waits_) {
    SINTER_RETURN_IF_ERROR(RuntimeOf(wait.waiter).WaitFor(RuntimeOf(wait.other)));
  }
  return absl::OkStatus();
}

// Without the abort the other members would wait forever.
void FunctionState::AbortDevices(const absl::Status& reason) {
  for (const DevicePlaces& places : memory_->devices) {
    if (places.is_here() && !places.is_host) places.runtime->Abort(reason);
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

}  // namespace sinter::internal_session
