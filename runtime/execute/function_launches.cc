#include "sinter/runtime/execute/function_launches.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/execute/device_exchange.h"
#include "sinter/runtime/execute/step_order.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter::internal_session {
namespace {

// A single kernel is captured if it has few blocks and writes few bytes: the thread that launches needs 2.2
// us for a graph and 3 to 4 for a kernel, longer than such a kernel runs. A longer kernel may begin before
// that of the run before has ended.
constexpr uint32_t kMostCapturedBlocks = 1024;
constexpr uint64_t kMostCapturedBytes = 2 << 20;

std::vector<bool> HostDevices(const SessionBuffers& memory) {
  std::vector<bool> is_host;
  for (const DeviceBuffers& buffers : memory.devices) is_host.push_back(buffers.is_host);
  return is_host;
}

// Waits for the collectives that end before this position of a launch; `wait` moves on from the first of
// them.
absl::Status WaitForCollectives(FunctionSteps& steps, std::span<const CollectiveWait> all, size_t& wait,
                                size_t before) {
  for (; wait < all.size() && all[wait].before == before; ++wait) {
    absl::Status status = steps[all[wait].collective].step->Wait();
    if (!status.ok()) return steps.AtStep(all[wait].collective, status);
  }
  return absl::OkStatus();
}

bool CanBeCaptured(const LoadedStep& step) {
  return step.step == nullptr || step.step->capture_limit() != CaptureLimit::kNowhere;
}

bool IsShortKernel(const FunctionSteps& steps, uint32_t index) {
  const fb::Step& step = *steps[index].table;
  const fb::GpuKernelStep* const kernel = step.body_as_GpuKernelStep();
  if (kernel == nullptr || kernel->grid() > kMostCapturedBlocks) return false;
  uint64_t written = 0;
  for (const uint32_t output : *step.outputs()) written += steps.table().buffers()->Get(output)->bytes();
  return written <= kMostCapturedBytes;
}

bool IsCollective(const LoadedStep& step) { return step.table->body_as_CollectiveStep() != nullptr; }

}  // namespace

// Loading --------------------------------------------------------------------------------------------------

absl::Status FunctionLaunches::Load() {
  LaunchOrder order =
      MakeLaunchOrder(steps_.plan(), steps_.table(), HostDevices(steps_.memory()), &steps_.memory().local);
  const auto can_be_captured = [this](uint32_t step) { return CanBeCaptured(steps_[step]); };
  std::vector<Launch> launches;
  for (Launch& launch : order.launches) {
    std::ranges::move(PartsOf(std::move(launch), can_be_captured), std::back_inserter(launches));
  }
  for (Launch& launch : launches) {
    const bool is_host = steps_.memory().devices[launch.device].is_host;
    is_all_host_ = is_all_host_ && is_host;
    LoadedLaunch loaded;
    if (!is_host && !launch.is_between) {
      // The parts of a launch are alike (PartsOf).
      const bool is_capturable = !launch.steps.empty() && can_be_captured(launch.steps.front());
      loaded.may_capture_with_timers = is_capturable;
      loaded.waits = FindCollectiveWaits(steps_.plan(), steps_.table(), launch.steps);
      const bool has_exchanges = !loaded.waits.empty();
      const bool has_loops = std::ranges::any_of(
          launch.steps, [&](uint32_t step) { return steps_[step].table->body_as_LoopStep() != nullptr; });
      // Either all members of a collective capture it, or none.
      loaded.may_capture = is_capturable && (launch.steps.size() > 1 || has_exchanges || has_loops ||
                                             IsShortKernel(steps_, launch.steps.front()));
      if (loaded.may_capture && RunSideBySide(launch.steps.size(), has_exchanges)) {
        loaded.order = OrderOf(launch);
      }
    }
    if (is_host && launch.is_collective) {
      loaded.collective = MakeHostCollective(launch);
      for (const uint32_t step : launch.steps) {
        loaded.operands.push_back(steps_.OperandsOf(step));
      }
    }
    loaded.launch = std::move(launch);
    launches_.push_back(std::move(loaded));
  }
  last_waits_ = std::move(order.last);
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (std::vector<uint32_t> unit = StepsRunWith(i); !unit.empty()) units_.push_back(std::move(unit));
  }
  MakeThreads();
  return absl::OkStatus();
}

StepDependencies FunctionLaunches::OrderOf(const Launch& launch) {
  std::vector<size_t> library_workspaces;
  for (const uint32_t step : launch.steps) {
    library_workspaces.push_back(steps_[step].step->LibraryWorkspaceBytes());
  }
  StepDependencies order = FindDependencies(steps_.table(), launch.steps, library_workspaces);
  for (size_t i = 0; i < launch.steps.size(); ++i) {
    steps_.SetLibraryWorkspace(launch.steps[i], order.workspace_offsets[i]);
  }
  steps_.NeedLibraryWorkspace(launch.device, order.workspace_bytes);
  return order;
}

// Returns the step alone, or all local members of its collective if the step is their first. Empty for a step
// of another process and for a later member.
std::vector<uint32_t> FunctionLaunches::StepsRunWith(uint32_t index) const {
  if (!steps_[index].is_here) return {};
  std::vector<uint32_t> members;
  const uint32_t end = EndOfChannel(steps_.table(), index);
  for (uint32_t member = BeginOfChannel(steps_.table(), index); member < end; ++member) {
    if (steps_[member].is_here) members.push_back(member);
  }
  if (members.front() != index) members.clear();
  return members;
}

// If several non-CPU devices exchange data, each gets its own launching thread.
void FunctionLaunches::MakeThreads() {
  std::vector<bool> exchanges(steps_.memory().devices.size());
  for (const LoadedLaunch& loaded : launches_) {
    if (!loaded.waits.empty()) exchanges[loaded.launch.device] = true;
  }
  const auto count = std::ranges::count(exchanges, true);
  has_device_collectives_ = count > 0;
  if (count < 2) return;
  threads_ = std::make_unique<LaunchThreads>(
      exchanges, [this](const LaunchThreads::Task& task) { return RunTask(task); },
      [this](const absl::Status& status) { Abort(status); });
}

std::unique_ptr<HostCollective> FunctionLaunches::MakeHostCollective(const Launch& launch) {
  const fb::Step& first = *steps_[launch.steps.front()].table;
  const fb::CollectiveStep& table = *first.body_as_CollectiveStep();
  const std::string name = absl::StrCat(std::string(CollectiveName(table.kind())), ", ",
                                        steps_.DescribeCollective(launch.steps.front()));
  const World::Operation operation = steps_.OperationOf(
      name, CollectiveNumber(steps_.table(), launch.steps.front()), steps_[launch.steps.front()].patience);
  std::unique_ptr<HostCollective> made = HostCollective::Make(steps_.table(), CollectiveGroup{launch.steps},
                                                              {.pool = &pool_,
                                                               .local = steps_.memory().local,
                                                               .world = steps_.memory().world,
                                                               .name = name,
                                                               .tag = operation.tag,
                                                               .session = operation.session,
                                                               .function = operation.function,
                                                               .patience = operation.patience});
  steps_.NeedLibraryWorkspace(launch.device, made->WorkspaceBytes());
  return made;
}

std::vector<const Launch*> FunctionLaunches::launches() const {
  std::vector<const Launch*> launches;
  for (const LoadedLaunch& loaded : launches_) launches.push_back(&loaded.launch);
  return launches;
}

// One launch
// --------------------------------------------------------------------------------------------------

absl::Status FunctionLaunches::RunCollective(LoadedLaunch& loaded) {
  const Launch& launch = loaded.launch;
  steps_.SayWritten(launch);
  return loaded.collective->Run(loaded.operands, steps_.memory().devices[launch.device].library_workspace,
                                steps_.memory().exchanging_runs);
}

absl::Status FunctionLaunches::RunSteps(const LoadedLaunch& loaded) {
  if (timers_ != nullptr && timers_->exchanges_beside()) return RunStepsWithTimersBeside(loaded);
  if (timers_ != nullptr) return RunStepsWithTimers(loaded);
  const std::span<const uint32_t> steps = loaded.launch.steps;
  size_t wait = 0;
  for (size_t i = 0; i <= steps.size(); ++i) {
    SINTER_RETURN_IF_ERROR(WaitForCollectives(steps_, loaded.waits, wait, i));
    if (i == steps.size()) break;
    if (absl::Status status = steps_.Run(steps[i]); !status.ok()) return steps_.AtStep(steps[i], status);
  }
  return absl::OkStatus();
}

absl::Status FunctionLaunches::RunStepsAsBranches(const LoadedLaunch& loaded) {
  const std::span<const uint32_t> steps = loaded.launch.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::Status status = steps_.RuntimeOf(loaded.launch.device).BeginBranch(loaded.order.before[i]);
    if (status.ok()) status = steps_.Run(steps[i]);
    // The steps of later branches wait, not this thread.
    if (status.ok() && IsCollective(steps_[steps[i]])) status = steps_[steps[i]].step->Wait();
    if (!status.ok()) return steps_.AtStep(steps[i], status);
  }
  return absl::OkStatus();
}

// Waits for collectives immediately, so that no step runs concurrently with them.
absl::Status FunctionLaunches::RunStepsWithTimers(const LoadedLaunch& loaded) {
  EventTimer& timer = timers_->TimerOf(loaded.launch.device);
  size_t event = FirstEvent(loaded);
  for (const uint32_t step : loaded.launch.steps) {
    if (absl::Status status = timer.RecordEvent(event++); !status.ok()) return steps_.AtStep(step, status);
    SINTER_RETURN_IF_ERROR(steps_.RunAndWait(step));
  }
  absl::Status status = timer.RecordEvent(event);
  return status.ok() ? status : steps_.AtLaunch(loaded.launch, status);
}

// The events of LaunchTimers::exchanges_beside: before each step's waits, after them, and after a collective.
absl::Status FunctionLaunches::RunStepsWithTimersBeside(const LoadedLaunch& loaded) {
  EventTimer& timer = timers_->TimerOf(loaded.launch.device);
  const std::span<const uint32_t> steps = loaded.launch.steps;
  const size_t before = FirstEvent(loaded), after_wait = before + steps.size() + 1,
               after_exchange = after_wait + steps.size() + 1;
  size_t wait = 0;
  for (size_t i = 0; i <= steps.size(); ++i) {
    absl::Status status = timer.RecordEvent(before + i);
    SINTER_RETURN_IF_ERROR(WaitForCollectives(steps_, loaded.waits, wait, i));
    if (i == steps.size()) return status.ok() ? status : steps_.AtLaunch(loaded.launch, status);
    if (status.ok()) status = timer.RecordEvent(after_wait + i);
    if (status.ok()) status = steps_.Run(steps[i]);
    if (status.ok() && IsCollective(steps_[steps[i]])) status = timer.RecordExchangeEvent(after_exchange + i);
    if (!status.ok()) return steps_.AtStep(steps[i], status);
  }
  return absl::OkStatus();
}

absl::Status FunctionLaunches::RunCollectiveWithTimers(LoadedLaunch& loaded) {
  EventTimer& timer = timers_->TimerOf(loaded.launch.device);
  SINTER_RETURN_IF_ERROR(timer.RecordEvent(FirstEvent(loaded)));
  SINTER_RETURN_IF_ERROR(RunCollective(loaded));
  return timer.RecordEvent(FirstEvent(loaded) + 1);
}

absl::Status FunctionLaunches::RunLaunch(LoadedLaunch& loaded) {
  if (loaded.launch.is_collective) {
    return timers_ != nullptr ? RunCollectiveWithTimers(loaded) : RunCollective(loaded);
  }
  CapturedGraph* const captured = CaptureOf(loaded).get();
  if (captured == nullptr) return RunSteps(loaded);
  steps_.SayWritten(loaded.launch);
  absl::Status status = captured->Launch();
  return status.ok() ? status : steps_.AtLaunch(loaded.launch, status);
}

absl::Status FunctionLaunches::RunTask(const LaunchThreads::Task& task) {
  switch (task.kind) {
    case LaunchThreads::Kind::kInputs:
      // No exchange waits for this thread yet, so an error aborts nothing.
      upload_errors_[task.index] = inputs_->Upload(static_cast<uint32_t>(task.index));
      return absl::OkStatus();
    case LaunchThreads::Kind::kCapture:
      return CaptureLaunch(launches_[task.index]);
    case LaunchThreads::Kind::kLaunch:
      return RunLaunch(launches_[task.index]);
    case LaunchThreads::Kind::kStep:
      return steps_.RunAndWait(task.index);
  }
  return absl::OkStatus();
}

// Capture
// --------------------------------------------------------------------------------------------------

absl::Status FunctionLaunches::CaptureLaunch(LoadedLaunch& loaded) {
  absl::StatusOr<std::unique_ptr<CapturedGraph>> captured =
      steps_.RuntimeOf(loaded.launch.device).Capture([this, &loaded] {
        const bool in_branches = timers_ == nullptr && !loaded.order.before.empty();
        return in_branches ? RunStepsAsBranches(loaded) : RunSteps(loaded);
      });
  if (!captured.ok()) return steps_.AtLaunch(loaded.launch, captured.status());
  CaptureOf(loaded) = *std::move(captured);
  return absl::OkStatus();
}

// Must come before any launch: capture allocates, which may wait for a device. A device that has begun an
// exchange would then wait for its partner.
absl::Status FunctionLaunches::CaptureAll() {
  absl::Status status;
  for (size_t i = 0; i < launches_.size() && status.ok(); ++i) {
    LoadedLaunch& loaded = launches_[i];
    const uint32_t device = loaded.launch.device;
    const bool may_capture = timers_ != nullptr ? loaded.may_capture_with_timers : loaded.may_capture;
    if (!may_capture || CaptureOf(loaded) != nullptr) continue;
    if (threads_ != nullptr && threads_->Has(device)) {
      threads_->Post(device, {LaunchThreads::Kind::kCapture, i});
    } else {
      status = CaptureLaunch(loaded);
    }
  }
  if (threads_ != nullptr) {
    const absl::Status drained = threads_->Drain();
    if (!drained.ok()) status = drained;
    if (status.ok()) status = Synchronize();
  }
  // Capture runs nothing, so no variable is written yet.
  steps_.ForgetWritten();
  return status;
}

// All launches
// --------------------------------------------------------------------------------------------------

// Waits until the threads have launched all tasks of the devices that this launch uses. Other threads may
// still be launching: the partners of these tasks were posted earlier.
absl::Status FunctionLaunches::WaitForThreadsOf(const Launch& launch) {
  if (threads_ == nullptr) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(threads_->Drain(launch.device));
  for (const uint32_t other : launch.others) SINTER_RETURN_IF_ERROR(threads_->Drain(other));
  if (!launch.is_between) return absl::OkStatus();
  const fb::Step& copy = *steps_[launch.steps.front()].table;
  return threads_->Drain(steps_.table().buffers()->Get(copy.inputs()->Get(0))->device());
}

// Excludes from a copy's time the wait for the source's work. Drain must come first: it launches the partners
// of the source's collectives.
absl::Status FunctionLaunches::WaitForSourceOf(const Launch& launch) {
  if (threads_ != nullptr) SINTER_RETURN_IF_ERROR(threads_->Drain());
  const fb::Step& copy = *steps_[launch.steps.front()].table;
  const uint32_t from = steps_.table().buffers()->Get(copy.inputs()->Get(0))->device();
  return steps_.memory().local.Has(from) ? steps_.RuntimeOf(from).Synchronize() : absl::OkStatus();
}

absl::Status FunctionLaunches::GiveLaunch(size_t index) {
  LoadedLaunch& loaded = launches_[index];
  const Launch& launch = loaded.launch;
  const bool is_posted = threads_ != nullptr && threads_->Has(launch.device) && !launch.is_between;
  if (!is_posted || !launch.others.empty()) SINTER_RETURN_IF_ERROR(WaitForThreadsOf(launch));
  if (timers_ != nullptr && launch.is_between) SINTER_RETURN_IF_ERROR(WaitForSourceOf(launch));
  for (const uint32_t other : launch.others) {
    SINTER_RETURN_IF_ERROR(LetWait(steps_.RuntimeOf(launch.device), steps_.RuntimeOf(other)));
  }
  if (launch.steps.empty()) return absl::OkStatus();
  if (!is_posted) return RunLaunch(loaded);
  threads_->Post(launch.device, {LaunchThreads::Kind::kLaunch, index});
  return absl::OkStatus();
}

absl::Status FunctionLaunches::UploadInputs(FunctionInputs& inputs) {
  inputs_ = &inputs;
  const bool uses_threads = threads_ != nullptr && inputs.has_large_uploads();
  upload_errors_.assign(steps_.memory().devices.size(), absl::OkStatus());
  for (uint32_t d = 0; d < upload_errors_.size(); ++d) {
    if (!inputs.uploads(d)) continue;
    if (uses_threads && threads_->Has(d)) {
      threads_->Post(d, {LaunchThreads::Kind::kInputs, d});
    } else {
      upload_errors_[d] = inputs.Upload(d);
    }
  }
  if (uses_threads) SINTER_RETURN_IF_ERROR(threads_->Drain());
  for (const absl::Status& status : upload_errors_) SINTER_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status FunctionLaunches::Run(bool has_run, LaunchTimers* timers) {
  timers_ = timers;
  bool& has_captured = timers_ == nullptr            ? has_captured_
                       : timers_->exchanges_beside() ? has_captured_beside_
                                                     : has_captured_timers_;
  if (has_run && !has_captured) {
    const absl::Status status = CaptureAll();
    has_captured = status.ok();
    SINTER_RETURN_IF_ERROR(status);
  }
  if (timers_ != nullptr) SINTER_RETURN_IF_ERROR(timers_->MarkStart());
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
    SINTER_RETURN_IF_ERROR(LetWait(steps_.RuntimeOf(wait.waiter), steps_.RuntimeOf(wait.other)));
  }
  return absl::OkStatus();
}

absl::Status FunctionLaunches::RunUnit(std::span<const uint32_t> steps) {
  const auto launch = std::ranges::find_if(launches_, [&](const LoadedLaunch& loaded) {
    return loaded.launch.is_collective && loaded.launch.steps.front() == steps.front();
  });
  if (launch != launches_.end()) return RunCollective(*launch);
  if (steps.size() == 1) return steps_.RunAndWait(steps.front());
  for (const uint32_t step : steps) {
    threads_->Post(steps_[step].table->device(), {LaunchThreads::Kind::kStep, step});
  }
  return threads_->Drain();
}

// Without the abort the other members would wait forever.
void FunctionLaunches::Abort(const absl::Status& reason) {
  for (const DeviceBuffers& buffers : steps_.memory().devices) {
    if (buffers.is_here() && !buffers.is_host) buffers.runtime->Abort(reason);
  }
}

absl::Status FunctionLaunches::Synchronize() {
  for (const DeviceBuffers& buffers : steps_.memory().devices) {
    if (buffers.is_here()) SINTER_RETURN_IF_ERROR(buffers.runtime->Synchronize());
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_session
